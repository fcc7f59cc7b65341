// Anderson extrapolation of coordinate descent from its last iterates.
#pragma once
#include "common/rows.hpp"

#include <vector>

namespace kg {

// Keeps pairs b (m) and h (k), where h is an affine function of b, and combines them with weights of
// sum 1 that make the combined step of least length.
class Extrapolation {
 public:
  Extrapolation(i64 m, i64 k) : m_(m), k_(k) {}
  // Keeps a pair; true where enough were kept and b() and h() are an extrapolation.
  bool add(const double* b, const double* h);
  void clear() { count_ = 0; }
  const double* b() const { return at(b_, kSteps + 1, m_); }
  const double* h() const { return at(h_, kSteps + 1, k_); }

 private:
  static constexpr int kSteps = 5;  // iterates that are combined
  const double* at(const std::vector<double>& a, int i, i64 size) const { return a.data() + i * size; }
  bool combine();

  i64 m_, k_;
  int count_ = 0;
  std::vector<double> b_, h_;  // kSteps + 1 iterates and their combination
};

}  // namespace kg
