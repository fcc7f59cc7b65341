// The nearest of many centres for strips of rows, without a matrix of distances.
// The lanes are rows in narrow strips (simd/loops_factor.hpp), three to a register block; kBlockCentres centres
// pass at a time, each with its numbers side by side, centres[k][four]. What is largest is
//     <x, c> - |c|^2 / 2,      the sum begins at minus the half square;
// the best so far and its index stay in the same lanes, so nothing is reduced across a register.
// Included only by simd/loops.cpp, inside its anonymous namespace.


template <class T> struct Best {
  typename Vector<T>::type value[3];
  typename Vector<T>::mask index[3];
};

// out[four][three vectors] = <x, c> - |c|^2 / 2. Not inlined: twelve sums need all registers.
template <class T>
__attribute__((noinline)) void four_products(const T* __restrict x, const T* __restrict centres,
                                             const T* __restrict half, i64 depth,
                                             typename Vector<T>::type (*__restrict out)[3]) {
  typedef typename Vector<T>::type V;
  V sum[kBlockCentres][3];
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r) sum[r][0] = sum[r][1] = sum[r][2] = V{} - half[r];
  const V *x0 = reinterpret_cast<const V*>(x), *x1 = x0 + depth, *x2 = x1 + depth;
#pragma GCC unroll 2
  for (i64 k = 0; k < depth; ++k) {
    const V v0 = x0[k], v1 = x1[k], v2 = x2[k];
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r) {
      const V c = centres[k * kBlockCentres + r] - V{};
      sum[r][0] += c * v0;
      sum[r][1] += c * v1;
      sum[r][2] += c * v2;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r)
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) out[r][j] = sum[r][j];
}

// best = the better of best and the four centres first..first + 3
template <class T>
KG_INLINE void nearest_of_four(const T* x, const T* centres, const T* half, i64 depth, i64 first,
                               Best<T>& best) {
  typedef typename Vector<T>::type V;
  typedef typename Vector<T>::mask M;
  V found[kBlockCentres][3];
  four_products<T>(x, centres, half, depth, found);
#pragma GCC unroll 4
  for (int r = 0; r < kBlockCentres; ++r) {
    const M at = M{} + static_cast<decltype(M{}[0] + 0)>(first + r);
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      const M better = found[r][j] > best.value[j];
      best.value[j] = better ? found[r][j] : best.value[j];
      best.index[j] = better ? at : best.index[j];
    }
  }
}

// index[lane] = the nearest centre of three narrow strips, among the quadruples listed.
template <class T>
void nearest(const T* strips, i64 depth, const T* centres, const T* half, const std::int32_t* listed,
             i64 count, std::int32_t* index) {
  constexpr i64 W = kLanes<T>;
  Best<T> best;
  for (int j = 0; j < 3; ++j) {
    best.value[j] = typename Vector<T>::type{} - T(__builtin_huge_val());
    best.index[j] = typename Vector<T>::mask{};
  }
  for (i64 g = 0; g < count; ++g) {
    const i64 first = i64(listed[g]) * kBlockCentres;
    nearest_of_four<T>(strips, centres + first * depth, half + first, depth, first, best);
  }
  for (i64 i = 0; i < 3 * W; ++i) index[i] = static_cast<std::int32_t>(best.index[i / W][i % W]);
}

// centres (four, depth; ld) as [k][four]; zeros, infinitely far, beyond the last
template <class T> void pack_four(const T* c, i64 count, i64 depth, T* out, T* half) {
  for (i64 r = 0; r < kBlockCentres; ++r) {
    T sum = 0;
    for (i64 k = 0; k < depth; ++k) {
      const T v = r < count ? c[r * depth + k] : T(0);
      out[k * kBlockCentres + r] = v;
      sum += v * v;
    }
    half[r] = r < count ? sum / 2 : T(__builtin_huge_val());
  }
}

// out[four][lane] (ld) = |c|^2 / 2 - <x, c>
template <class T>
void half_distances(const T* strips, i64 depth, const T* centres, const T* half, T* out, i64 ld) {
  typedef typename Vector<T>::type V;
  const V* x = reinterpret_cast<const V*>(strips);
  for (int j = 0; j < 3; ++j, x += depth) {
    V sum[kBlockCentres];
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r) sum[r] = V{} + half[r];
    for (i64 k = 0; k < depth; ++k) {
#pragma GCC unroll 4
      for (int r = 0; r < kBlockCentres; ++r) sum[r] -= centres[k * kBlockCentres + r] * x[k];
    }
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r)
      *reinterpret_cast<V*>(out + r * ld + j * kLanes<T>) = sum[r];
  }
}

// |x - c|^2 of one row
template <class T> T squared_distance(const T* __restrict x, const T* __restrict c, i64 depth) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (i64 k = 0; k < depth; ++k) sum += (x[k] - c[k]) * (x[k] - c[k]);
  return sum;
}

// sum += w x, one row; the sums are float64
template <class T> void add_row(const T* __restrict x, i64 depth, T w, double* __restrict sum) {
  const double weight = static_cast<double>(w);
#pragma omp simd
  for (i64 k = 0; k < depth; ++k) sum[k] += weight * static_cast<double>(x[k]);
}

// strips[k][lane] -= shift[k], for three narrow strips
template <class T> void shift_lanes(T* strips, i64 depth, const T* shift) {
  typedef typename Vector<T>::type V;
  V* at = reinterpret_cast<V*>(strips);
  for (int j = 0; j < 3; ++j, at += depth)
    for (i64 k = 0; k < depth; ++k) at[k] -= shift[k];
}

KG_INLINE float root(float x) { return __builtin_sqrtf(x); }
KG_INLINE double root(double x) { return __builtin_sqrt(x); }

// The two nearest of `blocks` quadruples for three narrow strips, the centre own[lane] left out:
// their distances, less what rounding may have added, and the place of the first.
//     |x - c|^2 = |x|^2 - 2 (<x, c> - |c|^2 / 2)
template <class T>
void two_nearest(const T* strips, i64 depth, const T* centres, const T* half, i64 blocks,
                 const std::int32_t* own, const T* norm, T slack, T* first, T* second,
                 std::int32_t* at) {
  typedef typename Vector<T>::type V;
  typedef typename Vector<T>::mask M;
  constexpr i64 W = kLanes<T>;
  const V lowest = V{} - T(__builtin_huge_val());
  V best[3] = {lowest, lowest, lowest}, next[3] = {lowest, lowest, lowest}, out[kBlockCentres][3];
  M place[3] = {M{}, M{}, M{}}, mine[3];
  for (i64 i = 0; i < 3 * W; ++i) mine[i / W][i % W] = own[i];
  for (i64 b = 0; b < blocks; ++b) {
    four_products<T>(strips, centres + b * kBlockCentres * depth, half + b * kBlockCentres, depth, out);
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r) {
      const M here = M{} + static_cast<decltype(M{}[0] + 0)>(b * kBlockCentres + r);
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) {
        const V v = here == mine[j] ? lowest : out[r][j];
        const M better = v > best[j];
        const V lesser = better ? best[j] : v;
        next[j] = lesser > next[j] ? lesser : next[j];
        best[j] = better ? v : best[j];
        place[j] = better ? here : place[j];
      }
    }
  }
  for (int j = 0; j < 3; ++j) {
    *reinterpret_cast<V*>(first + j * W) = best[j];
    *reinterpret_cast<V*>(second + j * W) = next[j];
  }
#pragma omp simd
  for (i64 i = 0; i < 3 * W; ++i) {
    const T a = norm[i] - 2 * first[i] - slack, b = norm[i] - 2 * second[i] - slack;
    first[i] = root(a > 0 ? a : T(0));
    second[i] = root(b > 0 ? b : T(0));
  }
  for (i64 i = 0; i < 3 * W; ++i) at[i] = static_cast<std::int32_t>(place[i / W][i % W]);
}

// a bit for every lane that is set
template <class T> KG_INLINE std::uint64_t lanes_set(typename Vector<T>::mask mask) {
#if defined(__AVX512DQ__)
  if constexpr (sizeof(T) == 4) return _mm512_movepi32_mask((__m512i)mask);
  else return _mm512_movepi64_mask((__m512i)mask);
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) return static_cast<unsigned>(_mm256_movemask_ps((__m256)mask));
  else return static_cast<unsigned>(_mm256_movemask_pd((__m256d)mask));
#else
  std::uint64_t bits = 0;
  for (i64 l = 0; l < kLanes<T>; ++l) bits |= static_cast<std::uint64_t>(mask[l] != 0) << l;
  return bits;
#endif
}

// The least of lower[g] - drift[g], whole vectors, and in `needed` a bit for every one of them that is not
// above `reach`.
template <class T>
T least_bound(const T* lower, const T* drift, i64 count, T reach, std::uint64_t* needed) {
  typedef typename Vector<T>::type V;
  constexpr i64 W = kLanes<T>;
  V least = V{} + T(__builtin_huge_val());
  std::uint64_t bits = 0;
  for (i64 g = 0; g < count; g += W) {
    const V bound = *reinterpret_cast<const V*>(lower + g) - *reinterpret_cast<const V*>(drift + g);
    least = bound < least ? bound : least;
    bits |= lanes_set<T>(bound <= reach) << g;
  }
  T one = least[0];
  for (i64 l = 1; l < W; ++l) one = least[l] < one ? least[l] : one;
  *needed = bits;
  return one;
}
