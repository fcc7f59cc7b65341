// The rows of a block on their way to the loops of mixtures: all of them, or those that count.
// Included only by mixture_loops.cpp, inside its anonymous namespace.

template <class T>
void load(const T* X, i64 rows, i64 d, i64 rs, i64 cs, const T* shift, i64 padded, i64 columns, T* x,
          i64 ld) {
  constexpr i64 together = 16;  // rows whose lines stay in L1 while the columns go by
  for (i64 i = 0; i < rows; i += together) {
    const i64 last = i + together < rows ? i + together : rows;
    for (i64 k = 0; k < d; ++k)
      for (i64 r = i; r < last; ++r) x[k * ld + r] = X[r * rs + k * cs] - shift[k];
  }
  for (i64 k = 0; k < columns; ++k)
    for (i64 r = k < d ? rows : 0; r < padded; ++r) x[k * ld + r] = T(0);
}

template <class T>
void gather(const T* x, i64 ld, const std::int32_t* rows, i64 count, i64 d, T* z) {
  const i64 whole = (count + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  for (i64 k = 0; k < d; ++k) {
    const T* __restrict from = x + k * ld;
    T* __restrict to = z + k * ld;
    for (i64 j = 0; j < count; ++j) to[j] = from[rows[j]];
    for (i64 j = count; j < whole; ++j) to[j] = T(0);
  }
}

// whether a lane of the mask is set
template <class M> KG_INLINE bool some(M mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
  typedef std::int64_t Half __attribute__((vector_size(16)));
  return ((Half)mask)[0] | ((Half)mask)[1];
#endif
}

template <class T> i64 above(const T* r, i64 rows, T least, std::int32_t* index) {
  constexpr i64 W = kLanes<T>;
  i64 count = 0;
  for (i64 i = 0; i < rows; i += W) {
    if (!some(at(r + i) > least)) continue;
    for (i64 l = i; l < i + W; ++l) {
      index[count] = static_cast<std::int32_t>(l);
      count += r[l] > least;
    }
  }
  return count;
}
