// Sums of squares and products of the rows of [X, Y], in one pass over both.
// A column of ones (times sqrt w) rides along: the last row of S then holds the plain sums and
// the total weight, for the cost of one more column.
#include "statistics/panels.hpp"
#include "statistics/sums.hpp"

namespace kg {

template <class T>
void scatter(const Rows<T>& X, const Rows<T>& Y, const T* shift_x, const T* shift_y, const T* root_w,
             double* S, i64 ld, int threads) {
  const i64 D = X.d + Y.d + 1;
  gram_of_rows<T>(X.n, D, S, ld, threads, &X, [&](i64 r0, const Chunk<T>& Z) {
    const T* w = root_w ? root_w + r0 : nullptr;
    Z.put(0, X.at(r0, 0), X.d, X.rs, X.cs, shift_x, w);
    Z.put(X.d, Y.at(r0, 0), Y.d, Y.rs, Y.cs, shift_y, w);
    Z.put_ones(D - 1, w);
  });
}

template void scatter<float>(const Rows<float>&, const Rows<float>&, const float*, const float*,
                             const float*, double*, i64, int);
template void scatter<double>(const Rows<double>&, const Rows<double>&, const double*,
                              const double*, const double*, double*, i64, int);

}  // namespace kg
