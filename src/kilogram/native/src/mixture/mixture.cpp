// Expectation and maximisation in one pass: a block of rows is loaded, every component's density and
// then its responsibility for every row is found, and the weighted sums about the component's mean are added
// while the block is in cache. Nothing of n by k by d is made, and n by k only if it is asked for.
// Rows of a block in which a component has no responsibility worth adding are left out of its sums. Blocks are
// dealt to fixed lanes and the lanes added in order: the result does not depend on the threads.
#include "mixture/loops.hpp"
#include "mixture/mixture.hpp"
#include "simd/dispatch.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <omp.h>
#include <vector>

namespace kg {

KG_TABLE(MixtureLoops<float>, mixture_f32)
KG_TABLE(MixtureLoops<double>, mixture_f64)
template <> const MixtureLoops<float>& mixture_loops<float>() { KG_PICK(mixture_f32) }
template <> const MixtureLoops<double>& mixture_loops<double>() { KG_PICK(mixture_f64) }

namespace {

constexpr i64 kLaneCount = 16;           // sums of their own, whatever the threads: at most as many threads are busy
constexpr i64 kLaneBytes = i64(1) << 26;   // all lanes' sums together
constexpr i64 kBlockBytes = i64(1) << 15;  // the centred rows of a block: an L1, or part of an L2
constexpr i64 kMostRows = 512;             // of a block, where few columns leave room for more
constexpr double kWorth = 0.4;             // fraction of the rows up to which gathering them pays

// Columns of a block and the tiles of one component's scatter.
template <class T> struct Shape {
  explicit Shape(i64 d) : d(d), padded(ceil_div(d, f.high) * f.high), columns(padded + f.wide) {
    for (i64 j = 0; j < padded; j += f.wide)
      for (i64 i = j / f.high * f.high; i < padded; i += f.high) ++tiles;
    const i64 fit = kBlockBytes / i64(sizeof(T)) / columns / unit;
    rows = std::clamp<i64>(fit, 1, kMostRows / unit) * unit;
    ld = rows + 2 * f.lanes;  // not a power of two: columns would share one set of the cache
  }
  i64 factor() const { return (padded + f.high + 2) * padded / 2; }
  i64 scatter() const { return 1 + padded + tiles * f.high * f.wide; }

  const MixtureLoops<T>& f = mixture_loops<T>();
  const i64 unit = 6 * f.lanes;  // rows: whole strips, and pairs of vectors
  i64 d, padded, columns, tiles = 0, rows, ld;
};

// F (d, d) lower, four rows at a time: out[block][column][row of the block], before each block F mean
template <class T> void pack_factor(const Shape<T>& shape, const T* F, const T* mean, T* out) {
  const i64 d = shape.d, high = shape.f.high;
  for (i64 b = 0; b < shape.padded; b += high) {
    for (i64 r = b; r < b + high; ++r) {
      double sum = 0;
      for (i64 k = 0; r < d && k <= r; ++k) sum += double(F[r * d + k]) * double(mean[k]);
      *out++ = static_cast<T>(sum);
    }
    for (i64 k = 0; k < b + high; ++k)
      for (i64 r = b; r < b + high; ++r) *out++ = r < d && k <= r ? F[r * d + k] : T(0);
  }
}

// The tiles of one component as [sum r, sum r z, sum r z z'], z = x - mean
template <class T>
void unpack(const Shape<T>& shape, const double* S, const T* mean, double* out) {
  const i64 d = shape.d, high = shape.f.high, wide = shape.f.wide;
  std::copy(S, S + 1 + d, out);
  double* scatter = out + 1 + d;
  const double* tile = S + 1 + shape.padded;
  for (i64 j = 0; j < shape.padded; j += wide)
    for (i64 i = j / high * high; i < shape.padded; i += high, tile += high * wide)
      for (i64 r = i; r < std::min(i + high, d); ++r)
        for (i64 c = j; c < std::min(j + wide, r + 1); ++c)
          scatter[r * d + c] = scatter[c * d + r] =
              tile[(r - i) * wide + c - j] - double(mean[r]) * S[1 + c];
}

// One thread's block of rows on its way.
template <class T> class Block {
 public:
  static i64 buffer_size(const Shape<T>& s, i64 k) { return s.ld * (2 * s.columns + k + s.f.wide + 3); }

  Block(const MixturePass<T>& pass, const Shape<T>& shape, const T* factors, T* buffer)
      : pass_(pass), shape_(shape), f_(shape.f), factors_(factors), x_(buffer),
        z_(x_ + shape.columns * shape.ld), logs_(z_ + shape.columns * shape.ld),
        u_(logs_ + pass.k * shape.ld), w_(u_ + f_.wide * shape.ld), norm_(w_ + shape.ld),
        kept_(norm_ + shape.ld), list_(shape.rows / shape.f.lanes + 1) {
    std::fill(z_, z_ + shape.columns * shape.ld, T(0));
  }

  // rows first.. ; adds to the sums of all components, each `size` long; the weighted log-likelihood
  double take(i64 first, i64 m, double* sums, i64 size) {
    const Rows<T>& X = pass_.X;
    padded_ = ceil_div(m, shape_.unit) * shape_.unit;
    f_.load(X.at(first, 0), m, shape_.d, X.rs, X.cs, pass_.shift, padded_, shape_.columns, x_,
            shape_.ld);
    for (i64 i = 0; i < padded_; ++i) w_[i] = i >= m ? T(0) : pass_.w ? pass_.w[first + i] : T(1);
    for (i64 c = 0; c < pass_.k; ++c) densities(c);
    if (pass_.joint) put(first, m);
    if (pass_.responsibilities) std::fill(kept_, kept_ + padded_, T(1));  // responsibilities come without weights
    f_.responsibilities(logs_, pass_.k, shape_.ld, padded_, pass_.responsibilities ? kept_ : w_, norm_);
    if (pass_.responsibilities && !pass_.joint) put(first, m);
    double sum = 0;
    for (i64 i = 0; i < m; ++i)
      if (w_[i] > 0) sum += double(w_[i]) * double(norm_[i]);
    if (pass_.norms) std::copy(norm_, norm_ + m, pass_.norms + first);
    if (sums)
      for (i64 c = 0; c < pass_.k; ++c) add(c, sums + c * size);
    return sum;
  }

 private:
  void densities(i64 c) {
    const i64 ld = shape_.ld, d = shape_.d;
    const T *mean = pass_.means + c * d, constant = pass_.constants[c];
    T* out = logs_ + c * ld;
    if (pass_.diagonal)
      return f_.density_diagonal(x_, ld, padded_, d, mean, pass_.factors + c * d, constant, out);
    f_.density(x_, ld, padded_, d, factors_ + c * shape_.factor(), constant, out);
  }

  void add(i64 c, double* S) {
    constexpr T least = sizeof(T) == 8 ? T(1e-20) : T(1e-12);
    const i64 ld = shape_.ld, d = shape_.d;
    const T *r = logs_ + c * ld, *mean = pass_.means + c * d;
    if (pass_.diagonal) return f_.powers(x_, ld, padded_, d, mean, r, S);
    i64 vectors;
    const i64 count = f_.above(r, padded_, least, list_.data(), &vectors);
    if (count == 0) return;
    if (double(count) >= kWorth * double(padded_))
      return f_.scatter(x_, ld, padded_, d, mean, r, u_, S);
    const i64 rows = ceil_div(count, f_.lanes) * f_.lanes;
    f_.gather(x_, ld, list_.data(), vectors, count, d, z_);
    f_.gather(r, ld, list_.data(), vectors, count, 1, kept_);
    f_.scatter(z_, ld, rows, d, mean, kept_, u_, S);
  }

  void put(i64 first, i64 m) {
    const i64 k = pass_.k;
    for (i64 i = 0; i < m; ++i)
      for (i64 c = 0; c < k; ++c) pass_.responsibilities[(first + i) * k + c] = logs_[c * shape_.ld + i];
  }

  const MixturePass<T>& pass_;
  const Shape<T>& shape_;
  const MixtureLoops<T>& f_;
  const T* factors_;
  T *x_, *z_, *logs_, *u_, *w_, *norm_, *kept_;
  std::vector<Kept> list_;
  i64 padded_ = 0;
};

}  // namespace

template <class T> double mixture_pass(const MixturePass<T>& pass, int threads) {
  const i64 n = pass.X.n, d = pass.X.d, k = pass.k;
  const Shape<T> shape(d);
  const Scratch<T> factors(1, pass.diagonal ? 1 : k * shape.factor());
  if (!pass.diagonal)
    for (i64 c = 0; c < k; ++c)
      pack_factor<T>(shape, pass.factors + c * d * d, pass.means + c * d,
                     factors.block(0) + c * shape.factor());
  const i64 size = !pass.sums ? 0 : pass.diagonal ? 1 + 2 * d : shape.scatter();
  const i64 blocks = ceil_div(n, shape.rows);
  const i64 most = std::clamp<i64>(kLaneBytes / (8 * (k * size + 1)), 1, kLaneCount);
  const i64 count = std::max<i64>(1, std::min(most, blocks));
  const Scratch<double> lanes(count, k * size + 1);
  const Scratch<T> buffers(threads, Block<T>::buffer_size(shape, k));
  std::vector<Block<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(pass, shape, factors.block(0), buffers.block(t));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 lane = 0; lane < count; ++lane) {
    double* sums = lanes.block(lane);
    std::fill(sums, sums + k * size + 1, 0.0);
    Block<T>& mine = team[omp_get_thread_num()];
    for (i64 b = lane * blocks / count; b < (lane + 1) * blocks / count; ++b)
      sums[k * size] += mine.take(b * shape.rows, std::min(shape.rows, n - b * shape.rows),
                                  pass.sums ? sums : nullptr, size);
  }
  std::vector<double> all(k * size + 1, 0.0);
  for (i64 l = 0; l < count; ++l)
    loops<double>().add(lanes.block(l), 1, k * size + 1, k * size + 1, all.data(), k * size + 1);
  if (pass.sums && pass.diagonal) std::copy(all.begin(), all.end() - 1, pass.sums);
  if (pass.sums && !pass.diagonal)
    for (i64 c = 0; c < k; ++c)
      unpack<T>(shape, all.data() + c * size, pass.means + c * d,
                pass.sums + c * (1 + d + d * d));
  return all.back();
}

template double mixture_pass<float>(const MixturePass<float>&, int);
template double mixture_pass<double>(const MixturePass<double>&, int);

}  // namespace kg
