// Bindings of decision trees (trees/).
#include "bindings/arrays.hpp"
#include "trees/trees.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace kg {
namespace {

using Release = nb::gil_scoped_release;

void refuse(bool wrong, const char* why) {
  if (wrong) throw std::invalid_argument(why);
}

template <class Array> auto copied(const Array& a) {
  return std::vector<std::remove_const_t<typename Array::Scalar>>(a.data(), a.data() + a.size());
}

// Checked nodes of many trees, with the packed ones, for any number of predictions.
class PreparedTrees {
 public:
  PreparedTrees(In<std::int32_t, 2> links, In<double, 1> threshold, In<std::uint8_t, 1> missing_left,
                In<std::uint64_t, 2> categories, In<i64, 1> roots, In<double, 2> values)
      : width(values.shape(1)), links_(copied(links)), threshold_(copied(threshold)),
        missing_left_(copied(missing_left)), categories_(copied(categories)), roots_(copied(roots)) {
    const i64 nodes = threshold_.size();
    refuse(links.shape(0) != 3 || i64(links.shape(1)) != nodes ||
               i64(missing_left.shape(0)) != nodes || i64(values.shape(0)) != nodes ||
               (categories_.size() && i64(categories_.size()) != nodes * kCategoryWords),
           "links, thresholds, sides and values differ in length");
    const std::int32_t *f = links_.data(), *left = f + nodes, *right = left + nodes;
    std::vector<char> has_parent(nodes);
    for (i64 i = 0; i < nodes; ++i) {
      columns_ = std::max<i64>(columns_, f[i] + 1);
      if (f[i] < 0) continue;
      for (const std::int32_t child : {left[i], right[i]}) {
        refuse(child <= i || child >= nodes || has_parent[child],
               "children must come after their parent, each after one");
        has_parent[child] = 1;
      }
    }
    for (const i64 root : roots_) {
      refuse(root < 0 || root >= nodes || has_parent[root], "a root is no node, or a child");
      has_parent[root] = 1;
    }
    table = {f, left, right, threshold_.data(), missing_left_.data(),
             categories_.empty() ? nullptr : categories_.data(), roots_.data(), i64(roots_.size())};
    packing_ = std::make_unique<TreePacking>(table, values.data(), width, std::max<i64>(columns_, 1), nodes);
    packed = packing_->view();
  }
  PreparedTrees(const PreparedTrees&) = delete;

  template <class T> void check(const In<T, 2>& X) const {
    refuse(i64(X.shape(1)) < std::max<i64>(columns_, 1), "a node asks for a column that is not there");
  }
  TreeTable table;
  PackedTrees packed;
  const i64 width;  // of the values

 private:
  std::vector<std::int32_t> links_;
  std::vector<double> threshold_;
  std::vector<std::uint8_t> missing_left_;
  std::vector<std::uint64_t> categories_;
  std::vector<i64> roots_;
  i64 columns_ = 0;
  std::unique_ptr<TreePacking> packing_;
};

TreeTarget target_of(const In<double, 2>& y, const In<std::int32_t, 2>& label,
                     const In<i64, 1>& classes, const In<double, 1>& w, Out<std::int32_t, 1>& rows,
                     i64 n) {
  const bool labels = classes.shape(0) > 0;
  const i64 outputs = labels ? label.shape(1) : y.shape(1);
  refuse(outputs < 1 || i64(labels ? label.shape(0) : y.shape(0)) != n || i64(w.shape(0)) != n,
         "the target has another length");
  refuse(labels && i64(classes.shape(0)) != outputs, "classes do not fit the labels");
  for (i64 i = 0; labels && i < n; ++i)
    for (i64 k = 0; k < outputs; ++k)
      refuse(label.data()[i * outputs + k] < 0 || label.data()[i * outputs + k] >= classes.data()[k],
             "a class that is not there");
  for (i64 i = 0; i < i64(rows.shape(0)); ++i)
    refuse(rows.data()[i] < 0 || rows.data()[i] >= n, "a row that is not there");
  return {y.data(), label.data(), labels ? classes.data() : nullptr, outputs, w.data(), rows.data(),
          i64(rows.shape(0))};
}

template <class T> void bind_sums(nb::module_& m) {
  m.def("sum_leaves", [](const PreparedTrees& trees, In<T, 2> X, Out<double, 2> out, int threads) {
    trees.check(X);
    refuse(out.shape(0) != X.shape(0) || i64(out.shape(1)) != trees.width,
           "values, rows and out do not fit together");
    const i64 n = X.shape(0), d = X.shape(1);
    Release release;
    return sum_leaves<T>(trees.table, trees.packed, trees.width, {X.data(), n, d, d, 1}, out.data(), threads);
  }, "trees"_a, "X"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("code_columns", [](In<double, 2> X, Out<std::uint32_t, 2> codes, Out<double, 2> values,
                           Out<i64, 1> counts, Out<std::uint8_t, 1> missing, int threads) {
    const i64 n = X.shape(0), d = X.shape(1);
    refuse(i64(codes.shape(0)) != d || i64(codes.shape(1)) != n || i64(values.shape(0)) != d ||
               i64(values.shape(1)) != n || i64(counts.shape(0)) != d ||
               i64(missing.shape(0)) != d || n < 1,
           "codes, values and counts do not fit X");
    Release release;
    code_columns({X.data(), n, d, d, 1}, codes.data(), values.data(), counts.data(), missing.data(),
                 threads);
  }, "X"_a.noconvert(), "codes"_a.noconvert(), "values"_a.noconvert(), "counts"_a.noconvert(),
     "missing"_a.noconvert(), "threads"_a);
  m.def("grow_tree", [](In<std::uint32_t, 2> codes, In<double, 1> values, In<i64, 1> starts,
                        In<std::uint8_t, 1> missing, In<double, 2> y, In<std::int32_t, 2> label,
                        In<i64, 1> classes, In<double, 1> w, Out<std::int32_t, 1> rows, int criterion,
                        In<i64, 1> limits, In<double, 1> weights, In<std::int8_t, 1> monotone,
                        In<std::uint8_t, 1> categorical, std::uint64_t seed, In<std::int32_t, 1> stop,
                        Out<std::int32_t, 2> links, Out<double, 2> numbers, Out<double, 2> value,
                        Out<std::uint8_t, 1> missing_left, Out<std::uint64_t, 2> categories,
                        int threads) {
    const i64 d = codes.shape(0), n = codes.shape(1), capacity = links.shape(1);
    const auto fits = [d](i64 size) { return size == 0 || size == d; };
    refuse(i64(starts.shape(0)) != d + 1 || i64(missing.shape(0)) != d || limits.shape(0) != 6 ||
               weights.shape(0) != 3 || links.shape(0) != 3 || numbers.shape(0) != 4 ||
               stop.shape(0) != 1 || i64(numbers.shape(1)) != capacity || i64(value.shape(0)) != capacity ||
               i64(missing_left.shape(0)) != capacity || capacity < 1 || criterion < 0 || criterion > 4 ||
               !fits(monotone.shape(0)) || !fits(categorical.shape(0)) || rows.shape(0) < 1 ||
               (categorical.shape(0) && (i64(categories.shape(0)) != capacity ||
                                         i64(categories.shape(1)) != kCategoryWords)),
           "columns, target and nodes do not fit together");
    const TreeTarget target = target_of(y, label, classes, w, rows, n);
    refuse((criterion == 1 || criterion == 2) != (target.classes != nullptr),
           "the criterion does not fit the target");
    i64 width = target.classes ? 0 : target.outputs;
    for (i64 k = 0; target.classes && k < target.outputs; ++k) width += target.classes[k];
    refuse(i64(value.shape(1)) != width, "value has another width");
    refuse(monotone.shape(0) && (target.outputs > 1 || (target.classes && width > 2)),
           "monotone constraints take one output of at most two classes");
    const double* x = values.data();
    for (i64 k = 0; categorical.shape(0) && k < d; ++k)
      for (i64 i = starts.data()[k]; categorical.data()[k] && i < starts.data()[k + 1]; ++i)
        refuse(!(x[i] >= 0 && x[i] < 64 * kCategoryWords), "a category outside 0 to 255");
    const i64* l = limits.data();
    const double* s = weights.data();
    const CodedColumns X{codes.data(), x, starts.data(), missing.data(), n, d};
    const SplitRules rules{Criterion(criterion), l[0], l[1], l[2], s[0], s[1], s[2], l[3], l[4],
                           l[5] != 0, monotone.shape(0) ? monotone.data() : nullptr,
                           categorical.shape(0) ? categorical.data() : nullptr, seed, stop.data(),
                           threads};
    std::int32_t* link = links.data();
    double* number = numbers.data();
    const GrownNodes nodes{capacity, link, link + capacity, link + 2 * capacity, number, number + capacity,
                           number + 2 * capacity, number + 3 * capacity, value.data(), missing_left.data(),
                           categorical.shape(0) ? categories.data() : nullptr};
    Release release;
    return grow_tree(X, target, rules, nodes);
  }, "codes"_a.noconvert(), "values"_a.noconvert(), "starts"_a.noconvert(), "missing"_a.noconvert(),
     "y"_a.noconvert(), "label"_a.noconvert(), "classes"_a.noconvert(), "w"_a.noconvert(),
     "rows"_a.noconvert(), "criterion"_a, "limits"_a.noconvert(), "weights"_a.noconvert(),
     "monotone"_a.noconvert(), "categorical"_a.noconvert(), "seed"_a, "stop"_a.noconvert(),
     "links"_a.noconvert(), "numbers"_a.noconvert(), "value"_a.noconvert(),
     "missing_left"_a.noconvert(), "categories"_a.noconvert(), "threads"_a);
  nb::class_<PreparedTrees>(m, "PreparedTrees")
      .def(nb::init<In<std::int32_t, 2>, In<double, 1>, In<std::uint8_t, 1>, In<std::uint64_t, 2>,
                    In<i64, 1>, In<double, 2>>(),
           "links"_a.noconvert(), "threshold"_a.noconvert(), "missing_left"_a.noconvert(),
           "categories"_a.noconvert(), "roots"_a.noconvert(), "values"_a.noconvert());
  bind_sums<float>(m);
  bind_sums<double>(m);
  m.def("find_leaves", [](const PreparedTrees& trees, In<double, 2> X, Out<std::int32_t, 2> out,
                          int threads) {
    trees.check(X);
    refuse(out.shape(0) != X.shape(0) || i64(out.shape(1)) != trees.table.trees, "out does not fit");
    const i64 n = X.shape(0), d = X.shape(1);
    Release release;
    find_leaves(trees.table, trees.packed, {X.data(), n, d, d, 1}, out.data(), threads);
  }, "trees"_a, "X"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
}

}  // namespace kg
