// Products of all columns with a few vectors. BLAS packs both factors, which for a few vectors costs as
// much as the products themselves.
#include "coordinate/column_products.hpp"

#include <algorithm>

#include "simd/loops.hpp"

namespace kg {
namespace {

constexpr i64 kColumns = 256;  // of X, dealt to a thread at once
constexpr i64 kRowBytes = i64(1) << 17;  // of R, which stay in cache for the columns of a thread

}  // namespace

template <class T>
void column_products(const T* X, i64 n, i64 p, i64 ld, const T* R, i64 t, T* out, int threads) {
  const i64 rows = std::max<i64>(64, kRowBytes / i64(sizeof(T)) / t);
  const auto& f = loops<T>();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (i64 c = 0; c < p; c += kColumns) {
    const i64 columns = std::min(kColumns, p - c);
    std::fill(out + c * t, out + (c + columns) * t, T(0));
    for (i64 r = 0; r < n; r += rows)
      f.thin(X + c * ld + r, ld, 1, columns, std::min(rows, n - r), R + r * t, t, t, out + c * t, t);
  }
}

template void column_products<float>(const float*, i64, i64, i64, const float*, i64, float*, int);
template void column_products<double>(const double*, i64, i64, i64, const double*, i64, double*,
                                      int);

}  // namespace kg
