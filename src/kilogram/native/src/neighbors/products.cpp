// Rows are found by tiles of inner products, made in cache: row y is near x where
//     <x, y> - |y|^2 / 2,      both less a common shift,
// is large. One vector comparison passes over nearly all of a tile. Inner products of rows that lie far out lose
// the digits in which near neighbours differ: a few more than k are kept and measured, and where rounding could
// still hide a nearer one, all distances of the row are measured. Within a radius, the limit leaves space for
// rounding, and what passes is measured.
#include "neighbors/products.hpp"

#include "kernels/tile.hpp"
#include "neighbors/search.hpp"

#include <cmath>
#include <limits>

namespace kg {
namespace {

constexpr i64 kMore = 4;        // rows kept beyond k
constexpr i64 kBlockRows = 960; // rows that share one packed tile of Y, whole strips on every machine
constexpr i64 kColumns = 480;   // of such a tile, whole strips
constexpr i64 kTurns = 4;       // blocks of a thread between two looks for an interrupt
// fraction of a squared distance within which two are as good as equal
template <class T> constexpr double kLittle = sizeof(T) == 4 ? 1e-4 : 1e-9;

template <class T> using Entry = std::pair<T, std::int32_t>;  // half a distance, less |x|^2 / 2

// The k smallest of what was offered; `heap` has space for k entries.
template <class T> struct Best {
  Entry<T>* heap;
  i64 k, held;
  T worst() const { return held < k ? std::numeric_limits<T>::infinity() : heap[0].first; }
  void offer(T value, std::int32_t at) {
    if (held < k) {
      heap[held++] = {value, at};
      std::push_heap(heap, heap + held);
    } else if (Entry<T>(value, at) < heap[0]) {
      std::pop_heap(heap, heap + k);
      heap[k - 1] = {value, at};
      std::push_heap(heap, heap + k);
    }
  }
};

// The inner products of a block of rows of X with all rows of Y, a tile at a time.
template <class T> class Products {
 public:
  static i64 block_rows(i64 n, i64 d, int threads) {
    if (d > kShort) return kTileRows;
    return std::clamp(ceil_div(ceil_div(n, 4 * threads), kTileRows) * kTileRows, kTileRows, kBlockRows);
  }

  Products(const Rows<T>& X, const Rows<T>& Y, const T* shift, int threads)
      : X_(X), Y_(Y), shift_(shift), rows_(block_rows(X.n, X.d, threads)), space_(threads, scratch_size()) {}

  i64 blocks() const { return ceil_div(X_.n, rows_); }
  i64 first(i64 block) const { return block * rows_; }
  i64 last(i64 block) const { return std::min(X_.n, first(block) + rows_); }
  i64 rows() const { return rows_; }

  // f(i, products, j0, n): of row i of X with the rows j0 .. j0 + n of Y
  template <class F> void visit(i64 block, int thread, const F& f) const {
    if (X_.d <= kShort) strips(first(block), last(block), space_.block(thread), f);
    else tiles(first(block), last(block), space_.block(thread), f);
  }

 private:
  i64 scratch_size() const {
    if (X_.d > kShort) return kTileRows * kTileCols + Tile<T>::scratch_size(X_.d);
    return (rows_ + kColumns) * X_.d + loops<T>().strip * kColumns;
  }

  template <class F> void strips(i64 i0, i64 i1, T* space, const F& f) const {
    const Loops<T>& g = loops<T>();
    const i64 d = X_.d, m = i1 - i0;
    T *a = space, *b = a + rows_ * d, *values = b + kColumns * d;
    g.pack_row_strips(X_.at(i0, 0), m, d, X_.rs, X_.cs, shift_, a);
    for (i64 j0 = 0; j0 < Y_.n; j0 += kColumns) {
      const i64 n = std::min(kColumns, Y_.n - j0), count = ceil_div(n, g.strip), width = count * g.strip;
      g.pack_row_strips(Y_.at(j0, 0), n, d, Y_.rs, Y_.cs, shift_, b);
      for (i64 i = 0; i < m; i += g.strip) {
        g.product(a + i * d, b, d, count, T(1), values, width);
        for (i64 r = 0; r < std::min(g.strip, m - i); ++r) f(i0 + i + r, values + r * width, j0, n);
      }
    }
  }

  template <class F> void tiles(i64 i0, i64 i1, T* tile, const F& f) const {
    const Spec spec{kLinear, {}};
    Tile<T> maker(spec, shift_, X_.d, tile + kTileRows * kTileCols);
    for (i64 j0 = 0; j0 < Y_.n; j0 += kTileCols) {
      const i64 n = std::min(kTileCols, Y_.n - j0);
      maker.compute(X_, i0, i1, Y_, j0, j0 + n, tile, kTileCols);
      for (i64 i = i0; i < i1; ++i) f(i, tile + (i - i0) * kTileCols, j0, n);
    }
  }

  const Rows<T>&X_, &Y_;
  const T* shift_;
  i64 rows_;
  Scratch<T> space_;
};

template <class T> double square(const Rows<T>& X, i64 i, const Rows<T>& Y, i64 j) {
  double sum;
  neighbor_loops<T>().distances({kSquares, 2.0, 0}, X.at(i, 0), Y.at(j, 0), 1, X.d,
                                std::numeric_limits<double>::infinity(), &sum);
  return sum;
}

template <class T> std::vector<T> halves(const T* norms, i64 n) {
  std::vector<T> half(norms, norms + n);
  for (T& h : half) h /= 2;
  return half;
}

// What rounding may do to the inner products of a row with others.
template <class T> struct Rounding {
  const Rows<T>& X;
  const T* shift;
  double farthest;  // the largest |y - shift|

  // |x - shift|^2
  double norm(i64 i) const {
    double sum = 0;
    for (i64 c = 0; c < X.d; ++c) {
      const double x = double(*X.at(i, c)) - double(shift[c]);
      sum += x * x;
    }
    return sum;
  }

  // Of the products of a row of this norm with rows at most `near` away.
  double off(double norm, double near) const {
    // those farther out than the row and its neighbours together are no neighbours
    const double length = std::sqrt(norm), out = std::min(farthest, length + 1.001 * near);
    // of sums of d products one after another, and of rows less the shift
    const double unit = double(std::numeric_limits<T>::epsilon()) / 2, sums = 8 + double(X.d);
    return unit * (sums * out * (length + out / 2) + 4 * near * (length + out));
  }
};

template <class T> double farthest_of(const T* norms, i64 n) {
  return std::sqrt(double(*std::max_element(norms, norms + n)));
}

// Row i on its way from values to distances.
template <class T> struct Settle {
  const Rows<T>&X, &Y;
  Rounding<T> rounding;
  bool skip_self;

  // the k nearest of the rows kept, nearest first
  void operator()(i64 i, i64 k, Best<T>& best, std::int32_t* index, T* squares) const {
    const double beyond = double(best.worst());  // the value of every row left out, or more
    exactly(i, best);
    // values that overflow are NaN and were not kept
    if (best.held < k || !sure(i, double(best.heap[k - 1].first), beyond)) measure(i, best);
    for (i64 b = 0; b < k; ++b) {
      index[b] = best.heap[b].second;
      squares[b] = best.heap[b].first;
    }
  }

  // Whether no row of a value from `beyond` on is nearer than `away`, squared, but for rounding.
  bool sure(i64 i, double away, double beyond) const {
    const double norm = rounding.norm(i), off = rounding.off(norm, std::sqrt(away));
    return away == 0 || off <= kLittle<T> * away || (away - norm) / 2 <= beyond - off;
  }

  void measure(i64 i, Best<T>& best) const {
    best.held = 0;
    for (i64 j = 0; j < Y.n; ++j) {
      if (skip_self && i == j) continue;
      const T away = loops<T>().squared_distance(X.at(i, 0), Y.at(j, 0), X.d);
      if (away <= best.worst()) best.offer(away, std::int32_t(j));
    }
    exactly(i, best);
  }

  void exactly(i64 i, Best<T>& best) const {
    for (i64 b = 0; b < best.held; ++b) best.heap[b].first = T(square(X, i, Y, best.heap[b].second));
    std::sort(best.heap, best.heap + best.held);
  }
};

}  // namespace

template <class T>
void nearest_rows(const Rows<T>& X, const Rows<T>& Y, const T* shift, const T* norms, i64 k,
                  bool skip_self, std::int32_t* index, T* squares, int threads) {
  const std::vector<T> half = halves(norms, Y.n);
  const i64 kept = std::min(k + kMore, Y.n - skip_self);
  const Products<T> products(X, Y, shift, threads);
  const Settle<T> settle{X, Y, {X, shift, farthest_of(norms, Y.n)}, skip_self};
  const Scratch<Entry<T>> heaps(threads, products.rows() * kept);
  const Scratch<std::int32_t> places(threads, kColumns);
  for_chunks(products.blocks(), kTurns, threads, [&](i64 block, int thread) {
    const i64 first = products.first(block), last = products.last(block);
    std::int32_t* at = places.block(thread);
    std::vector<Best<T>> best;
    for (i64 i = first; i < last; ++i) best.push_back({heaps.block(thread) + (i - first) * kept, kept, 0});
    products.visit(block, thread, [&](i64 i, const T* values, i64 j0, i64 n) {
      Best<T>& own = best[static_cast<std::size_t>(i - first)];
      const i64 count = neighbor_loops<T>().places_at_least(values, half.data() + j0, n, -own.worst(), at);
      for (i64 c = 0; c < count; ++c) {
        const i64 j = j0 + at[c];
        if (!skip_self || i != j) own.offer(half[j] - values[at[c]], std::int32_t(j));
      }
    });
    for (i64 i = first; i < last; ++i)
      settle(i, k, best[static_cast<std::size_t>(i - first)], index + i * k, squares + i * k);
  });
}

template <class T>
Ragged rows_within(const Rows<T>& X, const Rows<T>& Y, const T* shift, const T* norms, double radius,
                   bool skip_self, Order by, int threads) {
  const std::vector<T> half = halves(norms, Y.n);
  const Rounding<T> rounding{X, shift, farthest_of(norms, Y.n)};
  const Products<T> products(X, Y, shift, threads);
  const double largest = double(std::numeric_limits<T>::max()), none = -std::numeric_limits<double>::infinity();
  std::vector<RaggedPart> parts(static_cast<std::size_t>(products.blocks()));
  std::vector<std::vector<Found>> space(static_cast<std::size_t>(threads * products.rows()));
  const Scratch<std::int32_t> places(threads, kColumns);
  for_chunks(products.blocks(), kTurns, threads, [&](i64 block, int thread) {
    const i64 first = products.first(block), last = products.last(block);
    std::int32_t* at = places.block(thread);
    std::vector<Found>* found = space.data() + thread * products.rows();
    std::vector<T> limits;  // the least product, less half the square, of a row within the radius
    for (i64 i = first; i < last; ++i) {
      found[i - first].clear();
      const double norm = rounding.norm(i), square = radius * radius;
      const double limit = (norm - square) / 2 - 2 * rounding.off(norm, radius);
      // where a square overflows, every row is measured
      const bool usable = std::isfinite(rounding.farthest) && norm + square < largest / 8;
      limits.push_back(usable ? std::nextafter(T(limit), T(none)) : T(none));
    }
    products.visit(block, thread, [&](i64 i, const T* values, i64 j0, i64 n) {
      const T limit = limits[static_cast<std::size_t>(i - first)];
      i64 count = n;
      if (limit > T(none)) count = neighbor_loops<T>().places_at_least(values, half.data() + j0, n, limit, at);
      for (i64 c = 0; c < count; ++c) {
        const i64 j = j0 + (limit > T(none) ? at[c] : c);
        const double away = std::sqrt(square(X, i, Y, j));
        if (away <= radius && (!skip_self || i != j)) found[i - first].push_back({away, std::int32_t(j)});
      }
    });
    for (i64 i = first; i < last; ++i) parts[static_cast<std::size_t>(block)].add(i, found[i - first], radius, by);
  });
  return joined(parts, X.n);
}

template void nearest_rows<float>(const Rows<float>&, const Rows<float>&, const float*,
                                  const float*, i64, bool, std::int32_t*, float*, int);
template void nearest_rows<double>(const Rows<double>&, const Rows<double>&, const double*,
                                   const double*, i64, bool, std::int32_t*, double*, int);
template Ragged rows_within<float>(const Rows<float>&, const Rows<float>&, const float*, const float*, double,
                                   bool, Order, int);
template Ragged rows_within<double>(const Rows<double>&, const Rows<double>&, const double*, const double*, double,
                                    bool, Order, int);

}  // namespace kg
