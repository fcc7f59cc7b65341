// The rows of the candidate filter of k-means (kmeans/candidate_filter.cpp) as bytes, and which loops of
// k-means this machine takes.
#include "kmeans/small_k_loops.hpp"
#include "kmeans/candidate_filter.hpp"
#include "simd/dispatch.hpp"
#include "simd/loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <omp.h>
#include <type_traits>
#include <vector>

namespace kg {

KG_TABLE(FilterLoops, filter)
KG_TABLE(PairLoops<float>, pairs_f32)
KG_TABLE(PairLoops<double>, pairs_f64)
KG_TABLE(SmallKLoops<float>, small_k_f32)
KG_TABLE(SmallKLoops<double>, small_k_f64)
#ifdef KG_X86
namespace vnni { extern const FilterLoops filter; }
#endif

const FilterLoops& filter_loops() {
#ifdef KG_X86
  if (simd() == Simd::vnni) return vnni::filter;
#endif
  KG_PICK(filter)
}
template <> const PairLoops<float>& pair_loops<float>() { KG_PICK(pairs_f32) }
template <> const PairLoops<double>& pair_loops<double>() { KG_PICK(pairs_f64) }
template <> const SmallKLoops<float>& small_k_loops<float>() { KG_PICK(small_k_f32) }
template <> const SmallKLoops<double>& small_k_loops<double>() { KG_PICK(small_k_f64) }

bool has_fast_byte_products() { return filter_loops().fast; }

namespace {

// One thread's rows on their way to codes.
template <class T> class Encoder {
 public:
  explicit Encoder(const EncodedRows<T>& e)
      : e_(e), d_(e.X.d), lines_(lines_of(d_)), x_(d_), v_(lines_ * kLine, 0.0f), some_(v_.size()) {}

  // row i, to codes that are not kept
  Code encode(i64 i) { return encode(i, some_.data()); }

  // row i, into its place
  void put(i64 i, double balance) {
    const Code code = encode(i, e_.codes + i * lines_ * kLine);
    const double slack = rounding(d_), norm = code.norm, inverse = 1 / double(code.step);
    const double off = code.left * (1 + slack) + slack * std::sqrt(norm) + kNegligible;
    const double spread = std::sqrt(balance * off * off + code.length * code.length / balance);
    const bool far_out = !(norm < kLargestSquare);
    QuantisedRow& to = e_.about[i];
    to.inverse = far_out ? 1 : static_cast<float>(inverse);
    to.spread = far_out ? 0 : static_cast<float>(spread * inverse * (1 + slack));
    to.half = far_out ? -kAlways
                      : static_cast<float>((norm / 2 * (1 - slack) - kNegligible) * inverse);
    to.upper = 0;
  }

 private:
  Code encode(i64 i, std::uint8_t* codes) {
    const T scale = static_cast<T>(1 / e_.unit);
    const auto to = [&](T* out) {
      loops<T>().pack(e_.X.at(i, 0), 1, d_, e_.X.rs, e_.X.cs, e_.shift, &scale, out, d_);
    };
    if constexpr (std::is_same_v<T, float>) {
      to(v_.data());
    } else {
      to(x_.data());
      for (i64 k = 0; k < d_; ++k) v_[k] = static_cast<float>(x_[k]);
    }
    return f_.encode(v_.data(), lines_, codes);
  }

  const EncodedRows<T>& e_;
  const FilterLoops& f_ = filter_loops();
  const i64 d_, lines_;
  std::vector<T> x_;
  std::vector<float> v_;
  std::vector<std::uint8_t> some_;
};

}  // namespace

template <class T> double encode_rows(const EncodedRows<T>& e, int threads) {
  constexpr i64 some = 256;  // rows that tell the balance
  const i64 n = e.X.n;
  std::vector<Encoder<T>> team;
  team.reserve(threads);
  for (int t = 0; t < threads; ++t) team.emplace_back(e);
  double length = 0, left = 0;
  for (i64 i = 0; i < n; i += ceil_div(n, some)) {
    const Code code = team[0].encode(i);
    length += double(code.length);
    left += double(code.left);
  }
  const double balance = left > 0 ? std::clamp(length / left, 1.0, 1e6) : 1e6;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (i64 i = 0; i < n; ++i) team[omp_get_thread_num()].put(i, balance);
  return balance;
}

template double encode_rows<float>(const EncodedRows<float>&, int);
template double encode_rows<double>(const EncodedRows<double>&, int);

}  // namespace kg
