// The loops of support vector machines, one table per instruction set as in simd/loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

// min 1/2 b'(K + diag(s)) b - t'b  subject to  sum b fixed, lower <= b <= upper,
// with f = (K + diag(s)) b - t: all arrays of q entries, K (q, q) symmetric.
template <class S> struct PairProblem {
  const S* K;
  std::int64_t q;
  const double *s, *lower, *upper;
  double *f, *b;     // in and out
  double* work;      // 4 q numbers
};

struct PairResult {
  std::int64_t steps;
  double violation;
};

// Rows of zeros and ones, `words` words of 64 each; h is the bits in which two rows differ, or share.
struct BitProblem {
  const std::uint64_t *A, *B;  // (m, words) and (n, words)
  std::int64_t m, n, words;
  bool differing;
};

struct SmoLoops {
  // steps on the pair that promises most, until max f over low - min f over up <= tol
  PairResult (*pairs_f32)(const PairProblem<float>& problem, double tol, std::int64_t max_steps);
  PairResult (*pairs_f64)(const PairProblem<double>& problem, double tol, std::int64_t max_steps);
  // g (cols) += sum_i delta[i] rows[i]
  void (*add_f32)(const float* const* rows, const double* delta, std::int64_t m, std::int64_t cols,
                  double* g);
  void (*add_f64)(const double* const* rows, const double* delta, std::int64_t m, std::int64_t cols,
                  double* g);
  // g (n) += sum_i delta[i] table[h(A_i, B_j)]
  void (*add_bits)(const BitProblem& problem, const double* delta, const double* table, double* g);
  // out (m, n; ld) = table[h(A_i, B_j)]
  void (*bits_f32)(const BitProblem& problem, const float* table, float* out, std::int64_t ld);
  void (*bits_f64)(const BitProblem& problem, const double* table, double* out, std::int64_t ld);
  // out = in, rounded
  void (*narrow)(const double* in, float* out, std::int64_t cols);
  // <x, w>, and w += delta x
  double (*dot_f32)(const float* x, const double* w, std::int64_t d);
  double (*dot_f64)(const double* x, const double* w, std::int64_t d);
  void (*step_f32)(const float* x, double delta, std::int64_t d, double* w);
  void (*step_f64)(const double* x, double delta, std::int64_t d, double* w);
};

const SmoLoops& smo_loops();

}  // namespace kg
