// Rounds of mergers over a stored matrix: every two clusters that are each other's nearest are merged
// at once, and the matrix of what is left is written over the old one in one reading of it. Linkages
// that never bring a union nearer to a third cluster than both its parts were grow the same tree so.
#pragma once
#include "linkage/matrix.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <omp.h>
#include <vector>

namespace kg {

// Slots a and b of the old matrix, which are merged; b == a: a stays alone
struct Union {
  i64 a, b;
};

template <class T> void nearest_slots(const Square<T>& square, std::vector<i64>& near, int threads) {
  near.resize(square.m);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 i = 0; i < square.m; ++i) near[i] = loops<T>().row_min(square.row(i), square.m);
}

inline std::vector<Union> united(const std::vector<i64>& near) {
  std::vector<Union> all;
  for (i64 i = 0; i < i64(near.size()); ++i) {
    const bool mutual = near[near[i]] == i && near[i] != i;
    if (!mutual || i < near[i]) all.push_back({i, mutual ? near[i] : i});
  }
  return all;
}

// One round: the square of m slots becomes that of the unions, sizes theirs.
template <class T, Linkage linkage> class Round {
 public:
  Round(Square<T>& square, std::vector<T>& size, const std::vector<Union>& all)
      : square_(square), size_(size), all_(all), k_(all.size()), apart_(k_) {
    for (i64 q = 0; q < k_; ++q) apart_[q] = square.row(all[q].a)[all[q].b];
  }

  // near becomes the nearest of every union
  void run(std::vector<i64>& near, int threads) {
    const Scratch<T> fresh(kRows, k_), buffers(threads, square_.m);
    T* D = square_.row(0);
    near.resize(k_);
    for (i64 first = 0; first < k_; first += kRows) {
      const i64 last = std::min(first + kRows, k_);
#pragma omp parallel num_threads(threads)
      {
#pragma omp for schedule(dynamic, 4)
        for (i64 p = first; p < last; ++p)
          beyond(p, buffers.block(omp_get_thread_num()), fresh.block(p - first));
#pragma omp for schedule(static)
        for (i64 q = 0; q < last; q += kRows) mirror(D, first, last, q, fresh);
#pragma omp for schedule(static)
        for (i64 p = first; p < last; ++p) {  // where rows of the old matrix lay that are done with
          const T* row = fresh.block(p - first);
          std::copy(row, row + k_, D + p * k_);
          near[p] = loops<T>().row_min(row, k_);
        }
      }
    }
    settle();
  }

 private:
  static constexpr i64 kRows = 64;  // of the new matrix at a time

  // the distances of union p from those after it
  void beyond(i64 p, T* buffer, T* out) const {
    const auto [a, b] = all_[p];
    const T* row = square_.row(a);
    T own = size_[a];
    if (b != a) {
      const T* other = square_.row(b);
      const T sa = size_[a], sb = size_[b], ab = apart_[p];
      for (i64 k = a; k < square_.m; ++k)
        buffer[k] = lance_williams<linkage>(row[k], other[k], sa, sb, ab, size_[k]);
      own += sb;
      row = buffer;
    }
    out[p] = kFar<T>;
    for (i64 q = p + 1; q < k_; ++q) {
      const auto [c, d] = all_[q];
      out[q] = d == c ? row[c]
                      : lance_williams<linkage>(row[c], row[d], size_[c], size_[d], apart_[q], own);
    }
  }

  // columns q.. of the new rows first .. last, from the rows above them
  void mirror(const T* D, i64 first, i64 last, i64 q, const Scratch<T>& fresh) const {
    for (i64 j = q; j < std::min(q + kRows, last); ++j) {
      const T* above = j < first ? D + j * k_ : fresh.block(j - first);
      for (i64 p = std::max(first, j + 1); p < last; ++p) fresh.block(p - first)[j] = above[p];
    }
  }

  void settle() {
    for (i64 q = 0; q < k_; ++q) {
      const auto [a, b] = all_[q];
      size_[q] = b == a ? size_[a] : size_[a] + size_[b];
      square_.name[q] = square_.name[a];
    }
    square_.became(k_);
  }

  Square<T>& square_;
  std::vector<T>& size_;
  const std::vector<Union>& all_;
  const i64 k_;
  std::vector<T> apart_;
};

}  // namespace kg
