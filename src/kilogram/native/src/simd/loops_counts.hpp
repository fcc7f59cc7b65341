// What is counted of one row: its values, those above a threshold, its categories.
// Included only by simd/loops.cpp, inside its anonymous namespace.

// sums += w x; low = the lower of low and x, NaN left out
template <class T>
void add_counts(const T* x, i64 cols, i64 cs, T w, double* __restrict sums, T* __restrict low) {
  const double weight = static_cast<double>(w);
  if (cs == 1) {
#pragma omp simd
    for (i64 k = 0; k < cols; ++k) {
      sums[k] += weight * static_cast<double>(x[k]);
      low[k] = x[k] < low[k] ? x[k] : low[k];
    }
    return;
  }
  for (i64 k = 0; k < cols; ++k) {
    const T v = x[k * cs];
    sums[k] += weight * static_cast<double>(v);
    low[k] = v < low[k] ? v : low[k];
  }
}

// yes += w where x > threshold; seen += w where x is not NaN, and NaN where it is infinite
template <class T>
void add_presence(const T* x, i64 cols, i64 cs, T threshold, T w, double* __restrict yes,
                  double* __restrict seen) {
  const double weight = static_cast<double>(w);
  const auto one = [&](i64 k, T v) {
    const double off = static_cast<double>(v) - static_cast<double>(v);  // 0, or NaN
    yes[k] += v > threshold ? weight : 0.0;
    seen[k] += v == v ? weight + off : 0.0;
  };
  if (cs == 1)
#pragma omp simd
    for (i64 k = 0; k < cols; ++k) one(k, x[k]);
  else
    for (i64 k = 0; k < cols; ++k) one(k, x[k * cs]);
}

// low, high: the least and the greatest of each column, NaN left out; odd = 1 where some value from
// 0 to `most` is no whole number
template <class T>
void column_ranges(const T* x, i64 cols, i64 cs, T most, T* __restrict low, T* __restrict high,
                   T* __restrict odd) {
  const auto one = [&](i64 k, T v) {
    const T within = v >= T(0) && v <= most ? v : T(0);
    low[k] = v < low[k] ? v : low[k];
    high[k] = v > high[k] ? v : high[k];
    odd[k] = static_cast<T>(static_cast<std::int32_t>(within)) != within ? T(1) : odd[k];
  };
  if (cs == 1)
#pragma omp simd
    for (i64 k = 0; k < cols; ++k) one(k, x[k]);
  else
    for (i64 k = 0; k < cols; ++k) one(k, x[k * cs]);
}

// sums[offsets[k] + x[k]] += w for x[k] from 0 to below sizes[k]; others, and NaN, are left out
template <class T>
void add_categories(const T* x, i64 cols, i64 cs, const i64* offsets, const T* sizes, T w,
                    double* sums) {
  const double weight = static_cast<double>(w);
  for (i64 k = 0; k < cols; ++k) {
    const T v = x[k * cs];
    if (v >= T(0) && v < sizes[k]) sums[offsets[k] + static_cast<i64>(v)] += weight;
  }
}
