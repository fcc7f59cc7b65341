// Block SMO, before Python: raw buffers in, raw buffers out.
#pragma once
#include "svm/loops.hpp"
#include "common/rows.hpp"
#include "kernels/tile.hpp"

namespace kg {

// g (n) += sum_i delta[i] K(A_i, X) for new rows A (m, d), and + sum_i old_delta[i] cache[old[i]].
// New rows with slot[i] >= 0 are also kept, rounded to S, in cache[slot[i]].
template <class T, class S>
void smo_gradient(const Spec& spec, const Rows<T>& X, const Rows<T>& A, const i64* slot,
                  const double* delta, S* cache, i64 ld, const i64* old, const double* old_delta,
                  i64 m_old, double* g, int threads);

// g (n) += sum_i delta[i] cache[slot[i]]
template <class S>
void smo_add(const S* cache, i64 n, i64 ld, const i64* slot, const double* delta, i64 m, double* g,
             int threads);

// out (q, q) = K[at, at], where row i of K is cache[slot[i]] (ld columns); the rows with slot -1 are
// taken from the others by symmetry, and among themselves from made, (m, m) in their order.
template <class S>
void smo_square(const S* cache, i64 ld, const i64* slot, const i64* at, i64 q, const S* made, S* out,
                int threads);

// g (n) += sum_i delta[i] table[h(A_i, B_j)], and out (q, q) = table[h(B_i, B_j)], of rows of bits.
void smo_add_bits(const BitProblem& P, const double* delta, const double* table, double* g,
                  int threads);
template <class S> void smo_bit_square(const BitProblem& P, const S* table, S* out, int threads);

// The variables of a block problem; point[i] is the row of X that variable i stands on.
struct Variables {
  i64 m;
  const i64* point;
  const double *t, *s, *lower, *upper, *b, *g;
};

// f = g[point] + s b - t; the `ask` worst violators not yet `kept`, half from either end, into
// `chosen`; returns how many. extremes = {min f over up, max f over low}.
i64 smo_select(const Variables& v, const unsigned char* kept, i64 ask, double* f, i64* chosen,
               double* extremes);

}  // namespace kg
