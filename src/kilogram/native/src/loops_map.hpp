// From a tile of inner products or distances to a tile of kernel values.
// Included only by loops.cpp, inside its anonymous namespace.

KG_INLINE double sqrt_(double x) { return __builtin_sqrt(x); }
KG_INLINE float sqrt_(float x) { return __builtin_sqrtf(x); }

// f of the squared distance, clipped at 0 (the expansion cancels for near points); NaN passes.
template <class T, class F>
void map_distance(T* tile, i64 rows, i64 cols, i64 ld, const T* xn, const T* yn, F f) {
  for (i64 i = 0; i < rows; ++i) {
    T* __restrict row = tile + i * ld;
    const T x = xn[i];
#pragma omp simd
    for (i64 j = 0; j < cols; ++j) {
      T t = row[j] + (x + yn[j]);
      t = t < T(0) ? T(0) : t;
      row[j] = f(t);
    }
  }
}

template <class T, class F> void map_value(T* tile, i64 rows, i64 cols, i64 ld, F f) {
  for (i64 i = 0; i < rows; ++i) {
    T* __restrict row = tile + i * ld;
#pragma omp simd
    for (i64 j = 0; j < cols; ++j) row[j] = f(row[j]);
  }
}

// x^p for a whole number p >= 0, by squaring; p is the same for all lanes, so the loop vectorises.
template <class T> KG_INLINE T power(T x, int p) {
  T y = 1;
  for (; p; p >>= 1) {
    y = (p & 1) ? y * x : y;
    x = x * x;
  }
  return y;
}

template <class T>
void map_polynomial(T* tile, i64 rows, i64 cols, i64 ld, double gamma_, double coef_, double deg) {
  const T gamma = static_cast<T>(gamma_), coef = static_cast<T>(coef_);
  const int p = deg >= 0 && deg <= 64 ? static_cast<int>(deg) : -1;
  if (p < 0 || p != deg) {
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < cols; ++j) {
        T& v = tile[i * ld + j];
        v = static_cast<T>(pow(gamma_ * static_cast<double>(v) + coef_, deg));
      }
    return;
  }
  switch (p) {
    case 1: return map_value(tile, rows, cols, ld, [=](T v) { return gamma * v + coef; });
    case 2:
      return map_value(tile, rows, cols, ld, [=](T v) { const T u = gamma * v + coef; return u * u; });
    case 3:
      return map_value(tile, rows, cols, ld,
                       [=](T v) { const T u = gamma * v + coef; return u * u * u; });
    default:
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < cols; ++j) {
          T& v = tile[i * ld + j];
          v = power(gamma * v + coef, p);
        }
  }
}

template <class T>
void map(int kind, T* tile, i64 rows, i64 cols, i64 ld, const T* xn, const T* yn,
         const double* params) {
  const double p0 = params[0], p1 = params[1];
  switch (kind) {
    case kPolynomial:
      return map_polynomial(tile, rows, cols, ld, p0, p1, params[2]);
    case kGaussian: {
      const T g = static_cast<T>(-p0);
      return map_distance(tile, rows, cols, ld, xn, yn, [=](T t) { return exp_(g * t); });
    }
    case kLaplacian:
    case kChi2: {
      const T g = static_cast<T>(-p0);
      return map_value(tile, rows, cols, ld, [=](T t) { return exp_(g * t); });
    }
    case kMatern12: {
      const T c = static_cast<T>(1.0 / (p0 * p0));
      return map_distance(tile, rows, cols, ld, xn, yn, [=](T t) { return exp_(-sqrt_(c * t)); });
    }
    case kMatern32: {
      const T c = static_cast<T>(3.0 / (p0 * p0));
      return map_distance(tile, rows, cols, ld, xn, yn, [=](T t) {
        const T s = sqrt_(c * t);
        return (T(1) + s) * exp_(-s);
      });
    }
    case kMatern52: {
      const T c = static_cast<T>(5.0 / (p0 * p0));
      return map_distance(tile, rows, cols, ld, xn, yn, [=](T t) {
        const T u = c * t, s = sqrt_(u);
        return (T(1) + s + u * T(1.0 / 3.0)) * exp_(-s);
      });
    }
    case kRationalQuadratic: {
      const T c = static_cast<T>(1.0 / (2.0 * p1 * p0 * p0)), a = static_cast<T>(-p1);
      if (p1 == 1.0)
        return map_distance(tile, rows, cols, ld, xn, yn,
                            [=](T t) { return T(1) / (T(1) + c * t); });
      return map_distance(tile, rows, cols, ld, xn, yn,
                          [=](T t) { return exp_(a * log_(T(1) + c * t)); });
    }
    default: return;  // linear, all subsets: the tile already holds the values
  }
}
