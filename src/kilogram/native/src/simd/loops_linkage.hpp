// Searches among rows that come and go: one point against panels of others, minima of a row.
// A panel holds kPanel rows side by side, panel[k][lane], so a distance runs along the lanes and a
// row is exchanged for another by strided copies. Differences are squared directly: near rows keep
// their digits. Included only by simd/loops.cpp, inside its anonymous namespace.

constexpr i64 kPanel = 32;

// out[lane] = |x_lane - c|^2 of one panel
template <class T>
__attribute__((noinline)) void one_panel(const T* __restrict panel, i64 depth,
                                         const T* __restrict c, T* __restrict out) {
  typedef typename Vector<T>::type V;
  constexpr int G = kPanel / kLanes<T>;
  V sum[G];
#pragma GCC unroll 16
  for (int g = 0; g < G; ++g) sum[g] = V{};
  const V* x = reinterpret_cast<const V*>(panel);
  for (i64 k = 0; k < depth; ++k, x += G) {
    const V v = c[k] - V{};
#pragma GCC unroll 16
    for (int g = 0; g < G; ++g) {
      const V gap = x[g] - v;
      sum[g] += gap * gap;
    }
  }
#pragma GCC unroll 16
  for (int g = 0; g < G; ++g) reinterpret_cast<V*>(out)[g] = sum[g];
}

// out[panel][lane], `panels` of them
template <class T>
void panel_distances(const T* panels, i64 depth, i64 count, const T* c, T* out) {
  for (i64 p = 0; p < count; ++p) one_panel<T>(panels + p * depth * kPanel, depth, c, out + p * kPanel);
}

// the first place of the least of n > 0 values
template <class T> i64 row_min(const T* __restrict v, i64 n) {
  T least = v[0];
#pragma omp simd reduction(min : least)
  for (i64 i = 0; i < n; ++i) least = v[i] < least ? v[i] : least;
  for (i64 i = 0; i < n; ++i)
    if (v[i] == least) return i;
  return 0;  // only NaN
}

// v[i] *= 2 size[i] mine / (size[i] + mine): what a merger adds to the sum of squares, doubled
template <class T> void ward_scale(T* __restrict v, const T* __restrict size, T mine, i64 n) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) v[i] *= 2 * size[i] * mine / (size[i] + mine);
}

// near[i] = min(near[i], v[i]), and from[i] = mark where v[i] was less
template <class T>
void relax(const T* __restrict v, i64 n, std::int32_t mark, T* __restrict near,
           std::int32_t* __restrict from) {
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const bool less = v[i] < near[i];
    near[i] = less ? v[i] : near[i];
    from[i] = less ? mark : from[i];
  }
}

// at[0..] = the places where v < bound; their number
template <class T>
i64 places_below(const T* __restrict v, const T* __restrict bound, i64 n, std::int32_t* __restrict at) {
  constexpr i64 step = 32;
  i64 found = 0;
  for (i64 i = 0; i < n; i += step) {
    const i64 end = i + step < n ? i + step : n;
    int some = 0;
#pragma omp simd reduction(+ : some)
    for (i64 j = i; j < end; ++j) some += v[j] < bound[j];
    if (!some) continue;
    for (i64 j = i; j < end; ++j) {
      at[found] = static_cast<std::int32_t>(j);
      found += v[j] < bound[j];
    }
  }
  return found;
}

// sum_i w_i max(near_i - v_i, 0); w null: 1
template <class T>
double gain_over(const T* __restrict v, const T* __restrict near, const T* __restrict w, i64 n) {
  constexpr i64 step = 512;  // a short sum in T, the long one in float64
  double total = 0;
  for (i64 i = 0; i < n; i += step) {
    const i64 end = i + step < n ? i + step : n;
    T sum = 0;
    if (w) {
#pragma omp simd reduction(+ : sum)
      for (i64 j = i; j < end; ++j) sum += w[j] * (near[j] > v[j] ? near[j] - v[j] : T(0));
    } else {
#pragma omp simd reduction(+ : sum)
      for (i64 j = i; j < end; ++j) sum += near[j] > v[j] ? near[j] - v[j] : T(0);
    }
    total += static_cast<double>(sum);
  }
  return total;
}
