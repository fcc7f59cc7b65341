#include "trees/local_rows.hpp"

#include <algorithm>

#include "simd/dispatch.hpp"
#include "trees/rank_loops.hpp"

namespace kg {

KG_TABLE(RankLoops, ranks_table)
const RankLoops& rank_loops() { KG_PICK(ranks_table) }

namespace {

constexpr i64 kBytes = 1 << 19;       // of the ranks
constexpr i64 kMostRows = 4096;       // below kMissingRank
constexpr i64 kWordsPerRow = 16;      // of bits up to which counting them is faster than sorting

}  // namespace

LocalRows::LocalRows(const CodedColumns& X, const TreeTarget& t, const std::uint8_t* categorical)
    : X_(X), t_(t), categorical_(categorical) {}

i64 LocalRows::most(i64 columns) {
  return std::min<i64>(kMostRows, kBytes / static_cast<i64>(sizeof(std::uint16_t)) / std::max<i64>(columns, 1));
}

void LocalRows::take(std::int32_t* rows, i64 m) {
  const i64 K = t_.outputs;
  m_ = m;
  rows_.assign(rows, rows + m);
  w_.resize(m);
  for (i64 i = 0; i < m; ++i) w_[i] = t_.w[rows[i]];
  if (t_.classes) label_.resize(m * K);
  else y_.resize(m * K);
  for (i64 i = 0; i < m; ++i)
    for (i64 k = 0; k < K; ++k) {
      if (t_.classes) label_[i * K + k] = t_.label[rows[i] * K + k];
      else y_[i * K + k] = t_.y[rows[i] * K + k];
    }
  ranks_.resize(std::max(static_cast<i64>(ranks_.size()), m * X_.d));
  codes_.resize(m);
  some_.resize(m);
  for (i64 k = 0; k < X_.d; ++k) rank_column(k);
  for (i64 i = 0; i < m; ++i) rows[i] = static_cast<std::int32_t>(i);
}

TreeTarget LocalRows::target(const TreeTarget& t) const {
  TreeTarget own = t;
  own.w = w_.data();
  own.y = y_.data();
  own.label = t.classes ? label_.data() : nullptr;
  return own;
}

void LocalRows::rank_column(i64 column) {
  const std::uint32_t* codes = X_.codes + column * X_.n;
  std::uint16_t* out = ranks_.data() + column * m_;
  std::uint32_t low = kMissing, high = 0;
  i64 known = 0;
  known_.clear();
  if (X_.missing[column]) {
    for (i64 i = 0; i < m_; ++i) {
      const std::uint32_t code = codes[rows_[i]];
      out[i] = kMissingRank;
      if (code == kMissing) continue;
      low = std::min(low, code);
      high = std::max(high, code);
      codes_[known++] = code;
      known_.push_back(static_cast<std::int32_t>(i));
    }
  } else {
    const std::int32_t* rows = rows_.data();
    std::uint32_t* copy = codes_.data();
    const i64 m = m_;
    for (i64 i = 0; i < m; ++i) {
      if (i + kAhead < m) __builtin_prefetch(codes + rows[i + kAhead]);
      const std::uint32_t code = codes[rows[i]];
      low = std::min(low, code);
      high = std::max(high, code);
      copy[i] = code;
    }
    known = m_;
  }
  if (known == 0) return;
  std::uint16_t* of_known = known < m_ ? some_.data() : out;
  const i64 words = (i64(high - low) >> 6) + 1;
  if (categorical_ && categorical_[column]) {
    for (i64 i = 0; i < known; ++i) of_known[i] = static_cast<std::uint16_t>(codes_[i]);
  } else if (i64(high - low) < kMostRows) {
    for (i64 i = 0; i < known; ++i) of_known[i] = static_cast<std::uint16_t>(codes_[i] - low);
  } else if (words <= kWordsPerRow * known) {
    if (static_cast<i64>(bits_.size()) < words) {
      bits_.resize(words);
      before_.resize(words);
    }
    rank_loops().ranks(codes_.data(), known, low, high, bits_.data(), before_.data(), of_known);
  } else {
    keys_.clear();
    for (i64 i = 0; i < known; ++i) keys_.push_back(std::uint64_t(codes_[i]) << 32 | std::uint64_t(i));
    sort_column(of_known);
  }
  if (known < m_)
    for (i64 i = 0; i < known; ++i) out[known_[i]] = some_[i];
}

void LocalRows::sort_column(std::uint16_t* out) {
  std::sort(keys_.begin(), keys_.end());
  std::uint16_t rank = 0;
  for (std::size_t p = 0; p < keys_.size(); ++p) {
    if (p && keys_[p] >> 32 != keys_[p - 1] >> 32) ++rank;
    out[static_cast<std::uint32_t>(keys_[p])] = rank;
  }
}

}  // namespace kg
