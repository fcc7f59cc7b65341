// Products of packed strips, for matrices too narrow for a general gemm to run at speed.
// A strip holds three vectors of lanes (rows of X) for each of `depth` steps, strip[k][lane]; one
// register block is kBlock lanes of one strip against all lanes of another. Sums of squares take
// narrow strips of one vector (columns of a panel): kRows lanes of one against three whole ones, which
// stay in L1 while the others pass by.
// Included only by simd/loops.cpp, inside its anonymous namespace.

#if defined(__AVX512F__)
constexpr int kBlock = 8;  // 24 of 32 registers hold sums
#elif defined(__AVX2__)
constexpr int kBlock = 4;  // 12 of 16
#else
constexpr int kBlock = 3;
#endif

template <class T> constexpr i64 kLanes = kVectorBytes / i64(sizeof(T));
template <class T> constexpr i64 kStrip = 3 * kLanes<T>;
// lanes of a narrow strip in one register block: a divisor of kLanes
template <class T> constexpr int kRows = kBlock < kLanes<T> ? (kBlock < 4 ? 2 : kBlock) : kLanes<T>;

// sum[r] = sum_k a[k][r] * b[k][all lanes], r < kBlock
template <class T>
KG_INLINE void register_block(const T* a, const T* b, i64 depth,
                              typename Vector<T>::type (&sum)[kBlock][3]) {
  typedef typename Vector<T>::type V;
#pragma GCC unroll 8
  for (int r = 0; r < kBlock; ++r) sum[r][0] = sum[r][1] = sum[r][2] = V{};
  for (i64 k = 0; k < depth; ++k) {
    const V* at = reinterpret_cast<const V*>(b + k * kStrip<T>);
    const V b0 = at[0], b1 = at[1], b2 = at[2];
#pragma GCC unroll 8
    for (int r = 0; r < kBlock; ++r) {
      const V x = a[k * kStrip<T> + r] - V{};
      sum[r][0] += x * b0;
      sum[r][1] += x * b1;
      sum[r][2] += x * b2;
    }
  }
}

// out (lanes of a, lanes of all strips of b; ld) = alpha * a' b
template <class T>
void product(const T* a, const T* b, i64 depth, i64 strips, T alpha, T* out, i64 ld) {
  typedef typename Vector<T>::type V;
  for (i64 s = 0; s < strips; ++s)
    for (i64 r0 = 0; r0 < kStrip<T>; r0 += kBlock) {
      V sum[kBlock][3];
      register_block<T>(a + r0, b + s * depth * kStrip<T>, depth, sum);
#pragma GCC unroll 8
      for (int r = 0; r < kBlock; ++r) {
        V* o = reinterpret_cast<V*>(out + (r0 + r) * ld + s * kStrip<T>);
        o[0] = alpha * sum[r][0];
        o[1] = alpha * sum[r][1];
        o[2] = alpha * sum[r][2];
      }
    }
}

constexpr i64 kLine = 64;  // bytes that memory hands over at once

// Memory that will be read next, asked for while the processor multiplies.
struct Ahead {
  const char *at, *end;
};

// sum[r] += a[r] * b of one step; the strips of b lie `stride` vectors apart
template <class T, int rows, int parts>
KG_INLINE void block_step(const T* a, const typename Vector<T>::type* b, i64 stride,
                          typename Vector<T>::type (&sum)[rows][parts]) {
  typedef typename Vector<T>::type V;
  const V v0 = b[0], v1 = parts > 1 ? b[stride] : V{}, v2 = parts > 2 ? b[2 * stride] : V{};
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const V x = a[r] - V{};
    sum[r][0] += x * v0;
    if (parts > 1) sum[r][parts > 1] += x * v1;
    if (parts > 2) sum[r][parts > 2 ? 2 : 0] += x * v2;
  }
}

// S (rows, `parts` vectors; ld) += a' b, narrow strips; asks for a line ahead every four steps.
// A small block has two sets of sums, which take turns: a step would wait for the one before.
// Not inlined: with its kinds side by side in one loop the compiler keeps the sums in memory, at half
// the speed.
template <class T, int rows, int parts>
__attribute__((noinline)) void add_block(const T* a, const T* b, i64 depth, i64 stride,
                                         double* S, i64 ld, Ahead& ahead) {
  typedef typename Vector<T>::type V;
  constexpr i64 W = kLanes<T>;
  constexpr int turns = rows * parts < 8 ? 2 : 1;
  V sum[turns][rows][parts];
#pragma GCC unroll 2
  for (int t = 0; t < turns; ++t)
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
      for (int p = 0; p < parts; ++p) sum[t][r][p] = V{};
  const V* b0 = reinterpret_cast<const V*>(b);
  const char* line = ahead.at;
  const i64 onward = line < ahead.end ? kLine : 0;
  i64 k = 0;
  for (; k + 4 <= depth; k += 4, line += onward) {
    __builtin_prefetch(line, 0, 2);
#pragma GCC unroll 4
    for (i64 u = 0; u < 4; ++u)
      block_step<T, rows, parts>(a + (k + u) * W, b0 + k + u, stride, sum[u % turns]);
  }
  for (; k < depth; ++k) block_step<T, rows, parts>(a + k * W, b0 + k, stride, sum[0]);
  ahead.at = line;
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    if (turns > 1)
#pragma GCC unroll 3
      for (int p = 0; p < parts; ++p) sum[0][r][p] += sum[turns - 1][r][p];
    double* __restrict o = S + r * ld;
    const T* __restrict from = reinterpret_cast<const T*>(sum[0][r]);
#pragma omp simd
    for (i64 j = 0; j < parts * W; ++j) o[j] += static_cast<double>(from[j]);
  }
}

// The rows of one strip of S, from the diagonal down: blocks of `rows` rows from i to below `end`.
template <class T, int rows>
KG_INLINE void add_blocks(const T* z, i64 depth, i64 stride, i64 j, i64 i, i64 end, double* S,
                          i64 ld, Ahead& ahead) {
  constexpr i64 W = kLanes<T>;
  for (; i < end; i += rows) {
    const T *a = z + i / W * W * stride + i % W, *b = z + j * stride;
    const i64 needed = i + rows - j;  // columns j.. on or below the diagonal
    double* o = S + i * ld + j;
    if (needed <= W)
      add_block<T, rows, 1>(a, b, depth, stride, o, ld, ahead);
    else if (needed <= 2 * W)
      add_block<T, rows, 2>(a, b, depth, stride, o, ld, ahead);
    else
      add_block<T, rows, 3>(a, b, depth, stride, o, ld, ahead);
  }
}

// S (width, width; ld) += z' z on and below the diagonal (and a little above, to whole vectors), the
// strips of z with space for `stride` steps; meanwhile `bytes` from `next` on come into cache. The
// last rows, fewer than a block has, get a block of half or three quarters of the height.
template <class T>
void gram(const T* z, i64 depth, i64 stride, i64 width, double* S, i64 ld, const T* next,
          i64 bytes) {
  constexpr int R = kRows<T>, half = R / 2, most = R - R / 4;
  const char* from = reinterpret_cast<const char*>(bytes ? next : z);
  Ahead ahead{from, from + bytes};
  const i64 whole = width / R * R, rest = width - whole;
  for (i64 j = 0; j < width; j += kStrip<T>) {
    add_blocks<T, R>(z, depth, stride, j, j, rest > most ? width : whole, S, ld, ahead);
    const i64 last = j > whole ? j : whole;
    if (rest > most || last >= width) continue;
    if (rest <= half)
      add_blocks<T, half>(z, depth, stride, j, last, width, S, ld, ahead);
    else
      add_blocks<T, most>(z, depth, stride, j, last, width, S, ld, ahead);
  }
}

// S (wa, wb; ld) += a' b, all of it
template <class T>
void cross(const T* a, const T* b, i64 depth, i64 wa, i64 wb, double* S, i64 ld) {
  constexpr i64 W = kLanes<T>;
  const char* here = reinterpret_cast<const char*>(a);
  Ahead nothing{here, here};
  for (i64 j = 0; j < wb; j += kStrip<T>)
    for (i64 i = 0; i < wa; i += kRows<T>)
      add_block<T, kRows<T>, 3>(a + i / W * W * depth + i % W, b + j * depth, depth, depth,
                                S + i * ld + j, ld, nothing);
}

// Lanes are rows: out[strip][k][lane] = x[lane][k] - shift[k], zeros in the lanes beyond `rows`.
template <class T>
void pack_row_strips(const T* x, i64 rows, i64 depth, i64 rs, i64 cs, const T* shift, T* out) {
  for (i64 i0 = 0; i0 < rows; i0 += kStrip<T>, out += depth * kStrip<T>) {
    const i64 lanes = i0 + kStrip<T> < rows ? kStrip<T> : rows - i0;
    if (lanes < kStrip<T>)
      for (i64 k = 0; k < depth * kStrip<T>; ++k) out[k] = T(0);
    for (i64 i = 0; i < lanes; ++i) {
      const T* __restrict row = x + (i0 + i) * rs;
      T* __restrict o = out + i;
      if (shift)
        for (i64 k = 0; k < depth; ++k) o[k * kStrip<T>] = row[k * cs] - shift[k];
      else
        for (i64 k = 0; k < depth; ++k) o[k * kStrip<T>] = row[k * cs];
    }
  }
}

// out[lane] = sum_k strip[k][lane]^2, for all strips
template <class T> void strip_norms(const T* a, i64 depth, i64 strips, T* out) {
  for (i64 s = 0; s < strips; ++s, out += kStrip<T>) {
    T sum[kStrip<T>] = {};
    for (i64 k = 0; k < depth; ++k, a += kStrip<T>)
#pragma omp simd
      for (i64 i = 0; i < kStrip<T>; ++i) sum[i] += a[i] * a[i];
    for (i64 i = 0; i < kStrip<T>; ++i) out[i] = sum[i];
  }
}

// Lanes are columns, steps are rows: out[narrow strip][row][lane] = (x[row][col] - shift[col])
// scale[row] for the columns c0.. of a chunk of `rows` rows.
template <class T>
void pack_column_strips(const T* x, i64 rows, i64 cols, i64 rs, i64 cs, const T* shift,
                        const T* scale, T* out, i64 c0) {
  constexpr i64 W = kLanes<T>, together = 32 * W;  // as many strips as L1 has lines to spare
  i64 whole = 0;  // columns that fill strips, taken row by row
  if (cs == 1 && c0 % W == 0) {
    whole = cols / W * W;
    for (i64 first = 0; first < whole; first += together) {
      const i64 last = first + together < whole ? first + together : whole;
      for (i64 r = 0; r < rows; ++r) {
        const T* __restrict row = x + r * rs;
        const T s = scale ? scale[r] : T(1);
        T* __restrict o = out + (c0 + first) * rows + r * W;
        for (i64 c = first; c < last; c += W, o += W * rows)
          if (shift)
#pragma omp simd
            for (i64 j = 0; j < W; ++j) o[j] = (row[c + j] - shift[c + j]) * s;
          else
#pragma omp simd
            for (i64 j = 0; j < W; ++j) o[j] = row[c + j] * s;
      }
    }
  }
  for (i64 c = whole; c < cols; ++c) {  // the others one by one, strips apart
    const T* __restrict column = x + c * cs;
    T* __restrict o = out + (c0 + c) / W * W * rows + (c0 + c) % W;
    const T off = shift ? shift[c] : T(0);
    if (scale)
      for (i64 r = 0; r < rows; ++r) o[r * W] = (column[r * rs] - off) * scale[r];
    else
      for (i64 r = 0; r < rows; ++r) o[r * W] = column[r * rs] - off;
  }
}

// out[narrow strip][step][lane] = (x[rows[step]] - shift) * scale[rows[step]], strips `stride` steps
// apart. A line's columns of all rows are taken together: their loads overlap, the shift stays in
// registers and strips are written from end to end, which takes half the time of row after row.
template <class T>
void gather_strips(const T* x, const i64* rows, i64 count, i64 cols, i64 rs, i64 cs, const T* shift,
                   const T* scale, T* out, i64 stride) {
  typedef typename Vector<T>::type V;
  constexpr i64 W = kLanes<T>;
  const i64 whole = cs == 1 && !scale ? cols / (2 * W) * (2 * W) : 0;
  for (i64 c = 0; c < whole; c += 2 * W) {
    const V* own = reinterpret_cast<const V*>(shift + c);
    const V s0 = own[0], s1 = own[1];
    V *__restrict o0 = reinterpret_cast<V*>(out + c * stride), *__restrict o1 = o0 + stride;
    for (i64 i = 0; i < count; ++i) {
      const V* at = reinterpret_cast<const V*>(x + rows[i] * rs + c);
      o0[i] = at[0] - s0;
      o1[i] = at[1] - s1;
    }
  }
  for (i64 c = whole; c < cols; ++c) {
    T* __restrict o = out + c / W * W * stride + c % W;
    const T s = shift[c];
    for (i64 i = 0; i < count; ++i) {
      const T v = x[rows[i] * rs + c * cs] - s;
      o[i * W] = scale ? v * scale[rows[i]] : v;
    }
  }
}

// Rows of a chunk, one or two that become neighbours: out[narrow strip][row][lane] =
// (x[row][col] - shift[row][col]) * scale[row], strips `stride` steps apart. With `sums`,
// sums[row][col] += scale[row]^2 (x[row][col] - shift[row][col]).
template <class T, int rows, bool scaled>
KG_INLINE void put_some(const T* const* x, i64 cols, i64 cs, const T* const* shift, const T* scale,
                        T* out, i64 stride, double* const* sums) {
  typedef typename Vector<T>::type V;
  constexpr i64 W = kLanes<T>;
  const i64 whole = cs == 1 ? cols / W * W : 0;
  const T *__restrict x0 = x[0], *__restrict x1 = x[rows - 1];
  const T *__restrict shift0 = shift[0], *__restrict shift1 = shift[rows - 1];
  const T s0 = scaled ? scale[0] : T(1), s1 = scaled ? scale[rows - 1] : T(1);
  double *sums0 = sums ? sums[0] : nullptr, *sums1 = sums ? sums[rows - 1] : nullptr;
  const auto add = [](double* to, const V& v, T s) __attribute__((always_inline)) {
#pragma omp simd
    for (i64 j = 0; j < W; ++j) to[j] += static_cast<double>(s) * static_cast<double>(v[j]);
  };
  for (i64 c = 0; c < whole; c += W, out += W * stride) {
    V v0 = *reinterpret_cast<const V*>(x0 + c) - *reinterpret_cast<const V*>(shift0 + c);
    if (scaled) v0 *= s0;
    reinterpret_cast<V*>(out)[0] = v0;
    if (sums) add(sums0 + c, v0, s0);
    if (rows < 2) continue;
    V v1 = *reinterpret_cast<const V*>(x1 + c) - *reinterpret_cast<const V*>(shift1 + c);
    if (scaled) v1 *= s1;
    reinterpret_cast<V*>(out)[1] = v1;
    if (sums) add(sums1 + c, v1, s1);
  }
  const i64 step = W * (whole ? 1 : stride);  // the remainder fills no strip
  for (int r = 0; r < rows; ++r) {
    const T s = scaled ? scale[r] : T(1);
    for (i64 c = whole; c < cols; ++c) {
      const T v = (x[r][c * cs] - shift[r][c]) * s;
      if (sums) sums[r][c] += static_cast<double>(s) * static_cast<double>(v);
      out[(c - whole) / W * step + r * W + c % W] = v;
    }
  }
}

template <class T>
void put_rows(const T* const* x, i64 rows, i64 cols, i64 cs, const T* const* shift, const T* scale,
              T* out, i64 stride, double* const* sums) {
  if (rows == 2 && !scale)
    put_some<T, 2, false>(x, cols, cs, shift, scale, out, stride, sums);
  else if (rows == 2)
    put_some<T, 2, true>(x, cols, cs, shift, scale, out, stride, sums);
  else if (!scale)
    put_some<T, 1, false>(x, cols, cs, shift, scale, out, stride, sums);
  else
    put_some<T, 1, true>(x, cols, cs, shift, scale, out, stride, sums);
}
