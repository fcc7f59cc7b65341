// The scores of all centres of a strip held at once, where they are few, for the sieve of k-means.
// Included only by kmeans_sieve_loops.cpp, inside its anonymous namespace.

template <bool kMany>
__attribute__((noinline)) void four_scores(const std::uint8_t* x, const CodedBlocks& c, i64 b,
                                           const float* inverse, float* out) {
  Float f[kFour][kTwo];
  products<kMany>(x, c.quads, c.codes + b * block_bytes(c.quads), f);
#pragma GCC unroll 4
  for (int r = 0; r < kFour; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kTwo; ++v)
      *reinterpret_cast<Float*>(out + r * kRows + v * kLanes) =
          f[r][v] * c.scale[b * kFour + r] - c.half[b * kFour + r] * at(inverse, v);
}

void score(const std::uint8_t* strip, const CodedBlocks& centres, const float* inverse, float* scores) {
  const auto step = centres.quads > kOneChunk ? four_scores<true> : four_scores<false>;
  for (i64 b = 0; b < centres.blocks; ++b)
    step(strip, centres, b, inverse, scores + b * kFour * kRows);
}

void best(const float* scores, i64 places, std::int32_t* index) {
  const Float lowest = Float{} - __builtin_huge_valf();
  Float top[kTwo] = {lowest, lowest};
  Int32 place[kTwo] = {Int32{}, Int32{}};
  for (i64 p = 0; p < places; ++p)
    for (int v = 0; v < kTwo; ++v) {
      const Float here = at(scores + p * kRows, v);
      const Int32 larger = here > top[v];
      top[v] = larger ? here : top[v];
      place[v] = larger ? Int32{} + static_cast<std::int32_t>(p) : place[v];
    }
  for (i64 i = 0; i < kRows; ++i) index[i] = place[i / kLanes][i % kLanes];
}

i64 pick(const float* scores, const CodedBlocks& centres, const float* spread, const float* margin,
         float* least, const std::int32_t* own, Pair* out) {
  const i64 places = centres.blocks * kFour;
  i64 count = 0;
  for (int v = 0; v < kTwo; ++v) {
    const Float off = at(spread, v);
    Float sure = Float{} - __builtin_huge_valf();  // no centre that scores less is the nearest
    for (i64 p = 0; p < places; ++p) {
      const Float low = at(scores + p * kRows, v) - centres.reach[p] * off;
      sure = low > sure ? low : sure;
    }
    sure -= at(margin, v);
    const Float given = at(least, v), needed = sure > given ? sure : given;
    *reinterpret_cast<Float*>(least + v * kLanes) = needed;
    for (i64 p = 0; p < places; ++p) {
      const Float high = at(scores + p * kRows, v) + centres.reach[p] * off;
      for (unsigned found = signs((Int32)(high >= needed)); found; found &= found - 1) {
        const i64 row = v * kLanes + __builtin_ctz(found);
        out[count] = {static_cast<std::int32_t>(p), static_cast<std::int32_t>(row)};
        count += p != own[row];
      }
    }
  }
  return count;
}

void bounds(const float* scores, const CodedBlocks& centres, const float* spread, const float* half,
            const float* inverse, const std::int32_t* own, float* out) {
  const Float lowest = Float{} - __builtin_huge_valf();
  for (i64 b = 0; b < centres.blocks; ++b, out += kRows) {
    float left[kRows];
    for (int v = 0; v < kTwo; ++v) {
      const Int32 mine = *reinterpret_cast<const Int32*>(own + v * kLanes);
      Float top = lowest;
      for (i64 p = b * kFour; p < (b + 1) * kFour; ++p) {
        const Float high = at(scores + p * kRows, v) + centres.reach[p] * at(spread, v);
        const Float other = mine == static_cast<std::int32_t>(p) ? lowest : high;
        top = other > top ? other : top;
      }
      const Float gap = (at(half, v) - top) * 2 / at(inverse, v);
      *reinterpret_cast<Float*>(left + v * kLanes) = gap > 0 ? gap : Float{};
    }
#pragma omp simd
    for (i64 i = 0; i < kRows; ++i) out[i] = __builtin_sqrtf(left[i]) * (1 - 2e-6f);
  }
}

float below(const float* lower, const float* drift, i64 blocks, float reach, std::uint64_t* bits) {
  Float least = Float{} + __builtin_huge_valf();
  std::uint64_t found = 0;
  i64 b = 0;
  for (; b + kLanes <= blocks; b += kLanes) {
    const Float bound = at(lower + b, 0) - at(drift + b, 0);
    least = bound < least ? bound : least;
    found |= static_cast<std::uint64_t>(signs((Int32)(bound <= reach))) << b;
  }
  float one = least[0];
  for (i64 l = 1; l < kLanes; ++l) one = least[l] < one ? least[l] : one;
  for (; b < blocks; ++b) {
    const float bound = lower[b] - drift[b];
    one = bound < one ? bound : one;
    found |= static_cast<std::uint64_t>(bound <= reach) << b;
  }
  *bits = found;
  return one;
}

float raise(float* __restrict lower, const float* __restrict drift, const float* __restrict fresh,
            i64 blocks) {
  float least = __builtin_huge_valf();
#pragma omp simd reduction(min : least)
  for (i64 b = 0; b < blocks; ++b) {
    const float old = lower[b] - drift[b], now = old > fresh[b] ? old : fresh[b];
    least = now < least ? now : least;
    lower[b] = now + drift[b] * (1 - 4e-7f);  // less than what rounding may add
  }
  return least;
}
