// Random Fourier features phi = scale cos(X W + b), and their scatter without storing them.
#include "statistics/panels.hpp"
#include "statistics/sums.hpp"
#include "linalg/blas.hpp"

namespace kg {
namespace {

constexpr i64 kFeatureCols = 240;  // whole strips on every machine; with kChunk rows, 300 KiB

// out (rows, cols; ld) = scale cos(x W[:, j:j+cols] + b[j:]); x (rows, d) packed
template <class T>
void features(const T* x, i64 rows, i64 d, const T* W, i64 D, i64 j, i64 cols, const T* b, T scale,
              T* out, i64 ld) {
  gemm_nn<T>(rows, cols, d, T(1), x, std::max<i64>(d, 1), W + j, D, T(0), out, ld);
  loops<T>().cosine(out, rows, cols, ld, b + j, scale);
}

}  // namespace

template <class T>
void fourier_block(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, T* out, int threads) {
  const Scratch<T> scratch(threads, kChunk * X.d);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 r = 0; r < X.n; r += kChunk) {
    const i64 rows = std::min(kChunk, X.n - r);
    T* x = scratch.block(omp_get_thread_num());
    loops<T>().pack(X.at(r, 0), rows, X.d, X.rs, X.cs, nullptr, nullptr, x, X.d);
    for (i64 j = 0; j < D; j += kFeatureCols)
      features(x, rows, X.d, W, D, j, std::min(kFeatureCols, D - j), b, scale, out + r * D + j, D);
  }
}

template <class T>
void fourier_scatter(const Rows<T>& X, const T* W, i64 D, const T* b, T scale, const Rows<T>& Y,
                     const T* root_w, double* S, i64 ld, int threads) {
  const i64 width = D + Y.d + 1;
  const Scratch<T> scratch(threads, kChunk * (X.d + kFeatureCols));
  gram_of_rows<T>(X.n, width, S, ld, threads, nullptr, [&](i64 r0, const Chunk<T>& Z) {
    const T* w = root_w ? root_w + r0 : nullptr;
    T *x = scratch.block(omp_get_thread_num()), *phi = x + kChunk * X.d;
    loops<T>().pack(X.at(r0, 0), Z.rows, X.d, X.rs, X.cs, nullptr, nullptr, x, X.d);
    for (i64 j = 0; j < D; j += kFeatureCols) {
      const i64 cols = std::min(kFeatureCols, D - j);
      features(x, Z.rows, X.d, W, D, j, cols, b, scale, phi, cols);
      Z.put(j, phi, cols, cols, 1, nullptr, w);
    }
    Z.put(D, Y.at(r0, 0), Y.d, Y.rs, Y.cs, nullptr, w);
    Z.put_ones(width - 1, w);
  });
}

#define KG_INSTANTIATE(T)                                                                         \
  template void fourier_block<T>(const Rows<T>&, const T*, i64, const T*, T, T*, int);            \
  template void fourier_scatter<T>(const Rows<T>&, const T*, i64, const T*, T, const Rows<T>&,    \
                                   const T*, double*, i64, int);
KG_INSTANTIATE(float)
KG_INSTANTIATE(double)

}  // namespace kg
