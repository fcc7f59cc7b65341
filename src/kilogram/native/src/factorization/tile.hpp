// Products of a tile of rows with k components and back, nothing packed: X is read where it lies.
//     out[j][row] = <H_j, x_row>       sums along the columns, kRowsOf rows against kOf components
//     A_j += sum_row w[j][row] x_row   sums along the rows, a strip of columns against kOf components
// Included only by factorization/loops.cpp, inside its anonymous namespace.

#if defined(__AVX512F__)
constexpr int kOf = 5;  // 20 of 32 registers hold sums
#else
constexpr int kOf = 3;  // 12 of 16
#endif
constexpr int kRowsAtOnce = 4;

template <class T, int R, int C>
__attribute__((noinline)) void dot_block(const T* x, i64 ldx, const T* h, i64 ldh, i64 d, T* out) {
  typedef typename Lanes<T>::type V;
  V sum[R][C] = {};
  const i64 whole = d / kWide<T> * kWide<T>;
  for (i64 t = 0; t < whole; t += kWide<T>) {
    V b[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) b[c] = *reinterpret_cast<const V*>(h + c * ldh + t);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V a = *reinterpret_cast<const V*>(x + r * ldx + t);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) sum[r][c] += a * b[c];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      T s = 0;
#pragma GCC unroll 16
      for (i64 v = 0; v < kWide<T>; ++v) s += sum[r][c][v];
      for (i64 t = whole; t < d; ++t) s += x[r * ldx + t] * h[c * ldh + t];
      out[c * kTile + r] = s;
    }
}

template <class T, int C>
KG_INLINE void dot_rows(const T* x, i64 ldx, i64 m, const T* h, i64 ldh, i64 d, T* out) {
  i64 i = 0;
  for (; i + kRowsAtOnce <= m; i += kRowsAtOnce) dot_block<T, kRowsAtOnce, C>(x + i * ldx, ldx, h, ldh, d, out + i);
  for (; i < m; ++i) dot_block<T, 1, C>(x + i * ldx, ldx, h, ldh, d, out + i);
}

template <class T>
void tile_dots(const T* x, i64 ldx, i64 m, const T* H, i64 k, i64 d, T* out) {
  // few rows at a time against all components: the rows come from memory, H from the second cache
  for (i64 i = 0; i < m; i += kRowsAtOnce) {
    const i64 rows = m - i < kRowsAtOnce ? m - i : kRowsAtOnce;
    i64 j = 0;
    for (; j + kOf <= k; j += kOf)
      dot_rows<T, kOf>(x + i * ldx, ldx, rows, H + j * d, d, d, out + j * kTile + i);
    for (; j + 2 <= k; j += 2)
      dot_rows<T, 2>(x + i * ldx, ldx, rows, H + j * d, d, d, out + j * kTile + i);
    for (; j < k; ++j)
      dot_rows<T, 1>(x + i * ldx, ldx, rows, H + j * d, d, d, out + j * kTile + i);
  }
  for (i64 j = 0; j < k; ++j)
    for (i64 i = m; i < kTile; ++i) out[j * kTile + i] = 0;
}

// A (C, N vectors; lda) += w (C, kTile)[:, :m] x (m, N vectors; ldx)
template <class T, int C, int N>
__attribute__((noinline)) void add_block(const T* w, const T* x, i64 ldx, i64 m, T* A, i64 lda) {
  typedef typename Lanes<T>::type V;
  V sum[C][N] = {};
  for (i64 i = 0; i < m; ++i) {
    const V* row = reinterpret_cast<const V*>(x + i * ldx);
    V b[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) b[v] = row[v];
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const V a = w[c * kTile + i] - V{};
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) sum[c][v] += a * b[v];
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) reinterpret_cast<V*>(A + c * lda)[v] += sum[c][v];
}

template <class T, int N>
KG_INLINE void add_strip(const T* w, i64 k, const T* x, i64 ldx, i64 m, T* A, i64 lda) {
  i64 j = 0;
  for (; j + kOf <= k; j += kOf) add_block<T, kOf, N>(w + j * kTile, x, ldx, m, A + j * lda, lda);
  for (; j + 2 <= k; j += 2) add_block<T, 2, N>(w + j * kTile, x, ldx, m, A + j * lda, lda);
  for (; j < k; ++j) add_block<T, 1, N>(w + j * kTile, x, ldx, m, A + j * lda, lda);
}

template <class T>
void tile_add(const T* w, i64 k, const T* x, i64 ldx, i64 m, i64 d, T* A) {
  constexpr i64 strip = kRowsAtOnce * kWide<T>;
  i64 t = 0;
  for (; t + strip <= d; t += strip) {
    if (t + 2 * strip <= d)
      for (i64 i = 0; i < m; ++i)
        for (i64 b = 0; b < strip * i64(sizeof(T)); b += 64)
          __builtin_prefetch(reinterpret_cast<const char*>(x + i * ldx + t + strip) + b);
    add_strip<T, kRowsAtOnce>(w, k, x + t, ldx, m, A + t, d);
  }
  for (; t + kWide<T> <= d; t += kWide<T>) add_strip<T, 1>(w, k, x + t, ldx, m, A + t, d);
  for (; t < d; ++t)
    for (i64 j = 0; j < k; ++j) {
      T sum = 0;
      for (i64 i = 0; i < m; ++i) sum += w[j * kTile + i] * x[i * ldx + t];
      A[j * d + t] += sum;
    }
}
