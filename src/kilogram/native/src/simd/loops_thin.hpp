// Products with a thin matrix, b (depth, t) with t no more than a few vectors wide: nothing is packed,
// a row of b is a few loads, and every entry of a is read once where it lies.
// Included only by simd/loops.cpp, inside its anonymous namespace.

template <class T> struct ThinProduct {
  const T* a;  // entry (r, k) at a[r * ar + k * ak]
  i64 ar, ak, depth;
  const T* b;  // (depth, t; ldb)
  i64 ldb;
  T* out;  // (rows, t; ldo)
  i64 ldo;
};

// out (R, N vectors) += a b
template <class T, int R, int N>
KG_INLINE void thin_block(const T* a, const T* b, T* out, const ThinProduct<T>& p) {
  typedef typename Vector<T>::type V;
  V sum[R][N];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) sum[r][v] = reinterpret_cast<const V*>(out + r * p.ldo)[v];
  for (i64 k = 0; k < p.depth; ++k) {
    const V* row = reinterpret_cast<const V*>(b + k * p.ldb);
    V bv[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) bv[v] = row[v];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V x = a[r * p.ar + k * p.ak] - V{};
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) sum[r][v] += x * bv[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) reinterpret_cast<V*>(out + r * p.ldo)[v] = sum[r][v];
}

// All rows for N vectors of columns, R rows at a time: R N sums fill the registers.
template <class T, int R, int N>
KG_INLINE void thin_columns(i64 rows, i64 c, const ThinProduct<T>& p) {
  i64 r = 0;
  for (; r + R <= rows; r += R)
    thin_block<T, R, N>(p.a + r * p.ar, p.b + c, p.out + r * p.ldo + c, p);
  for (; r < rows; ++r) thin_block<T, 1, N>(p.a + r * p.ar, p.b + c, p.out + r * p.ldo + c, p);
}

// out (rows, t; ldo) += a b, t in whole vectors
template <class T>
void thin(const T* a, i64 ar, i64 ak, i64 rows, i64 depth, const T* b, i64 ldb, i64 t, T* out,
          i64 ldo) {
  constexpr i64 W = kLanes<T>;
  const ThinProduct<T> p{a, ar, ak, depth, b, ldb, out, ldo};
  i64 c = 0;
  for (; c + 4 * W <= t; c += 4 * W) thin_columns<T, 3, 4>(rows, c, p);
  for (; c + 2 * W <= t; c += 2 * W) thin_columns<T, 6, 2>(rows, c, p);
  for (; c < t; c += W) thin_columns<T, 8, 1>(rows, c, p);
}
