// Random Fourier features phi = scale cos(X W + b), and their scatter without storing them.
#include "core.hpp"
#include "panels.hpp"

namespace kg {
namespace {

constexpr i64 kFeatureRows = 64, kFeatureCols = 512;  // a tile of phi, 256 KiB of float64

// out (r1-r0, D; ld) = scale cos(X[r0:r1] W + b), column tile by column tile. x: packed rows.
template <class T>
void features(const Rows<T>& X, i64 r0, i64 r1, const T* W, i64 D, const T* b, T scale, T* x, T* out,
              i64 ld) {
  const i64 ldx = std::max<i64>(X.d, 1);
  loops<T>().pack(X.at(r0, 0), r1 - r0, X.d, X.rs, X.cs, nullptr, nullptr, x, ldx);
  for (i64 j = 0; j < D; j += kFeatureCols) {
    const i64 cols = std::min(kFeatureCols, D - j);
    gemm_nn<T>(r1 - r0, cols, X.d, T(1), x, ldx, W + j, D, T(0), out + j, ld);
    loops<T>().cosine(out + j, r1 - r0, cols, ld, b + j, scale);
  }
}

}  // namespace

template <class T>
void fourier_block(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, T* out, int threads) {
  const Scratch<T> scratch(threads, kFeatureRows * X.d);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 r = 0; r < X.n; r += kFeatureRows)
    features(X, r, std::min(X.n, r + kFeatureRows), W, D, b, scale,
             scratch.block(omp_get_thread_num()), out + r * D, D);
}

template <class T>
void fourier_scatter(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, const Rows<T>& Y,
                     const T* root_w, double* S, int threads) {
  const i64 width = D + Y.d + 1, rows = std::max<i64>(narrow_rows<T>(width), kFeatureRows);
  const Scratch<T> scratch(threads, rows * X.d);
  gram_of_rows<T>(X.n, width, S, threads, [&](i64 r0, i64 r1, T* Z) {
    features(X, r0, r1, W, D, b, scale, scratch.block(omp_get_thread_num()), Z, width);
    const T* w = root_w ? root_w + r0 : nullptr;
    if (w) loops<T>().pack(Z, r1 - r0, D, width, 1, nullptr, w, Z, width);
    if (Y.d) loops<T>().pack(Y.at(r0, 0), r1 - r0, Y.d, Y.rs, Y.cs, nullptr, w, Z + D, width);
    for (i64 r = r0; r < r1; ++r) Z[(r - r0) * width + width - 1] = root_w ? root_w[r] : T(1);
  });
}

#define KG_INSTANTIATE(T)                                                                         \
  template void fourier_block<T>(const Rows<T>&, const T*, i64, const T*, T, T*, int);            \
  template void fourier_scatter<T>(const Rows<T>&, const T*, i64, const T*, T, const Rows<T>&,    \
                                   const T*, double*, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
