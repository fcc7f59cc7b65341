// Densities and sums of components with diagonal covariances.
// Included only by mixture/loops.cpp, inside its anonymous namespace.

// Six vectors of rows side by side: as many sums as multiply-adds take to come back.
template <class T>
void density_diagonal(const T* x, i64 ld, i64 rows, i64 d, const T* mean, const T* scale, T constant,
                      T* out) {
  typedef typename Lanes<T>::type V;
  constexpr i64 W = kLanes<T>;
  for (i64 r = 0; r < rows; r += 6 * W) {
    V q[6] = {V{}, V{}, V{}, V{}, V{}, V{}};
    for (i64 k = 0; k < d; ++k) {
      const V m = V{} + mean[k], s = V{} + scale[k];
#pragma GCC unroll 6
      for (int v = 0; v < 6; ++v) {
        const V y = (at(x + k * ld + r + v * W) - m) * s;
        q[v] += y * y;
      }
    }
    T* to = out + r;
#pragma GCC unroll 6
    for (int v = 0; v < 6; ++v) *reinterpret_cast<V*>(to + v * W) = q[v];
#pragma omp simd
    for (i64 l = 0; l < 6 * W; ++l) to[l] = within(constant - to[l] / 2);
  }
}

// first and second (count) += sums of r z and r z^2 of `count` columns side by side
template <class T, int count>
__attribute__((noinline)) void add_moments(const T* __restrict x, i64 ld, i64 rows, const T* mean,
                                           const T* __restrict r, double* first, double* second) {
  constexpr i64 W = kLanes<T>;
  typedef typename Lanes<T>::type V;
  V one[count], two[count], m[count];
#pragma GCC unroll 4
  for (int c = 0; c < count; ++c) one[c] = two[c] = V{}, m[c] = V{} + mean[c];
  for (i64 i = 0; i < rows; i += W) {
    const V part = at(r + i);
#pragma GCC unroll 4
    for (int c = 0; c < count; ++c) {
      const V z = at(x + c * ld + i) - m[c], u = z * part;
      one[c] += u;
      two[c] += u * z;
    }
  }
  for (int c = 0; c < count; ++c) {
    first[c] += add_lanes<T>(reinterpret_cast<const T*>(&one[c]));
    second[c] += add_lanes<T>(reinterpret_cast<const T*>(&two[c]));
  }
}

template <class T>
void powers(const T* x, i64 ld, i64 rows, i64 d, const T* mean, const T* r, double* S) {
  double *first = S + 1, *second = S + 1 + d;
  S[0] += total<T>(r, rows);
  i64 k = 0;
  for (; k + 4 <= d; k += 4)
    add_moments<T, 4>(x + k * ld, ld, rows, mean + k, r, first + k, second + k);
  for (; k < d; ++k)
    add_moments<T, 1>(x + k * ld, ld, rows, mean + k, r, first + k, second + k);
}
