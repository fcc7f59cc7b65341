// The elementwise loops, one table of functions per instruction set and type.
// simd/loops.cpp is compiled once per instruction set, each time in its own namespace; `loops<T>()`
// returns the table chosen at run time. Only plain data and function pointers cross this border,
// so no inline function compiled for AVX-512 can be picked by the linker for an older machine.
#pragma once
#include <cstdint>

namespace kg {

// Centres with which the loops of k-means compare a strip of rows at a time: with three vectors of
// rows twelve sums, as many as the registers of AVX2 leave room for.
constexpr std::int64_t kBlockCentres = 4;

// How a tile of inner products or distances becomes a tile of kernel values.
enum Kind : int {
  kLinear,
  kPolynomial,
  kGaussian,
  kLaplacian,
  kMatern12,
  kMatern32,
  kMatern52,
  kRationalQuadratic,
  kChi2,
  kAllSubsets
};

template <class T> struct Loops {
  // Strips: `strip` lanes side by side for each step, strip[k][lane]; see simd/loops_product.hpp.
  std::int64_t strip;
  // out[strip][k][lane] = x[lane][k] - shift[k]; lanes are rows, zeros beyond the last row
  void (*pack_row_strips)(const T* x, std::int64_t rows, std::int64_t depth, std::int64_t rs,
                          std::int64_t cs, const T* shift, T* out);
  // narrow strips: out[strip][row][lane] = (x[row][col] - shift[col]) * scale[row]; lanes are
  // columns c0..
  void (*pack_column_strips)(const T* x, std::int64_t rows, std::int64_t cols, std::int64_t rs,
                             std::int64_t cs, const T* shift, const T* scale, T* out,
                             std::int64_t c0);
  // out[lane] = sum_k strip[k][lane]^2
  void (*strip_norms)(const T* a, std::int64_t depth, std::int64_t strips, T* out);
  // out (strip, strips * strip; ld) = alpha a' b, one strip against several
  void (*product)(const T* a, const T* b, std::int64_t depth, std::int64_t strips, T alpha, T* out,
                  std::int64_t ld);
  // S (width, width; ld) += z' z, on and below the diagonal; ld and the rows of S hold whole strips.
  // The strips of z have space for `stride` >= depth steps. Meanwhile the `bytes` from `next` on are
  // brought into cache; 0 for none.
  void (*gram)(const T* z, std::int64_t depth, std::int64_t stride, std::int64_t width, double* S,
               std::int64_t ld, const T* next, std::int64_t bytes);
  // one row or two into neighbouring steps of narrow strips of `stride` steps: out[strip][row][lane]
  // = (x[row][col] - shift[row][col]) * scale[row]; with `sums`, sums[row][col] += scale[row]^2
  // (x[row][col] - shift[row][col]). scale and sums may be null.
  void (*put_rows)(const T* const* x, std::int64_t rows, std::int64_t cols, std::int64_t cs,
                   const T* const* shift, const T* scale, T* out, std::int64_t stride,
                   double* const* sums);
  // rows of x, by their numbers, into the steps of narrow strips of `stride` steps:
  // out[strip][step][lane] = (x[rows[step]] - shift) * scale[rows[step]]; scale may be null
  void (*gather_strips)(const T* x, const std::int64_t* rows, std::int64_t count, std::int64_t cols,
                        std::int64_t rs, std::int64_t cs, const T* shift, const T* scale, T* out,
                        std::int64_t stride);
  // S (wa, wb; ld) += a' b, strips of two chunks
  void (*cross)(const T* a, const T* b, std::int64_t depth, std::int64_t wa, std::int64_t wb,
                double* S, std::int64_t ld);
  // out (rows, cols; ldo) = (x - shift) * scale[row]; shift and scale may be null; x has any strides
  void (*pack)(const T* x, std::int64_t rows, std::int64_t cols, std::int64_t rs, std::int64_t cs,
               const T* shift, const T* scale, T* out, std::int64_t ldo);
  // out (cols, rows; ldo) = (x - shift)'
  void (*pack_t)(const T* x, std::int64_t rows, std::int64_t cols, std::int64_t rs, std::int64_t cs,
                 const T* shift, T* out, std::int64_t ldo);
  // out[i] += |a_i|^2
  void (*add_norms)(const T* a, std::int64_t rows, std::int64_t cols, std::int64_t ld, T* out);
  // tile (holding <x,y>, or -2<x,y> for distance kernels, or the direct sums) -> kernel values in
  // out, which may be the tile itself
  void (*map)(int kind, const T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld,
              const T* xn, const T* yn, const double* params, T* out, std::int64_t ldo);
  // tile (+)= sum_k |a_ik - b_kj| (Laplacian), chi2 terms, or tile *= prod_k (1 + a_ik b_kj)
  void (*direct)(int kind, const T* a, std::int64_t lda, const T* bt, std::int64_t ldb,
                 std::int64_t rows, std::int64_t cols, std::int64_t d, T* tile, std::int64_t ld);
  // tile = scale * cos(tile + b), b may be null
  void (*cosine)(T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld, const T* b,
                 T scale);
  // out (cols, rows; ldo) = tile'
  void (*transpose)(const T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld, T* out,
                    std::int64_t ldo);
  // sum (rows, cols; lds) += tile
  void (*add)(const T* tile, std::int64_t rows, std::int64_t cols, std::int64_t ld, double* sum,
              std::int64_t lds);
  // sums += w v, squares += w v^2 for v = x - shift, one row; shift and squares may be null.
  // With `seen`, NaN are left out and seen += w for the others.
  void (*add_powers)(const T* x, std::int64_t cols, std::int64_t cs, const T* shift, T w,
                     double* sums, double* squares, double* seen);
  // Counts of one row, see simd/loops_counts.hpp.
  void (*add_counts)(const T* x, std::int64_t cols, std::int64_t cs, T w, double* sums, T* low);
  void (*add_presence)(const T* x, std::int64_t cols, std::int64_t cs, T threshold, T w,
                       double* yes, double* seen);
  void (*column_ranges)(const T* x, std::int64_t cols, std::int64_t cs, T most, T* low, T* high,
                        T* odd);
  void (*add_categories)(const T* x, std::int64_t cols, std::int64_t cs,
                         const std::int64_t* offsets, const T* sizes, T w, double* sums);
  // z[i] = <x_i, w> + b
  void (*row_dots)(const T* x, std::int64_t rows, std::int64_t cols, std::int64_t rs,
                   std::int64_t cs, const T* w, T b, T* z);
  // g[k] += sum_i r[i] x[i][k]; `part` is space for cols values
  void (*add_rows)(const T* x, std::int64_t rows, std::int64_t cols, std::int64_t rs,
                   std::int64_t cs, const T* r, T* part, double* g);
  // margins z of labels y = +-1, weights c (null: 1): r = dloss/dz, h = its curvature (may be null);
  // sums[0] += loss, sums[1] += r
  void (*logistic)(const T* z, const T* y, const T* c, std::int64_t rows, T* r, T* h,
                   double* sums);
  // z (rows, t; ld), codes y in 0..t-1: z <- c (softmax(z) - onehot(y)), or c softmax(z) if `keep`;
  // returns the loss
  double (*softmax)(T* z, const std::int64_t* y, const T* c, std::int64_t rows, std::int64_t t,
                    std::int64_t ld, bool keep);
  // out (rows, t; ldo) += a b with a[r * ar + k * ak], b (depth, t; ldb), t in whole vectors of `lanes`
  std::int64_t lanes;
  void (*thin)(const T* a, std::int64_t ar, std::int64_t ak, std::int64_t rows, std::int64_t depth,
               const T* b, std::int64_t ldb, std::int64_t t, T* out, std::int64_t ldo);
  // Rows of the lower half of a symmetric matrix, used as rows and as columns; see simd/loops_half.hpp.
  void (*half_rows)(const T* K, std::int64_t ld, std::int64_t rows, std::int64_t cols, const T* v,
                    T* y, const T* x, T* sum);
  // Strips of one vector of lanes, for a Cholesky factor; see simd/loops_factor.hpp.
  std::int64_t factor_steps;  // most steps of a strip
  void (*pack_lanes)(const T* x, std::int64_t rows, std::int64_t depth, std::int64_t ld, T* out);
  // B (rows, w; ld) := B L'^-1 with L (w, w; ld) lower
  void (*solve_lanes)(const T* L, std::int64_t w, T* B, std::int64_t rows, std::int64_t ld);
  // rows r0..r1 of C (r1, columns; ld) -= P P', where column <= row
  void (*subtract_rows)(const T* P, std::int64_t depth, std::int64_t r0, std::int64_t r1,
                        std::int64_t columns, T* C, std::int64_t ld);
  // The nearest centres, see simd/loops_nearest.hpp: `four` centres in one packed block.
  // centres (count <= four, depth) -> out[k][four] and half their squares
  void (*pack_four)(const T* c, std::int64_t count, std::int64_t depth, T* out, T* half);
  // index[lane] = the nearest of the blocks of centres listed, for one strip of pack_lanes
  void (*nearest)(const T* strips, std::int64_t depth, const T* centres, const T* half,
                  const std::int32_t* listed, std::int64_t count, std::int32_t* index);
  // out[four][lane] (ld) = |c|^2 / 2 - <x, c>
  void (*half_distances)(const T* strips, std::int64_t depth, const T* centres, const T* half,
                         T* out, std::int64_t ld);
  // the two nearest of `blocks` of four centres, own[lane] left out: their distances from below,
  // and the place of the first; norm[lane] are |x|^2
  void (*two_nearest)(const T* strips, std::int64_t depth, const T* centres, const T* half,
                      std::int64_t blocks, const std::int32_t* own, const T* norm, T slack,
                      T* first, T* second, std::int32_t* at);
  // the least of lower[g] - drift[g], at most 64 of them, and a bit for each not above `reach`
  T (*least_bound)(const T* lower, const T* drift, std::int64_t count, T reach,
                   std::uint64_t* needed);
  T (*squared_distance)(const T* x, const T* c, std::int64_t depth);
  // sum += w x
  void (*add_row)(const T* x, std::int64_t depth, T w, double* sum);
  // strips[k][lane] -= shift[k], one strip of pack_lanes
  void (*shift_lanes)(T* strips, std::int64_t depth, const T* shift);
  // One point against panels of `panel` rows, and searches along a row; see simd/loops_linkage.hpp.
  std::int64_t panel;
  void (*panel_distances)(const T* panels, std::int64_t depth, std::int64_t count, const T* c,
                          T* out);
  std::int64_t (*row_min)(const T* v, std::int64_t n);
  void (*ward_scale)(T* v, const T* size, T mine, std::int64_t n);
  void (*relax)(const T* v, std::int64_t n, std::int32_t mark, T* near, std::int32_t* from);
  std::int64_t (*places_below)(const T* v, const T* bound, std::int64_t n, std::int32_t* at);
  double (*gain_over)(const T* v, const T* near, const T* w, std::int64_t n);
  // y = exp(x), y = cos(x), y = log(x): the vectorised functions themselves, for the tests
  void (*exp)(const T* x, T* y, std::int64_t n);
  void (*cos)(const T* x, T* y, std::int64_t n);
  void (*log)(const T* x, T* y, std::int64_t n);
};

template <class T> const Loops<T>& loops();

const char* simd_level();
void set_simd_level(const char* name);  // throws std::invalid_argument

}  // namespace kg
