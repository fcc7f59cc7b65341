// Sums of squares and products of the rows of [X, Y], in one pass over both.
// A column of ones (times sqrt w) rides along: the last row of S then holds the plain sums and
// the total weight, at the price of one more column.
#include "core.hpp"
#include "panels.hpp"

namespace kg {

template <class T>
void scatter(const Rows<T>& X, const Rows<T>& Y, const T* shift_x, const T* shift_y, const T* root_w,
             double* S, int threads) {
  const i64 D = X.d + Y.d + 1;
  gram_of_rows<T>(X.n, D, S, threads, [&](i64 r0, i64 r1, T* Z) {
    const T* w = root_w ? root_w + r0 : nullptr;
    loops<T>().pack(X.at(r0, 0), r1 - r0, X.d, X.rs, X.cs, shift_x, w, Z, D);
    if (Y.d) loops<T>().pack(Y.at(r0, 0), r1 - r0, Y.d, Y.rs, Y.cs, shift_y, w, Z + X.d, D);
    for (i64 r = r0; r < r1; ++r) Z[(r - r0) * D + D - 1] = root_w ? root_w[r] : T(1);
  });
}

template void scatter<float>(const Rows<float>&, const Rows<float>&, const float*, const float*,
                             const float*, double*, int);
template void scatter<double>(const Rows<double>&, const Rows<double>&, const double*,
                              const double*, const double*, double*, int);

}  // namespace kg
