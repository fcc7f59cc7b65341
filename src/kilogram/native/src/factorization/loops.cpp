// Loops of matrix factors; compiled once per instruction set, see simd/loops.cpp for the rules.
#include "factorization/loops.hpp"
#include "simd/vectors.hpp"

namespace kg {
namespace {

#include "simd/vector_math.hpp"

template <class T> struct Lanes;
template <> struct Lanes<float> {
  typedef float type __attribute__((vector_size(kBytes), aligned(4), may_alias));
};
template <> struct Lanes<double> {
  typedef double type __attribute__((vector_size(kBytes), aligned(8), may_alias));
};
template <class T> constexpr i64 kWide = kBytes / i64(sizeof(T));

#include "factorization/tile.hpp"

template <class V> KG_INLINE V most(V a, V b) { return a > b ? a : b; }

// Vectors of rows that go together: as many sums as multiply-adds take to come back.
template <class T> constexpr int kSide = kTile / kWide<T> < 8 ? int(kTile / kWide<T>) : 8;

// The gradient of N vectors of rows at a time: g = l1 - a_j + sum_l B_jl w_l.
template <class T, int N>
KG_INLINE void gradient(const T* w, const T* a, const T* row, i64 k, T start,
                        typename Lanes<T>::type (&g)[N]) {
  typedef typename Lanes<T>::type V;
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) g[v] = start - reinterpret_cast<const V*>(a)[v];
  for (i64 l = 0; l < k; ++l) {
    const V b = row[l] - V{};
    const V* x = reinterpret_cast<const V*>(w + l * kTile);
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) g[v] += b * x[v];
  }
}

template <class V, class T, i64 n> KG_INLINE double total(V v) {
  double sum = 0;
  for (i64 i = 0; i < n; ++i) sum += static_cast<double>(v[i]);
  return sum;
}

template <class V, class T, i64 n> KG_INLINE T largest(V v) {
  T top = v[0];
  for (i64 i = 1; i < n; ++i) top = v[i] > top ? v[i] : top;
  return top;
}

// One sweep; `moved` and `size` become the largest change and the largest entry.
template <class T>
__attribute__((noinline)) double one_sweep(T* w, const T* a, const T* B, i64 k, T l1, T* moved,
                                           T* size) {
  typedef typename Lanes<T>::type V;
  constexpr int N = kSide<T>;
  V change = {}, top = {}, sum = {};
  for (i64 j = 0; j < k; ++j) {
    const T curve = B[j * k + j];
    if (!(curve > 0)) continue;
    const T step = T(1) / curve;
    for (i64 c = 0; c < kTile; c += N * kWide<T>) {
      V g[N];
      gradient<T, N>(w + c, a + j * kTile + c, B + j * k, k, l1, g);
      V* x = reinterpret_cast<V*>(w + j * kTile + c);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) {
        const V old = x[v], next = most<V>(old - g[v] * step, V{});
        const V pull = old > V{} ? g[v] : most<V>(-g[v], V{});
        sum += most<V>(pull, -pull);
        const V by = next - old;
        change = most<V>(change, most<V>(by, -by));
        top = most<V>(top, next);
        x[v] = next;
      }
    }
  }
  *moved = largest<V, T, kWide<T>>(change);
  *size = largest<V, T, kWide<T>>(top);
  return total<V, T, kWide<T>>(sum);
}

template <class T>
double sweep(T* w, const T* a, const T* B, i64 k, T l1, i64 times, T tol) {
  double first = 0;
  for (i64 s = 0; s < times; ++s) {
    T moved, size;
    const double met = one_sweep<T>(w, a, B, k, l1, &moved, &size);
    if (s == 0) first = met;
    if (!(moved > tol * size)) break;
  }
  return first;
}

template <class T> double quadratic(const T* w, const T* a, const T* B, i64 k, T l1) {
  typedef typename Lanes<T>::type V;
  constexpr int N = kSide<T>;
  double sum = 0;
  for (i64 j = 0; j < k; ++j) {
    V row = {};
    for (i64 c = 0; c < kTile; c += N * kWide<T>) {
      V g[N];
      gradient<T, N>(w + c, a + j * kTile + c, B + j * k, k, l1, g);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v)  // Bw - a + l1 and - a + l1 average to Bw / 2 - a + l1
        row += reinterpret_cast<const V*>(w + j * kTile + c)[v] *
               (g[v] + (l1 - reinterpret_cast<const V*>(a + j * kTile + c)[v]));
    }
    sum += 0.5 * total<V, T, kWide<T>>(row);
  }
  return sum;
}

template <class T>
double multiply(T* w, const T* a, const T* B, const T* c, i64 k, T l1, T l2, T* buffer) {
  T moved = 0, size = 0;
  for (i64 j = 0; j < k; ++j)
    for (i64 i = 0; i < kTile; ++i) {
      T under = (c ? c[j] : l1) + l2 * w[j * kTile + i];
      buffer[j * kTile + i] = under;
    }
  if (B)
    for (i64 j = 0; j < k; ++j)
      for (i64 l = 0; l < k; ++l) {
        const T b = B[j * k + l];
#pragma omp simd
        for (i64 i = 0; i < kTile; ++i) buffer[j * kTile + i] += b * w[l * kTile + i];
      }
#pragma omp simd reduction(max : moved, size)
  for (i64 i = 0; i < k * kTile; ++i) {
    const T under = buffer[i], old = w[i];
    const T next = under > 0 ? old * (a[i] / under) : old;
    const T by = next > old ? next - old : old - next;
    moved = by > moved ? by : moved;
    size = next > size ? next : size;
    w[i] = next;
  }
  return size > 0 ? static_cast<double>(moved) / static_cast<double>(size) : 0.0;
}

template <class T> double ratio(const T* x, T* p, i64 n, T floor, bool measure) {
  double loss = 0;
  if (measure) {
#pragma omp simd reduction(+ : loss)
    for (i64 i = 0; i < n; ++i) {
      const double v = static_cast<double>(x[i]), under = static_cast<double>(p[i]);
      const double q = under > static_cast<double>(floor) ? under : static_cast<double>(floor);
      const double ratio = v > 0 ? v / q : 1.0;
      const double term = v * log_(ratio) - v + under;
      loss += v == v ? term : 0.0;
    }
  }
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const T under = p[i] > floor ? p[i] : floor, ratio = x[i] / under;
    p[i] = ratio == ratio ? ratio : T(1);
  }
  return loss;
}

template <class T> double fill(const T* x, T* p, i64 n) {
  double loss = 0;
#pragma omp simd reduction(+ : loss)
  for (i64 i = 0; i < n; ++i) {
    const T away = x[i] - p[i], there = away == away ? away : T(0);
    loss += static_cast<double>(there) * static_cast<double>(there);
    p[i] = x[i] == x[i] ? x[i] : p[i];
  }
  return loss;
}

template <class T> double squares(const T* x, const T* p, i64 n) {
  double loss = 0;
#pragma omp simd reduction(+ : loss)
  for (i64 i = 0; i < n; ++i) {
    const T away = x[i] - p[i], there = away == away ? away : T(0);
    loss += static_cast<double>(there) * static_cast<double>(there);
  }
  return loss;
}

template <class T, class I, int N>
KG_INLINE void gather_part(const T* x, const I* c, i64 m, const T* F, i64 k, T* a) {
  typedef typename Lanes<T>::type V;
  V sum[N];
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) sum[v] = V{};
  for (i64 i = 0; i < m; ++i) {
    const V* f = reinterpret_cast<const V*>(F + i64(c[i]) * k);
    const V xi = x[i] - V{};
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) sum[v] += xi * f[v];
  }
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) reinterpret_cast<V*>(a)[v] = sum[v];
}

// All vectors of a row of F at once where there are registers for their sums: F is met at random.
template <class T, class I>
void gather(const T* x, const I* c, i64 m, const T* F, i64 k, T* a) {
  constexpr i64 W = kWide<T>;
  i64 j = 0;
  for (; j + 8 * W <= k; j += 8 * W) gather_part<T, I, 8>(x, c, m, F + j, k, a + j);
  switch ((k - j) / W) {
    case 7: gather_part<T, I, 7>(x, c, m, F + j, k, a + j); break;
    case 6: gather_part<T, I, 6>(x, c, m, F + j, k, a + j); break;
    case 5: gather_part<T, I, 5>(x, c, m, F + j, k, a + j); break;
    case 4: gather_part<T, I, 4>(x, c, m, F + j, k, a + j); break;
    case 3: gather_part<T, I, 3>(x, c, m, F + j, k, a + j); break;
    case 2: gather_part<T, I, 2>(x, c, m, F + j, k, a + j); break;
    case 1: gather_part<T, I, 1>(x, c, m, F + j, k, a + j); break;
    default: break;
  }
  for (j += (k - j) / W * W; j < k; ++j) {
    T sum = 0;
    for (i64 i = 0; i < m; ++i) sum += x[i] * F[i64(c[i]) * k + j];
    a[j] = sum;
  }
}

// G[j .. j + J][v .. v + N vectors] += the products of these columns of F
template <class T, int J, int N>
__attribute__((noinline)) void gram_block(const T* F, i64 n, i64 ld, i64 j, i64 v, const T* s, i64 k,
                                          double* G) {
  typedef typename Lanes<T>::type V;
  V sum[J][N] = {};
  for (i64 i = 0; i < n; ++i) {
    const T* row = F + i * ld;
    V b[N];
#pragma GCC unroll 4
    for (int c = 0; c < N; ++c) b[c] = reinterpret_cast<const V*>(row + v)[c];
    const T by = s ? s[i] : T(1);
#pragma GCC unroll 4
    for (int r = 0; r < J; ++r) {
      const V a = row[j + r] * by - V{};
#pragma GCC unroll 4
      for (int c = 0; c < N; ++c) sum[r][c] += a * b[c];
    }
  }
  for (int r = 0; r < J; ++r)
    for (i64 c = v; c < v + N * kWide<T>; ++c)
      if (j + r < k && c < k)
        G[(j + r) * k + c] += static_cast<double>(reinterpret_cast<const T*>(&sum[r])[c - v]);
}

template <class T>
void gram(const T* F, i64 n, i64 ld, i64 k, const T* s, double* G, double* sums) {
  constexpr i64 W = kWide<T>;
  constexpr int J = 3;
  for (i64 j = 0; j < k; j += J) {
    i64 v = j / W * W;
    const bool whole = j + J <= ld;
    while (whole && v < ld) {  // sums enough to hide a multiply-add, few enough for the registers
      const i64 left = (ld - v) / W;
      if (left >= 5 || left == 3) {
        gram_block<T, J, 3>(F, n, ld, j, v, s, k, G);
        v += 3 * W;
      } else if (left >= 2) {
        gram_block<T, J, 2>(F, n, ld, j, v, s, k, G);
        v += 2 * W;
      } else {
        gram_block<T, J, 1>(F, n, ld, j, v, s, k, G);
        v += W;
      }
    }
    for (i64 r = j; !whole && r < k; ++r)
      for (i64 c = v; c < ld; c += W) gram_block<T, 1, 1>(F, n, ld, r, c, s, k, G);
  }
  for (i64 j = 0; j < k; ++j) {
    T sum = 0;
    for (i64 i = 0; i < n; ++i) sum += (s ? s[i] : T(1)) * F[i * ld + j];
    sums[j] += static_cast<double>(sum);
  }
}

template <class T> void ahead(const T* now, const T* before, T b, i64 n, T* out) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const T v = now[i] + b * (now[i] - before[i]);
    out[i] = v > 0 ? v : T(0);
  }
}

template <class T, class I>
double gather_ratio(const T* x, const I* c, i64 m, const T* F, i64 k, const T* w, T floor,
                    bool measure, T* a) {
  double loss = 0;
  for (i64 j = 0; j < k; ++j) a[j] = 0;
  for (i64 i = 0; i < m; ++i) {
    const T* __restrict f = F + i64(c[i]) * k;
    T p = 0;
#pragma omp simd reduction(+ : p)
    for (i64 j = 0; j < k; ++j) p += w[j] * f[j];
    p = p > floor ? p : floor;
    const T ratio = x[i] / p;
#pragma omp simd
    for (i64 j = 0; j < k; ++j) a[j] += ratio * f[j];
    if (measure && ratio > 0) {
      const double v = static_cast<double>(x[i]);
      loss += v * log_(static_cast<double>(ratio)) - v;
    }
  }
  return loss;
}

// log cosh u = |u| + log(1 + e^-2|u|) - log 2, its slope tanh u, and that of the slope
template <class T>
void log_cosh(T alpha, T* u, i64 rows, double* slope, double* value) {
  T bend = 0;
  double height = 0;
  const T scale = T(1) / alpha;
#pragma omp simd reduction(+ : bend, height)
  for (i64 i = 0; i < rows; ++i) {
    const T x = alpha * u[i], size = x < 0 ? -x : x;
    const T e = exp_(T(-2) * size), t = (T(1) - e) / (T(1) + e);
    height += static_cast<double>(scale * (size + log_(T(1) + e) - T(0.6931471805599453)));
    u[i] = x < 0 ? -t : t;
    bend += alpha * (T(1) - t * t);
  }
  *slope += static_cast<double>(bend);
  *value += height;
}

template <class T> void bump(T* u, i64 rows, double* slope, double* value) {
  T bend = 0, height = 0;
#pragma omp simd reduction(+ : bend, height)
  for (i64 i = 0; i < rows; ++i) {
    const T x = u[i], e = exp_(T(-0.5) * x * x);
    u[i] = x * e;
    bend += (T(1) - x * x) * e;
    height -= e;
  }
  *slope += static_cast<double>(bend);
  *value += static_cast<double>(height);
}

template <class T> void cube(T* u, i64 rows, double* slope, double* value) {
  T bend = 0, height = 0;
#pragma omp simd reduction(+ : bend, height)
  for (i64 i = 0; i < rows; ++i) {
    const T x = u[i], s = x * x;
    u[i] = x * s;
    bend += T(3) * s;
    height += T(0.25) * s * s;
  }
  *slope += static_cast<double>(bend);
  *value += static_cast<double>(height);
}

template <class T>
void contrast(int kind, T alpha, T* u, i64 k, i64 rows, double* slope, double* value) {
  for (i64 j = 0; j < k; ++j) {
    T* row = u + j * kTile;
    if (kind == kLogCosh)
      log_cosh<T>(alpha, row, rows, slope + j, value + j);
    else if (kind == kExp)
      bump<T>(row, rows, slope + j, value + j);
    else
      cube<T>(row, rows, slope + j, value + j);
    for (i64 i = rows; i < kTile; ++i) row[i] = 0;
  }
}

template <class T> constexpr FactorLoops<T> factor_table() {
  return {sweep<T>,
          quadratic<T>,
          multiply<T>,
          ratio<T>,
          fill<T>,
          squares<T>,
          gather<T, std::int32_t>,
          gather<T, i64>,
          gather_ratio<T, std::int32_t>,
          gather_ratio<T, i64>,
          contrast<T>,
          tile_dots<T>,
          tile_add<T>,
          gram<T>,
          ahead<T>,
          kWide<T>};
}

}  // namespace

namespace KG_VARIANT {
extern const FactorLoops<float> factor_f32;
extern const FactorLoops<double> factor_f64;
const FactorLoops<float> factor_f32 = factor_table<float>();
const FactorLoops<double> factor_f64 = factor_table<double>();
}  // namespace KG_VARIANT

}  // namespace kg
