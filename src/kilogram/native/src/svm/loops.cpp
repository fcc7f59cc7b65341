// Loops of support vector machines; compiled once per instruction set, see simd/loops.cpp for the rules.
#include "svm/loops.hpp"

namespace kg {
namespace {

using i64 = std::int64_t;

constexpr i64 kBlock = 64;  // entries whose extremes are found together, and then the places of these
constexpr double kInfinity = __builtin_inf();
constexpr double kFlat = 1e-12;  // curvature of a pair that has none (equal rows, indefinite kernels)

struct Extreme {
  double value;
  i64 index;
};

// The position of `value` in v[begin, end), which is known to hold it.
inline i64 position(const double* v, const double* p, double value, i64 begin, i64 end) {
  for (i64 k = begin; k < end; ++k)
    if (v[k] + p[k] == value) return k;
  return begin;
}

// f += d (Ki - Kj); the smallest of f + up and the largest of f + low, as they are afterwards.
// up is 0 where b can rise and +inf elsewhere, low is 0 where b can fall and -inf elsewhere.
template <class S>
inline Extreme move(double* __restrict f, const S* __restrict Ki, const S* __restrict Kj,
                    const double* __restrict up, const double* __restrict low, i64 q, double d,
                    double& largest) {
  double smallest = kInfinity, top = -kInfinity;
  i64 at = 0;
  for (i64 k0 = 0; k0 < q; k0 += kBlock) {
    const i64 k1 = k0 + kBlock < q ? k0 + kBlock : q;
    double a = kInfinity, c = -kInfinity;
#pragma omp simd reduction(min : a) reduction(max : c)
    for (i64 k = k0; k < k1; ++k) {
      const double v = f[k] + d * (static_cast<double>(Ki[k]) - static_cast<double>(Kj[k]));
      f[k] = v;
      const double x = v + up[k], y = v + low[k];
      a = x < a ? x : a;
      c = y > c ? y : c;
    }
    if (a < smallest) {
      smallest = a;
      at = k0;
    }
    top = c > top ? c : top;
  }
  largest = top;
  return {smallest, position(f, up, smallest, at, at + kBlock < q ? at + kBlock : q)};
}

// The partner j of i: the largest decrease (f_j - f_i)^2 / (K_ii + K_jj - 2 K_ij).
template <class S>
inline i64 partner(const double* __restrict f, const S* __restrict Ki,
                   const double* __restrict low, const double* __restrict diagonal,
                   double* __restrict gain, i64 q, double f_i, double K_ii) {
  double best = -1;
  i64 at = 0;
  for (i64 k0 = 0; k0 < q; k0 += kBlock) {
    const i64 k1 = k0 + kBlock < q ? k0 + kBlock : q;
    double c = -1;
#pragma omp simd reduction(max : c)
    for (i64 k = k0; k < k1; ++k) {
      const double diff = f[k] + low[k] - f_i;
      double eta = K_ii + diagonal[k] - 2 * static_cast<double>(Ki[k]);
      eta = eta > kFlat ? eta : kFlat;
      const double value = diff > 0 ? diff * diff / eta : -1.0;
      gain[k] = value;
      c = value > c ? value : c;
    }
    if (c > best) {
      best = c;
      at = k0;
    }
  }
  if (best < 0) return -1;
  for (i64 k = at; k < q; ++k)
    if (gain[k] == best) return k;
  return -1;
}

template <class S> PairResult pairs(const PairProblem<S>& P, double tol, i64 max_steps) {
  const i64 q = P.q;
  double *up = P.work, *low = up + q, *diagonal = low + q, *gain = diagonal + q;
  double *f = P.f, *b = P.b;
  for (i64 k = 0; k < q; ++k) {
    up[k] = b[k] < P.upper[k] ? 0.0 : kInfinity;
    low[k] = b[k] > P.lower[k] ? 0.0 : -kInfinity;
    diagonal[k] = static_cast<double>(P.K[k * q + k]) + P.s[k];
  }
  double largest;
  Extreme first = move(f, P.K, P.K, up, low, q, 0.0, largest);
  i64 steps = 0;
  for (; steps < max_steps && largest - first.value > tol; ++steps) {
    const i64 i = first.index;
    const S* Ki = P.K + i * q;
    const i64 j = partner(f, Ki, low, diagonal, gain, q, first.value, diagonal[i]);
    if (j < 0) break;
    double eta = diagonal[i] + diagonal[j] - 2 * static_cast<double>(Ki[j]);
    eta = eta > kFlat ? eta : kFlat;
    const double rise = P.upper[i] - b[i], fall = b[j] - P.lower[j];
    double d = (f[j] - f[i]) / eta;
    const double bound = rise < fall ? rise : fall;
    d = d < bound ? d : bound;
    // at a bound the value is the bound itself, not a sum that nearly reaches it
    b[i] = d >= rise ? P.upper[i] : b[i] + d;
    b[j] = d >= fall ? P.lower[j] : b[j] - d;
    up[i] = b[i] < P.upper[i] ? 0.0 : kInfinity;
    low[i] = b[i] > P.lower[i] ? 0.0 : -kInfinity;
    up[j] = b[j] < P.upper[j] ? 0.0 : kInfinity;
    low[j] = b[j] > P.lower[j] ? 0.0 : -kInfinity;
    f[i] += P.s[i] * d;
    f[j] -= P.s[j] * d;
    first = move(f, Ki, P.K + j * q, up, low, q, d, largest);
  }
  return {steps, largest - first.value};
}

template <class T>
void add_rows(const T* const* rows, const double* delta, i64 m, i64 cols, double* __restrict g) {
  i64 i = 0;
  for (; i + 4 <= m; i += 4) {
    const T *__restrict a = rows[i], *__restrict b = rows[i + 1], *__restrict c = rows[i + 2],
            *__restrict d = rows[i + 3];
    const double u = delta[i], v = delta[i + 1], w = delta[i + 2], x = delta[i + 3];
#pragma omp simd
    for (i64 j = 0; j < cols; ++j)
      g[j] += (u * static_cast<double>(a[j]) + v * static_cast<double>(b[j])) +
              (w * static_cast<double>(c[j]) + x * static_cast<double>(d[j]));
  }
  for (; i < m; ++i) {
    const T* __restrict a = rows[i];
    const double u = delta[i];
#pragma omp simd
    for (i64 j = 0; j < cols; ++j) g[j] += u * static_cast<double>(a[j]);
  }
}

// The number of bits in which a and b differ, or which they share; W words, 0: as many as given.
template <int W, bool differing>
inline i64 counted(const std::uint64_t* a, const std::uint64_t* b, i64 words) {
  i64 h = 0;
  const i64 w = W ? W : words;
  for (i64 k = 0; k < w; ++k) h += __builtin_popcountll(differing ? a[k] ^ b[k] : a[k] & b[k]);
  return h;
}

// Four columns at a time: their sums stay in registers and do not wait for each other.
template <int W, bool differing>
void add_bits_of(const BitProblem& P, const double* delta, const double* table, double* g) {
  const i64 w = W ? W : P.words;
  i64 j = 0;
  for (; j + 4 <= P.n; j += 4) {
    const std::uint64_t* b = P.B + j * w;
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (i64 i = 0; i < P.m; ++i) {
      const std::uint64_t* a = P.A + i * w;
      const double d = delta[i];
      s0 += d * table[counted<W, differing>(a, b, w)];
      s1 += d * table[counted<W, differing>(a, b + w, w)];
      s2 += d * table[counted<W, differing>(a, b + 2 * w, w)];
      s3 += d * table[counted<W, differing>(a, b + 3 * w, w)];
    }
    g[j] += s0;
    g[j + 1] += s1;
    g[j + 2] += s2;
    g[j + 3] += s3;
  }
  for (; j < P.n; ++j) {
    double sum = 0;
    for (i64 i = 0; i < P.m; ++i)
      sum += delta[i] * table[counted<W, differing>(P.A + i * w, P.B + j * w, w)];
    g[j] += sum;
  }
}

void add_bits(const BitProblem& P, const double* delta, const double* table, double* g) {
  switch (2 * (P.words > 4 ? 0 : P.words) + (P.differing ? 1 : 0)) {
    case 2: return add_bits_of<1, false>(P, delta, table, g);
    case 3: return add_bits_of<1, true>(P, delta, table, g);
    case 4: return add_bits_of<2, false>(P, delta, table, g);
    case 5: return add_bits_of<2, true>(P, delta, table, g);
    case 6: return add_bits_of<3, false>(P, delta, table, g);
    case 7: return add_bits_of<3, true>(P, delta, table, g);
    case 8: return add_bits_of<4, false>(P, delta, table, g);
    case 9: return add_bits_of<4, true>(P, delta, table, g);
    case 1: return add_bits_of<0, true>(P, delta, table, g);
    default: return add_bits_of<0, false>(P, delta, table, g);
  }
}

template <int W, bool differing, class S>
void bits_of(const BitProblem& P, const S* table, S* out, i64 ld) {
  const i64 w = W ? W : P.words;
  for (i64 i = 0; i < P.m; ++i)
    for (i64 j = 0; j < P.n; ++j)
      out[i * ld + j] = table[counted<W, differing>(P.A + i * w, P.B + j * w, w)];
}

template <class S> void bits(const BitProblem& P, const S* table, S* out, i64 ld) {
  if (P.words == 1 && P.differing) return bits_of<1, true>(P, table, out, ld);
  if (P.words == 2 && P.differing) return bits_of<2, true>(P, table, out, ld);
  if (P.differing) return bits_of<0, true>(P, table, out, ld);
  bits_of<0, false>(P, table, out, ld);
}

void narrow(const double* __restrict in, float* __restrict out, i64 cols) {
#pragma omp simd
  for (i64 j = 0; j < cols; ++j) out[j] = static_cast<float>(in[j]);
}

template <class T> double dot(const T* __restrict x, const double* __restrict w, i64 d) {
  double part[16] = {};  // enough sums that the additions of one do not wait for each other
  i64 k = 0;
  for (; k + 16 <= d; k += 16) {
#pragma omp simd
    for (i64 l = 0; l < 16; ++l) part[l] += static_cast<double>(x[k + l]) * w[k + l];
  }
  double sum = 0;
  for (; k < d; ++k) sum += static_cast<double>(x[k]) * w[k];
  for (i64 half = 8; half > 0; half /= 2)  // in pairs: four additions deep, not sixteen
    for (i64 l = 0; l < half; ++l) part[l] += part[l + half];
  return sum + part[0];
}

template <class T> void step(const T* __restrict x, double delta, i64 d, double* __restrict w) {
#pragma omp simd
  for (i64 k = 0; k < d; ++k) w[k] += delta * static_cast<double>(x[k]);
}

}  // namespace

namespace KG_VARIANT {
extern const SmoLoops smo_table;
const SmoLoops smo_table = {pairs<float>, pairs<double>, add_rows<float>, add_rows<double>,
                            add_bits,     bits<float>,   bits<double>,    narrow,
                            dot<float>,   dot<double>,   step<float>,     step<double>};
}  // namespace KG_VARIANT

}  // namespace kg
