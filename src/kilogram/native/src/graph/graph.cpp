// The k nearest rows without a matrix of distances: tiles of inner products are made in cache, and
// of each row only the k best so far are kept, in a heap whose top is the farthest of them. Nearly
// all of a tile is passed over by one comparison of the smallest of eight with that top. Inner products
// of rows that lie far out lose the digits in which near neighbours differ: a few more than k are kept
// and measured, and where rounding could still hide a nearer one, all distances of the row are measured.
// Shortest paths: Dijkstra's algorithm, the sources dealt to the threads.
#include "graph/graph.hpp"

#include "simd/loops.hpp"
#include "kernels/spec.hpp"
#include "kernels/tile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <omp.h>
#include <utility>
#include <vector>

namespace kg {
namespace {

constexpr i64 kLook = 8;  // values compared at once
constexpr i64 kMore = 4;  // rows kept beyond k
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

// one row of products against columns j0 .. j0 + n, of which `half` are the halved squares
template <class T>
void look(const T* products, const T* half, i64 n, i64 j0, i64 self, Best<T>& best) {
  T worst = best.worst();
  const auto offer = [&](i64 j) {
    const T value = half[j] - products[j];
    if (j0 + j != self && value <= worst) best.offer(value, std::int32_t(j0 + j));
  };
  const i64 whole = n - n % kLook;
  for (i64 j = 0; j < whole; j += kLook) {
    T least = half[j] - products[j];
    for (i64 l = 1; l < kLook; ++l) least = std::min(least, half[j + l] - products[j + l]);
    if (least > worst) continue;
    for (i64 l = 0; l < kLook; ++l) offer(j + l);
    worst = best.worst();
  }
  for (i64 j = whole; j < n; ++j) offer(j);
}

template <class T> double square(const Rows<T>& X, i64 i, const Rows<T>& Y, i64 j) {
  double sum = 0;
  for (i64 c = 0; c < X.d; ++c) {
    const double gap = double(*X.at(i, c)) - double(*Y.at(j, c));
    sum += gap * gap;
  }
  return sum;
}

// Row i on its way from values to distances; `farthest` is the largest |y - shift|.
template <class T> struct Settle {
  const Rows<T>&X, &Y;
  const T* shift;
  double farthest;
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
    double norm = 0;
    for (i64 c = 0; c < X.d; ++c) {
      const double x = double(*X.at(i, c)) - double(shift[c]);
      norm += x * x;
    }
    // those farther out than the row and its neighbours together are no neighbours
    const double length = std::sqrt(norm), near = std::sqrt(away);
    const double out = std::min(farthest, length + 1.001 * near);
    // of sums of d products one after another, and of rows less the shift
    const double unit = double(std::numeric_limits<T>::epsilon()) / 2, sums = 8 + double(X.d);
    const double off = unit * (sums * out * (length + out / 2) + 4 * near * (length + out));
    return away == 0 || off <= kLittle<T> * away || (away - norm) / 2 <= beyond - off;
  }

  void measure(i64 i, Best<T>& best) const {
    const bool whole = X.cs == 1 && Y.cs == 1;  // rows in one piece
    best.held = 0;
    for (i64 j = 0; j < Y.n; ++j) {
      if (skip_self && i == j) continue;
      const T away = whole ? loops<T>().squared_distance(X.at(i, 0), Y.at(j, 0), X.d) : T(square(X, i, Y, j));
      if (away <= best.worst()) best.offer(away, std::int32_t(j));
    }
    exactly(i, best);
  }

  void exactly(i64 i, Best<T>& best) const {
    for (i64 b = 0; b < best.held; ++b) best.heap[b].first = T(square(X, i, Y, best.heap[b].second));
    std::sort(best.heap, best.heap + best.held);
  }
};

using Step = std::pair<double, std::int32_t>;

void paths_from(const Graph& graph, i64 source, double* length, std::vector<Step>& heap) {
  const auto later = [](const Step& a, const Step& b) { return a.first > b.first; };
  std::fill(length, length + graph.n, std::numeric_limits<double>::infinity());
  length[source] = 0;
  heap.assign(1, {0.0, std::int32_t(source)});
  while (!heap.empty()) {
    const auto [reached, from] = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    if (reached > length[from]) continue;  // a shorter way was found since
    for (i64 e = graph.start[from]; e < graph.start[from + 1]; ++e) {
      const std::int32_t to = graph.index[e];
      const double next = reached + graph.length[e];
      if (next < length[to]) {
        length[to] = next;
        heap.push_back({next, to});
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
  }
}

}  // namespace

template <class T>
void nearest_rows(const Rows<T>& X, const Rows<T>& Y, const T* shift, const T* norms, i64 k,
                  bool skip_self, std::int32_t* index, T* squares, int threads) {
  Spec spec{kLinear, {}};
  std::vector<T> half(norms, norms + Y.n);
  for (T& h : half) h /= 2;
  const i64 blocks = ceil_div(X.n, kTileRows), size = kTileRows * kTileCols;
  const i64 kept = std::min(k + kMore, Y.n - skip_self);
  const Settle<T> settle{X, Y, shift, std::sqrt(double(*std::max_element(norms, norms + Y.n))), skip_self};
  const Scratch<T> scratch(threads, Tile<T>::scratch_size(X.d) + size);
  const Scratch<Entry<T>> heaps(threads, kTileRows * kept);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 block = 0; block < blocks; ++block) {
    const i64 i0 = block * kTileRows, i1 = std::min(X.n, i0 + kTileRows);
    T* tile = scratch.block(omp_get_thread_num());
    Entry<T>* heap = heaps.block(omp_get_thread_num());
    Tile<T> maker(spec, shift, X.d, tile + size);
    Best<T> best[kTileRows];
    for (i64 i = i0; i < i1; ++i) best[i - i0] = {heap + (i - i0) * kept, kept, 0};
    for (i64 j0 = 0; j0 < Y.n; j0 += kTileCols) {
      const i64 j1 = std::min(Y.n, j0 + kTileCols);
      maker.compute(X, i0, i1, Y, j0, j1, tile, kTileCols);
      for (i64 i = i0; i < i1; ++i)
        look(tile + (i - i0) * kTileCols, half.data() + j0, j1 - j0, j0, skip_self ? i : i64(-1),
             best[i - i0]);
    }
    for (i64 i = i0; i < i1; ++i) settle(i, k, best[i - i0], index + i * k, squares + i * k);
  }
}

void shortest_paths(const Graph& graph, const i64* sources, i64 m, double* out, int threads) {
  std::vector<std::vector<Step>> heaps(threads);
  for (auto& heap : heaps) heap.reserve(graph.start[graph.n] + 1);  // no throw in the loop below
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
  for (i64 s = 0; s < m; ++s)
    paths_from(graph, sources[s], out + s * graph.n, heaps[omp_get_thread_num()]);
}

template void nearest_rows<float>(const Rows<float>&, const Rows<float>&, const float*,
                                  const float*, i64, bool, std::int32_t*, float*, int);
template void nearest_rows<double>(const Rows<double>&, const Rows<double>&, const double*,
                                   const double*, i64, bool, std::int32_t*, double*, int);

}  // namespace kg
