// Margins, logistic and softmax terms, and gradients of a chunk of rows.
// Included only by simd/loops.cpp, inside its anonymous namespace.

template <class T>
void row_dots(const T* x, i64 rows, i64 cols, i64 rs, i64 cs, const T* w, T b, T* z) {
  if (cs != 1) {  // column-major or strided: down the columns, whose entries are the closer
    for (i64 i = 0; i < rows; ++i) z[i] = b;
    for (i64 k = 0; k < cols; ++k) {
      const T* __restrict column = x + k * cs;
      const T v = w[k];
#pragma omp simd
      for (i64 i = 0; i < rows; ++i) z[i] += v * column[i * rs];
    }
    return;
  }
  i64 i = 0;
  for (; i + 4 <= rows; i += 4) {  // four rows share each load of w
    const T *__restrict r0 = x + i * rs, *__restrict r1 = r0 + rs, *__restrict r2 = r1 + rs,
            *__restrict r3 = r2 + rs;
    T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (i64 k = 0; k < cols; ++k) {
      s0 += r0[k] * w[k];
      s1 += r1[k] * w[k];
      s2 += r2[k] * w[k];
      s3 += r3[k] * w[k];
    }
    z[i] = s0 + b, z[i + 1] = s1 + b, z[i + 2] = s2 + b, z[i + 3] = s3 + b;
  }
  for (; i < rows; ++i) {
    const T* __restrict row = x + i * rs;
    T s = 0;
#pragma omp simd reduction(+ : s)
    for (i64 k = 0; k < cols; ++k) s += row[k] * w[k];
    z[i] = s + b;
  }
}

template <class T>
void add_rows(const T* x, i64 rows, i64 cols, i64 rs, i64 cs, const T* r, T* part, double* g) {
  if (cs != 1) {
    for (i64 k = 0; k < cols; ++k) {
      const T* __restrict column = x + k * cs;
      T s = 0;
#pragma omp simd reduction(+ : s)
      for (i64 i = 0; i < rows; ++i) s += r[i] * column[i * rs];
      g[k] += static_cast<double>(s);
    }
    return;
  }
  T* __restrict p = part;
  for (i64 k = 0; k < cols; ++k) p[k] = 0;
  i64 i = 0;
  for (; i + 4 <= rows; i += 4) {
    const T *__restrict r0 = x + i * rs, *__restrict r1 = r0 + rs, *__restrict r2 = r1 + rs,
            *__restrict r3 = r2 + rs;
    const T a0 = r[i], a1 = r[i + 1], a2 = r[i + 2], a3 = r[i + 3];
#pragma omp simd
    for (i64 k = 0; k < cols; ++k) p[k] += a0 * r0[k] + a1 * r1[k] + (a2 * r2[k] + a3 * r3[k]);
  }
  for (; i < rows; ++i) {
    const T* __restrict row = x + i * rs;
    const T a = r[i];
#pragma omp simd
    for (i64 k = 0; k < cols; ++k) p[k] += a * row[k];
  }
#pragma omp simd
  for (i64 k = 0; k < cols; ++k) g[k] += static_cast<double>(p[k]);
}

// With m = y z and e = exp(-|m|) <= 1: loss = log(1 + e) + max(-m, 0), the chance q of the wrong
// class is e / (1 + e) for m > 0 and 1 / (1 + e) else; r = -y q, h = q (1 - q) = e / (1 + e)^2.
template <class T>
void logistic(const T* z, const T* y, const T* c, i64 rows, T* r, T* h, double* sums) {
  double loss = 0, total = 0;
#pragma omp simd reduction(+ : loss, total)
  for (i64 i = 0; i < rows; ++i) {
    const T m = y[i] * z[i], weight = c ? c[i] : T(1);
    const T e = exp_(m > T(0) ? -m : m), s = T(1) / (T(1) + e);
    const T q = m > T(0) ? e * s : s;
    const T value = weight * (log_(T(1) + e) + (m > T(0) ? T(0) : -m));
    r[i] = -weight * y[i] * q;
    if (h) h[i] = weight * e * s * s;
    loss += static_cast<double>(value);
    total += static_cast<double>(r[i]);
  }
  sums[0] += loss;
  sums[1] += total;
}

template <class T>
double softmax(T* z, const i64* y, const T* c, i64 rows, i64 t, i64 ld, bool keep) {
  double loss = 0;
  for (i64 i = 0; i < rows; ++i) {
    T* __restrict row = z + i * ld;
    T top = row[0];
    for (i64 k = 1; k < t; ++k) top = row[k] > top ? row[k] : top;
    const T mine = row[y[i]] - top, weight = c ? c[i] : T(1);
    T s = 0;
#pragma omp simd reduction(+ : s)
    for (i64 k = 0; k < t; ++k) {
      row[k] = exp_(row[k] - top);
      s += row[k];
    }
    loss += static_cast<double>(weight * (log_(s) - mine));
    const T scale = weight / s;
#pragma omp simd
    for (i64 k = 0; k < t; ++k) row[k] *= scale;
    if (!keep) row[y[i]] -= weight;
  }
  return loss;
}
