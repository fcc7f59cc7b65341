// The best cut of one node at one column.
//
// The rows' codes are brought in order: by counting where a column has few distinct values for the
// rows there are, by buckets of equal width (codes are ranks, hence spread evenly) and comparison
// within a bucket, by digits if there are many rows. Of many rows and one real target (or two classes)
// the sums of each of some thousand bins are taken first; only rows of bins that can hold the best cut
// are brought in order. Rows that repeat a value move together, and a cut never depends on rounding: it
// is a code, and of cuts that are alike up to rounding the first is taken.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "trees/local_rows.hpp"
#include "trees/sides.hpp"

namespace kg {

struct Cut {
  double score = kNone;
  i64 column = -1;
  std::uint32_t code = 0;  // codes up to this one go left; of local rows, ranks
  double threshold = 0;    // of a random cut
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
  // random cuts. Cuts of scores up to `floor` may be missed. `local` is null where rows are those of X.
  Cut best(const std::int32_t* rows, const LocalRows* local, i64 column, double slack, double floor,
           const Bounds& bounds, std::uint64_t draw);

 private:
  template <class Code> bool gather(const std::int32_t* rows, const Code* codes);
  void order_categories(std::uint64_t draw);
  void sort_keys();
  void sort_buckets(int shift);
  void sort_digits();
  void scan(bool missing_left);
  void scan_pairs(i64 first);
  void bin_pairs(double floor);
  bool bin_ranks(const std::int32_t* rows, const std::uint16_t* ranks);
  void fill_bins(int shift);
  void clear_occupied();
  template <bool counted> void scan_bins(int shift, bool refined);
  bool open_bins(double bar);
  template <class Visit> void for_bins(const Visit& visit) const;
  void count_classes();
  template <class Sides> void scan_sides(Sides& sides, i64 first);
  template <class Visit> void with_sides(const Visit& visit);
  void random_cut(std::uint64_t draw);
  void keep_categories();
  void offer(double score, std::uint32_t code);
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
  using Bin = Pair;  // sums of weights and of weighted targets
  struct Inside {
    double size;  // the sum of the absolute values of weighted targets
    i64 rows;
  };
  std::vector<Bin> bins_;        // zeros between two columns
  std::vector<Inside> inside_;   // zeros between two columns
  std::vector<std::uint8_t> open_;  // bins that can hold the best cut
  std::array<std::uint64_t, 64> occupied_{};  // a bit for every bin; zeros between two columns
  std::uint64_t occupied_words_ = 0;          // a bit for every 64 bins
  std::vector<double> counts_;
  i64 m_ = 0, known_ = 0, column_ = 0;
  std::uint32_t low_ = 0, high_ = 0;
  bool moving_left_ = false;
  double slack_ = 0, bar_ = 0;
  Bounds bounds_;
  Cut cut_;
};

}  // namespace kg
