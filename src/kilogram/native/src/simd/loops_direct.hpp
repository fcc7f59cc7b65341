// Kernels that are not functions of an inner product: sums (or a product) over the coordinates,
// for a tile of pairs. b comes transposed, so the columns of the tile are the vector lanes, and a
// 2 x 4 block of vectors of the tile is kept in registers while the coordinates go by.
// Included only by simd/loops.cpp, inside its anonymous namespace.

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T> struct Vector;
template <> struct Vector<double> {
  typedef double type __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
  typedef std::int64_t mask __attribute__((vector_size(kVectorBytes)));
};
template <> struct Vector<float> {
  typedef float type __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
  typedef std::int32_t mask __attribute__((vector_size(kVectorBytes)));
};

struct L1 {
  template <class V> KG_INLINE V step(V acc, V a, V b) {
    const V u = a - b;
    return acc + (u < -u ? -u : u);  // NaN compares false and stays
  }
};
struct ChiSquare {
  template <class V> KG_INLINE V step(V acc, V a, V b) {
    const V u = a - b, v = a + b, zero = u - u;
    const V q = u * u / (v == zero ? zero + 1 : v);  // 0/0 counts as 0
    return acc + (v == zero ? zero : q);
  }
};
struct Subsets {
  template <class V> KG_INLINE V step(V acc, V a, V b) { return acc * (a * b + 1); }
};

template <class Op, class T>
void direct_op(const T* a, i64 lda, const T* bt, i64 ldb, i64 rows, i64 cols, i64 d, T* tile,
               i64 ld) {
  typedef typename Vector<T>::type V;
  constexpr i64 w = kVectorBytes / sizeof(T), width = 4 * w;
  i64 j = 0;
  for (; j + width <= cols; j += width) {
    for (i64 i = 0; i < rows; i += 2) {
      const i64 i1 = i + 1 < rows ? i + 1 : i;  // an odd last row is done twice, once for nothing
      const T *a0 = a + i * lda, *a1 = a + i1 * lda;
      V *t0 = reinterpret_cast<V*>(tile + i * ld + j), *t1 = reinterpret_cast<V*>(tile + i1 * ld + j);
      V s0 = t0[0], s1 = t0[1], s2 = t0[2], s3 = t0[3];
      V r0 = t1[0], r1 = t1[1], r2 = t1[2], r3 = t1[3];
      for (i64 k = 0; k < d; ++k) {
        const V* b = reinterpret_cast<const V*>(bt + k * ldb + j);
        const V x = a0[k] - V{}, y = a1[k] - V{};
        const V b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
        s0 = Op::step(s0, x, b0); s1 = Op::step(s1, x, b1);
        s2 = Op::step(s2, x, b2); s3 = Op::step(s3, x, b3);
        r0 = Op::step(r0, y, b0); r1 = Op::step(r1, y, b1);
        r2 = Op::step(r2, y, b2); r3 = Op::step(r3, y, b3);
      }
      t0[0] = s0; t0[1] = s1; t0[2] = s2; t0[3] = s3;
      t1[0] = r0; t1[1] = r1; t1[2] = r2; t1[3] = r3;
    }
  }
  for (; j < cols; ++j)
    for (i64 i = 0; i < rows; ++i) {
      T s = tile[i * ld + j];
      for (i64 k = 0; k < d; ++k) s = Op::step(s, a[i * lda + k], bt[k * ldb + j]);
      tile[i * ld + j] = s;
    }
}

template <class T>
void direct(int kind, const T* a, i64 lda, const T* bt, i64 ldb, i64 rows, i64 cols, i64 d, T* tile,
            i64 ld) {
  if (kind == kLaplacian) return direct_op<L1>(a, lda, bt, ldb, rows, cols, d, tile, ld);
  if (kind == kChi2) return direct_op<ChiSquare>(a, lda, bt, ldb, rows, cols, d, tile, ld);
  direct_op<Subsets>(a, lda, bt, ldb, rows, cols, d, tile, ld);
}
