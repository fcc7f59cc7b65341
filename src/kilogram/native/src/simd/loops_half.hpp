// Rows of the lower half of a symmetric matrix, used twice while they lie in cache: as rows and as
// columns. Included only by simd/loops.cpp, inside its anonymous namespace.

// One vector of columns v_j, and R rows of K (ld apart), each `cols` long:
//   sum[r] += sum_j k_rj v_j        y_j += sum_r k_rj x_r
// Not inlined: between its neighbours the compiler would run out of registers and spill.
template <class T, int R>
__attribute__((noinline)) void half_block(const T* K, i64 ld, i64 cols, const T* v, T* y,
                                          const T* x, T* sum) {
  typedef typename Vector<T>::type V;
  constexpr i64 W = kLanes<T>;
  V total[R], mine[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    total[r] = V{};
    mine[r] = *reinterpret_cast<const V*>(x + r * W);
  }
  for (i64 j = 0; j < cols; ++j) {
    const V vj = *reinterpret_cast<const V*>(v + j * W);
    V yj = *reinterpret_cast<const V*>(y + j * W);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V k = K[r * ld + j] - V{};
      total[r] += k * vj;
      yj += k * mine[r];
    }
    *reinterpret_cast<V*>(y + j * W) = yj;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) *reinterpret_cast<V*>(sum + r * W) += total[r];
}

template <class T>
void half_rows(const T* K, i64 ld, i64 rows, i64 cols, const T* v, T* y, const T* x, T* sum) {
  constexpr i64 W = kLanes<T>;
  i64 r = 0;
  for (; r + 6 <= rows; r += 6)
    half_block<T, 6>(K + r * ld, ld, cols, v, y, x + r * W, sum + r * W);
  for (; r < rows; ++r) half_block<T, 1>(K + r * ld, ld, cols, v, y, x + r * W, sum + r * W);
}
