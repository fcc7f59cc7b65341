// Copies of row tiles into cache (shifted, scaled, transposed) and sums out of it.
// Included only by simd/loops.cpp, inside its anonymous namespace.

template <class T>
void pack(const T* x, i64 rows, i64 cols, i64 rs, i64 cs, const T* shift, const T* scale, T* out,
          i64 ldo) {
  if (cs != 1) {  // column-major or strided: go down the columns, whose entries are the closer
    for (i64 k = 0; k < cols; ++k) {
      const T c = shift ? shift[k] : T(0);
      const T* __restrict column = x + k * cs;
      if (scale)
        for (i64 i = 0; i < rows; ++i) out[i * ldo + k] = (column[i * rs] - c) * scale[i];
      else
        for (i64 i = 0; i < rows; ++i) out[i * ldo + k] = column[i * rs] - c;
    }
    return;
  }
  for (i64 i = 0; i < rows; ++i) {
    const T* __restrict row = x + i * rs;
    T* __restrict o = out + i * ldo;
    const T s = scale ? scale[i] : T(1);
    if (shift) {
#pragma omp simd
      for (i64 k = 0; k < cols; ++k) o[k] = (row[k] - shift[k]) * s;
    } else {
#pragma omp simd
      for (i64 k = 0; k < cols; ++k) o[k] = row[k] * s;
    }
  }
}

template <class T>
void pack_t(const T* x, i64 rows, i64 cols, i64 rs, i64 cs, const T* shift, T* out, i64 ldo) {
  for (i64 k = 0; k < cols; ++k) {
    const T c = shift ? shift[k] : T(0);
    const T* __restrict column = x + k * cs;
    T* __restrict o = out + k * ldo;
    for (i64 i = 0; i < rows; ++i) o[i] = column[i * rs] - c;
  }
}

template <class T> void add_norms(const T* a, i64 rows, i64 cols, i64 ld, T* out) {
  for (i64 i = 0; i < rows; ++i) {
    const T* __restrict row = a + i * ld;
    T s = 0;
#pragma omp simd reduction(+ : s)
    for (i64 k = 0; k < cols; ++k) s += row[k] * row[k];
    out[i] += s;
  }
}

template <class T>
void transpose(const T* tile, i64 rows, i64 cols, i64 ld, T* out, i64 ldo) {
  constexpr i64 b = 16;  // a 16 x 16 block of either side stays in L1
  for (i64 i0 = 0; i0 < rows; i0 += b)
    for (i64 j0 = 0; j0 < cols; j0 += b) {
      const i64 i1 = i0 + b < rows ? i0 + b : rows, j1 = j0 + b < cols ? j0 + b : cols;
      for (i64 j = j0; j < j1; ++j)
        for (i64 i = i0; i < i1; ++i) out[j * ldo + i] = tile[i * ld + j];
    }
}

template <class T>
void add(const T* tile, i64 rows, i64 cols, i64 ld, double* sum, i64 lds) {
  for (i64 i = 0; i < rows; ++i) {
    const T* __restrict row = tile + i * ld;
    double* __restrict s = sum + i * lds;
#pragma omp simd
    for (i64 j = 0; j < cols; ++j) s[j] += static_cast<double>(row[j]);
  }
}

template <class T>
void add_powers(const T* x, i64 cols, i64 cs, const T* shift, T w, double* sums, double* squares,
                double* seen) {
  const double weight = static_cast<double>(w);
  if (seen) {
    for (i64 k = 0; k < cols; ++k) {
      const double v = static_cast<double>(x[k * cs]) - static_cast<double>(shift[k]);
      const bool there = x[k * cs] == x[k * cs];
      const double mass = there ? weight : 0.0, known = there ? v : 0.0;
      sums[k] += mass * known;
      squares[k] += mass * known * known;
      seen[k] += mass;
    }
  } else if (!squares) {
#pragma omp simd
    for (i64 k = 0; k < cols; ++k) {
      const double c = shift ? static_cast<double>(shift[k]) : 0.0;
      sums[k] += weight * (static_cast<double>(x[k * cs]) - c);
    }
  } else if (cs == 1) {
#pragma omp simd
    for (i64 k = 0; k < cols; ++k) {
      const double v = static_cast<double>(x[k]) - static_cast<double>(shift[k]);
      sums[k] += weight * v;
      squares[k] += weight * v * v;
    }
  } else {
    for (i64 k = 0; k < cols; ++k) {
      const double v = static_cast<double>(x[k * cs]) - static_cast<double>(shift[k]);
      sums[k] += weight * v;
      squares[k] += weight * v * v;
    }
  }
}
