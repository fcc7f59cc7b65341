// The rows of a small node copied side by side: its whole subtree grows in cache.
//
// Columns hold the ranks of the codes among these rows, weights and targets stand in the rows' order.
#pragma once
#include <cstdint>
#include <vector>

#include "trees/trees.hpp"

namespace kg {

constexpr std::uint16_t kMissingRank = 0xFFFF;

class LocalRows {
 public:
  LocalRows(const CodedColumns& X, const TreeTarget& t, const std::uint8_t* categorical);

  // The most rows that fit, of so many columns.
  static i64 most(i64 columns);

  // Copy these rows (m), which are then numbered 0 .. m - 1 in their order.
  void take(std::int32_t* rows, i64 m);

  // Ranks (m) of a column; of categories the codes. NaN has kMissingRank.
  const std::uint16_t* ranks(i64 column) const { return ranks_.data() + column * m_; }
  // The rows' numbers in X.
  const std::vector<std::int32_t>& rows() const { return rows_; }
  // The target with weights and values of these rows.
  TreeTarget target(const TreeTarget& t) const;

 private:
  void rank_column(i64 column);
  void sort_column(std::uint16_t* out);

  const CodedColumns& X_;
  const TreeTarget& t_;
  const std::uint8_t* categorical_;
  i64 m_ = 0;
  std::vector<std::int32_t> rows_, label_;
  std::vector<double> w_, y_;
  std::vector<std::uint16_t> ranks_, some_;
  std::vector<std::uint32_t> codes_, before_;
  std::vector<std::int32_t> known_;
  std::vector<std::uint64_t> bits_, keys_;
};

}  // namespace kg
