// From a tile of inner products or distances to a tile of kernel values.
// Included only by simd/loops.cpp, inside its anonymous namespace.

KG_INLINE double sqrt_(double x) { return __builtin_sqrt(x); }
KG_INLINE float sqrt_(float x) { return __builtin_sqrtf(x); }

// A tile and where its kernel values go; out may be the tile itself.
template <class T> struct Map {
  const T* tile;
  i64 rows, cols, ld;
  const T *xn, *yn;
  T* out;
  i64 ldo;
};

// f of the squared distance, clipped at 0 (the expansion cancels for near points); NaN passes.
template <class T, class F>
void map_distance(const Map<T>& m, F f) {
  for (i64 i = 0; i < m.rows; ++i) {
    const T *row = m.tile + i * m.ld, *yn = m.yn;
    T* out = m.out + i * m.ldo;
    const T x = m.xn[i];
#pragma omp simd
    for (i64 j = 0; j < m.cols; ++j) {
      T t = row[j] + (x + yn[j]);
      t = t < T(0) ? T(0) : t;
      out[j] = f(t);
    }
  }
}

template <class T, class F> void map_value(const Map<T>& m, F f) {
  for (i64 i = 0; i < m.rows; ++i) {
    const T* row = m.tile + i * m.ld;
    T* out = m.out + i * m.ldo;
#pragma omp simd
    for (i64 j = 0; j < m.cols; ++j) out[j] = f(row[j]);
  }
}

// x^p for a whole number p >= 0, by squaring. With p fixed the compiler unrolls it; the common
// degrees are, so that their loops vectorise.
template <class T> KG_INLINE T power(T x, int p) {
  T y = 1;
  for (; p; p >>= 1) {
    y = (p & 1) ? y * x : y;
    x = x * x;
  }
  return y;
}
template <class T, int p> KG_INLINE T power(T x) {
  if constexpr (p == 1)
    return x;
  else if constexpr (p % 2)
    return x * power<T, p - 1>(x);
  else
    return power<T, p / 2>(x * x);
}

template <class T> void map_polynomial(const Map<T>& m, double gamma_, double coef_, double deg) {
  const T gamma = static_cast<T>(gamma_), coef = static_cast<T>(coef_);
  const int p = deg >= 0 && deg <= 64 ? static_cast<int>(deg) : -1;
  if (p < 0 || p != deg) {  // a broken or negative power, element by element
    for (i64 i = 0; i < m.rows; ++i)
      for (i64 j = 0; j < m.cols; ++j)
        m.out[i * m.ldo + j] =
            static_cast<T>(pow(gamma_ * static_cast<double>(m.tile[i * m.ld + j]) + coef_, deg));
    return;
  }
  switch (p) {
    case 1: return map_value(m, [=](T v) { return gamma * v + coef; });
    case 2: return map_value(m, [=](T v) { return power<T, 2>(gamma * v + coef); });
    case 3: return map_value(m, [=](T v) { return power<T, 3>(gamma * v + coef); });
    case 4: return map_value(m, [=](T v) { return power<T, 4>(gamma * v + coef); });
    case 5: return map_value(m, [=](T v) { return power<T, 5>(gamma * v + coef); });
    default: return map_value(m, [=](T v) { return power(gamma * v + coef, p); });
  }
}

// A rate as a finite number of type T: infinity times the distance 0 would be NaN on the diagonal.
template <class T> T rate(double value) {
  constexpr double most = sizeof(T) == 4 ? 3.4e38 : 1.7e308;
  return static_cast<T>(value > most ? most : value < -most ? -most : value);
}

// Beyond this the Matern kernel is 0 in every type; infinity times 0 would be NaN. NaN passes.
template <class T> T capped(T u) { return u > T(1e6) ? T(1e6) : u; }

template <class T> void map_matern(const Map<T>& m, int kind, double scale) {
  if (kind == kMatern12) {
    const T c = rate<T>(1.0 / (scale * scale));
    return map_distance(m, [=](T t) { return exp_(-sqrt_(capped(c * t))); });
  }
  if (kind == kMatern32) {
    const T c = rate<T>(3.0 / (scale * scale));
    return map_distance(m, [=](T t) {
      const T s = sqrt_(capped(c * t));
      return (T(1) + s) * exp_(-s);
    });
  }
  const T c = rate<T>(5.0 / (scale * scale));
  map_distance(m, [=](T t) {
    const T u = capped(c * t), s = sqrt_(u);
    return (T(1) + s + u * T(1.0 / 3.0)) * exp_(-s);
  });
}

template <class T> void map_rational(const Map<T>& m, double scale, double alpha) {
  const T c = rate<T>(1.0 / (2.0 * alpha * scale * scale)), a = static_cast<T>(-alpha);
  if (alpha == 1.0) return map_distance(m, [=](T t) { return T(1) / (T(1) + c * t); });
  map_distance(m, [=](T t) { return exp_(a * log_(T(1) + c * t)); });
}

template <class T>
void map(int kind, const T* tile, i64 rows, i64 cols, i64 ld, const T* xn, const T* yn,
         const double* params, T* out, i64 ldo) {
  const Map<T> m{tile, rows, cols, ld, xn, yn, out, ldo};
  const T g = rate<T>(-params[0]);
  switch (kind) {
    case kPolynomial: return map_polynomial(m, params[0], params[1], params[2]);
    case kGaussian: return map_distance(m, [=](T t) { return exp_(g * t); });
    case kLaplacian:
    case kChi2: return map_value(m, [=](T t) { return exp_(g * t); });
    case kMatern12:
    case kMatern32:
    case kMatern52: return map_matern(m, kind, params[0]);
    case kRationalQuadratic: return map_rational(m, params[0], params[1]);
    default:  // linear, all subsets: the tile holds the values already
      if (tile != out) map_value(m, [](T t) { return t; });
  }
}
