// Leaf-wise growth of one tree after another on the same binned rows.
#pragma once
#include <memory>
#include <vector>

#include "boosting/splits.hpp"

namespace kg {

class BoostGrower {
 public:
  // monotone (d,): -1, 0, 1. groups: columns that may be split together, empty without constraints.
  BoostGrower(BinnedRows rows, std::vector<double> limits, std::vector<i64> starts,
              std::vector<std::int8_t> monotone, std::vector<std::vector<i64>> groups);

  const BinnedRows& rows() const { return X_; }

  // Grows the next tree on gradients g and second derivatives h.
  void grow(const double* g, const double* h, const GrowthRules& rules, int threads);
  const GrownTree& tree() const { return tree_; }

  // Leaf values from residuals (n,) instead: their q-quantile with weights w (or none). For losses
  // without curvature.
  void line_search(const double* residual, const double* w, double q, int threads);

  // raw[row] += value of the leaf of the row.
  void add_values(double* raw, int threads) const;

 private:
  struct Leaf {
    i64 begin, end;
    std::int32_t node;
    double low, high;
  };
  struct Node {
    i64 begin, end, depth;
    std::int32_t id;
    NodeSums sums;
    SplitChoice best;
    double gain = 0;
    Pair* histogram = nullptr;
    std::vector<i64> groups;  // of the interaction constraints that hold all columns above
  };

  void find_splits(Node* first, Node* second, Node* parent);
  void search_columns(const Node& node, const std::vector<char>& allowed, i64 first, i64 last,
                      SplitChoice& best) const;
  std::vector<char> allowed_columns(const Node& node);
  bool can_split(const Node& node) const;
  i64 partition(const Node& node);
  double leaf_quantile(const Leaf& leaf, const double* residual, const double* w, double q) const;
  void settle(const Node& node, const double* g, const double* h);
  std::pair<Node, Node> split(Node& node, i64 middle);
  Pair* take_histogram();
  void give_histogram(Pair*& histogram);

  BinnedRows X_;
  std::vector<double> limits_;
  std::vector<i64> starts_, offsets_;
  std::vector<std::int8_t> monotone_;
  std::vector<std::vector<i64>> groups_;
  std::vector<std::int32_t> order_, spare_;
  std::unique_ptr<Scratch<Pair>> pairs_;
  std::vector<std::unique_ptr<Scratch<Pair>>> pool_;
  std::vector<Pair*> free_;
  std::vector<Leaf> leaves_;
  GrownTree tree_;
  GrowthRules rules_{};
  SplitLimits split_{};
  int threads_ = 1;
};

}  // namespace kg
