// First and second derivatives of the losses at the raw predictions (in the scale of the link).
#include <algorithm>
#include <cmath>

#include "boosting/boosting.hpp"
#include "simd/loops.hpp"

namespace kg {
namespace {

using Chunk = GradientChunk;
constexpr i64 kChunk = kGradientRows;

void identity_link(const Chunk& c) {
  const double q = c.parameter;
  for (i64 i = 0; i < c.n; ++i) {
    const double r = c.raw[i] - c.y[i];
    c.h[i] = 1;
    if (c.loss == BoostLoss::squared) c.g[i] = r;
    else if (c.loss == BoostLoss::absolute) c.g[i] = (r > 0) - (r < 0);
    else if (c.loss == BoostLoss::quantile) c.g[i] = r >= 0 ? 1 - q : -q;
    else c.g[i] = std::clamp(r, -q, q);  // Huber
  }
}

void log_link(const Chunk& c) {
  double e[kChunk];
  const bool gamma = c.loss == BoostLoss::gamma;
  for (i64 i = 0; i < c.n; ++i) e[i] = gamma ? -c.raw[i] : c.raw[i];
  loops<double>().exp(e, e, c.n);
  for (i64 i = 0; i < c.n; ++i) {
    c.h[i] = gamma ? c.y[i] * e[i] : e[i];
    c.g[i] = gamma ? 1 - c.h[i] : e[i] - c.y[i];
  }
}

void logistic_link(const Chunk& c) {
  double e[kChunk];
  for (i64 i = 0; i < c.n; ++i) e[i] = -std::abs(c.raw[i]);
  loops<double>().exp(e, e, c.n);  // never overflows
  for (i64 i = 0; i < c.n; ++i) {
    const double low = e[i] / (1 + e[i]), p = c.raw[i] > 0 ? 1 - low : low;
    c.g[i] = p - c.y[i];
    c.h[i] = low * (1 - low);
  }
}

void softmax(const Chunk& c) {
  double top[kChunk], sum[kChunk] = {};
  std::copy(c.raw, c.raw + c.n, top);
  for (i64 k = 1; k < c.classes; ++k)
    for (i64 i = 0; i < c.n; ++i) top[i] = std::max(top[i], c.raw[k * c.stride + i]);
  for (i64 k = 0; k < c.classes; ++k) {
    double* e = c.g + k * c.out_stride;
    for (i64 i = 0; i < c.n; ++i) e[i] = c.raw[k * c.stride + i] - top[i];
    loops<double>().exp(e, e, c.n);
    for (i64 i = 0; i < c.n; ++i) sum[i] += e[i];
  }
  for (i64 k = 0; k < c.classes; ++k) {
    double *g = c.g + k * c.out_stride, *h = c.h + k * c.out_stride;
    for (i64 i = 0; i < c.n; ++i) {
      const double p = g[i] / sum[i];
      h[i] = p * (1 - p);
      g[i] = p - (c.y[i] == static_cast<double>(k));
    }
  }
}

}  // namespace

void chunk_gradients(const GradientChunk& c) {
  if (c.loss == BoostLoss::multinomial) softmax(c);
  else if (c.loss == BoostLoss::binary) logistic_link(c);
  else if (c.loss == BoostLoss::poisson || c.loss == BoostLoss::gamma) log_link(c);
  else identity_link(c);
  for (i64 k = 0; c.w && k < c.classes; ++k)
    for (i64 i = 0; i < c.n; ++i) {
      c.g[k * c.out_stride + i] *= c.w[i];
      c.h[k * c.out_stride + i] *= c.w[i];
    }
}

void boost_gradients(BoostLoss loss, double parameter, const double* y, const double* w,
                     const double* raw, i64 n, i64 classes, double* g, double* h, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (i64 first = 0; first < n; first += kChunk)
    chunk_gradients({loss, parameter, y + first, w ? w + first : nullptr, raw + first,
                     std::min(kChunk, n - first), n, classes, g + first, h + first, n});
}

}  // namespace kg
