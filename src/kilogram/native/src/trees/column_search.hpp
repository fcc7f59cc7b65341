// The best cut of one node at one column.
//
// The rows' codes are brought in order: by counting where a column has few distinct values for the
// rows there are, by buckets of equal width (codes are ranks, hence spread evenly) and comparison
// within a bucket, by digits if there are many rows. Rows that repeat a value move together, and a
// cut never depends on rounding: it is a code, and of cuts that are alike up to rounding the first
// is taken.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "trees/sides.hpp"

namespace kg {

struct Cut {
  double score = kNone;
  i64 column = -1;
  std::uint32_t code = 0, next = 0;  // the last value on the left, the first on the right
  double threshold = 0;              // of a random cut
  bool missing_left = false, missing_known = false;
  std::array<std::uint64_t, kCategoryWords> categories{};  // that go left
};

// Bounds of a node's prediction under monotone constraints.
struct Bounds {
  double low = kNone, high = -kNone;
};

class ColumnSearch {
 public:
  ColumnSearch(const CodedColumns& X, const SplitRules& rules, const NodeTarget& target);

  // The best cut of the rows (m) at a column, `slack` apart from cuts that are alike; `draw` is for
  // random cuts.
  Cut best(const std::int32_t* rows, i64 column, double slack, const Bounds& bounds,
           std::uint64_t draw);

 private:
  bool gather(const std::int32_t* rows);
  void order_categories(std::uint64_t draw);
  void sort_keys();
  void sort_buckets(int shift);
  void sort_digits();
  void scan(bool missing_left);
  void scan_pairs(i64 first);
  void count_pairs();
  void count_classes();
  template <class Sides> void scan_sides(Sides& sides, i64 first);
  template <class Visit> void with_sides(const Visit& visit);
  void random_cut(std::uint64_t draw);
  void finish();
  void offer(double score, std::uint32_t code, std::uint32_t next);
  template <class Sides> bool is_monotone(const Sides& sides) const;
  bool is_few(i64 left) const { return left < rules_.min_leaf || m_ - left < rules_.min_leaf; }
  bool is_light(double left) const {
    return left < rules_.min_weight || target_.weight - left < rules_.min_weight;
  }
  bool is_categorical() const { return rules_.categorical && rules_.categorical[column_]; }

  const CodedColumns& X_;
  const SplitRules& rules_;
  const NodeTarget& target_;
  SquareSides squares_;
  ClassSides classes_;
  PoissonSides poisson_;
  AbsoluteSides absolute_;
  std::vector<std::uint64_t> keys_, spare_;  // code and row; missing ones come last
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> category_;      // code of every place in the order of categories
  struct Bin {
    double w, s;
    i64 rows;
  };
  std::vector<Bin> bins_;
  std::vector<double> counts_;
  i64 m_ = 0, known_ = 0, column_ = 0;
  std::uint32_t low_ = 0, high_ = 0;
  bool moving_left_ = false;
  double slack_ = 0, bar_ = 0;
  Bounds bounds_;
  Cut cut_;
};

}  // namespace kg
