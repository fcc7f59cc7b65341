// The update of a Cholesky factor, C -= P P' on and below the diagonal, from rows packed once.
// Narrow strips as in simd/loops_product.hpp, the lanes being rows of P: a register block takes kRows lanes
// of one strip against three whole strips, so one packed copy serves both sides. Three strips stay in
// L1 while the strips of a block of rows pass by from L2.
// Included only by simd/loops.cpp, inside its anonymous namespace.

#if defined(__clang__)
#define KG_SHUFFLE(M, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define KG_SHUFFLE(M, a, b, ...) __builtin_shuffle(a, b, M{__VA_ARGS__})
#endif

// 24 KiB for three strips: L1 has at least 32
template <class T> constexpr i64 kSteps = kVectorBytes > 16 ? 8192 / kVectorBytes : 256;
constexpr i64 kFactorTile = 64;

// out[k][lane] = x[lane][k] for a square of lanes: rows r and r + W/2 interleaved, log2 W times
template <class T> KG_INLINE void transpose_square(const T* x, i64 ld, T* out) {
  typedef typename Vector<T>::type V;
  constexpr i64 W = kLanes<T>;
  if constexpr (W == 4 || W == 8 || W == 16) {
    typedef typename Vector<T>::mask M;
    V a[W], b[W];
#pragma GCC unroll 16
    for (int r = 0; r < W; ++r) a[r] = *reinterpret_cast<const V*>(x + r * ld);
#pragma GCC unroll 4
    for (int stage = 1; stage < W; stage *= 2) {
#pragma GCC unroll 8
      for (int r = 0; r < W / 2; ++r)
        if constexpr (W == 4) {
          b[2 * r] = KG_SHUFFLE(M, a[r], a[r + 2], 0, 4, 1, 5);
          b[2 * r + 1] = KG_SHUFFLE(M, a[r], a[r + 2], 2, 6, 3, 7);
        } else if constexpr (W == 8) {
          b[2 * r] = KG_SHUFFLE(M, a[r], a[r + 4], 0, 8, 1, 9, 2, 10, 3, 11);
          b[2 * r + 1] = KG_SHUFFLE(M, a[r], a[r + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        } else {
          b[2 * r] = KG_SHUFFLE(M, a[r], a[r + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
          b[2 * r + 1] =
              KG_SHUFFLE(M, a[r], a[r + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
        }
#pragma GCC unroll 16
      for (int r = 0; r < W; ++r) a[r] = b[r];
    }
#pragma GCC unroll 16
    for (int r = 0; r < W; ++r) reinterpret_cast<V*>(out)[r] = a[r];
  } else {
    for (i64 r = 0; r < W; ++r)
      for (i64 k = 0; k < W; ++k) out[k * W + r] = x[r * ld + k];
  }
}

// out[strip][k][lane] = x[lane][k], zeros beyond the last row
template <class T> void pack_lanes(const T* x, i64 rows, i64 depth, i64 ld, T* out) {
  constexpr i64 W = kLanes<T>;
  for (i64 i = 0; i < rows; i += W, out += depth * W, x += W * ld) {
    i64 k = 0;
    if (rows - i >= W)
      for (; k + W <= depth; k += W) transpose_square<T>(x + k, ld, out + k * W);
    for (; k < depth; ++k)
      for (i64 r = 0; r < W; ++r) out[k * W + r] = i + r < rows ? x[r * ld + k] : T(0);
  }
}

// B (rows, w; ld) := B L'^-1 with L (w, w; ld) lower, w <= kFactorTile; lanes are rows of B
template <class T> void solve_lanes(const T* L, i64 w, T* B, i64 rows, i64 ld) {
  typedef typename Vector<T>::type V;
  constexpr i64 W = kLanes<T>;
  constexpr int G = 4;  // vectors of lanes at a time: as many sums run beside each other
  alignas(64) T x[kFactorTile * G * W];  // x[k][g][lane]
  for (i64 i = 0; i < rows; i += G * W) {
    const i64 count = rows - i < G * W ? rows - i : G * W;
    if (count < G * W)
      for (i64 k = 0; k < w * G * W; ++k) x[k] = T(0);
    for (i64 r = 0; r < count; ++r)
      for (i64 k = 0; k < w; ++k) x[k * G * W + r] = B[(i + r) * ld + k];
    for (i64 c = 0; c < w; ++c) {
      V sum[G], *out = reinterpret_cast<V*>(x + c * G * W);
      const T* l = L + c * ld;
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) sum[g] = out[g];
      for (i64 k = 0; k < c; ++k) {
        const V v = l[k] - V{};
        const V* at = reinterpret_cast<const V*>(x + k * G * W);
#pragma GCC unroll 4
        for (int g = 0; g < G; ++g) sum[g] -= v * at[g];
      }
#pragma GCC unroll 4
      for (int g = 0; g < G; ++g) out[g] = sum[g] / l[c];
    }
    for (i64 r = 0; r < count; ++r)
      for (i64 k = 0; k < w; ++k) B[(i + r) * ld + k] = x[k * G * W + r];
  }
}

// C (kRows, three strips; ld) -= a' b; not inlined, as add_block in simd/loops_product.hpp
template <class T>
__attribute__((noinline)) void subtract_block(const T* __restrict a, const T* __restrict b, i64 depth,
                                              T* C, i64 ld) {
  typedef typename Vector<T>::type V;
  constexpr int R = kRows<T>;
  constexpr i64 W = kLanes<T>;
  V sum[R][3];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    sum[r][0] = sum[r][1] = sum[r][2] = V{};
    __builtin_prefetch(C + r * ld, 1);
    __builtin_prefetch(C + r * ld + 3 * W - 1, 1);
  }
  const V *b0 = reinterpret_cast<const V*>(b), *b1 = b0 + depth, *b2 = b1 + depth;
#pragma GCC unroll 4
  for (i64 k = 0; k < depth; ++k) {
    const V v0 = b0[k], v1 = b1[k], v2 = b2[k];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const V x = a[k * W + r] - V{};
      sum[r][0] += x * v0;
      sum[r][1] += x * v1;
      sum[r][2] += x * v2;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    V* o = reinterpret_cast<V*>(C + r * ld);
    o[0] -= sum[r][0];
    o[1] -= sum[r][1];
    o[2] -= sum[r][2];
  }
}

// Rows r0..r1 of C (r1, columns; ld) -= P P', only where column <= row; r0 on a whole strip.
template <class T>
void subtract_rows(const T* P, i64 depth, i64 r0, i64 r1, i64 columns, T* C, i64 ld) {
  constexpr int R = kRows<T>;
  constexpr i64 W = kLanes<T>, N = 3 * W;
  for (i64 j = 0; j < columns && j < r1; j += N) {
    const T* b = P + j * depth;
    for (i64 i = r0; i < r1; i += R) {
      if (j >= i + R) continue;  // above the diagonal
      const T* a = P + i / W * W * depth + i % W;
      if (i + R <= r1 && j + N <= columns && j + N <= i + 1) {
        subtract_block<T>(a, b, depth, C + i * ld + j, ld);
        continue;
      }
      alignas(64) T part[R * N] = {};
      subtract_block<T>(a, b, depth, part, N);
      for (i64 r = i; r < i + R && r < r1; ++r)
        for (i64 c = j; c < j + N && c < columns && c <= r; ++c)
          C[r * ld + c] += part[(r - i) * N + c - j];
    }
  }
}
