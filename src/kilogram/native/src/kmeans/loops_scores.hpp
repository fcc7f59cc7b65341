// The scores of all centres of a strip kept at once, where they are few, for the candidate filter of k-means.
// Included only by kmeans/filter_loops.cpp, inside its anonymous namespace.

template <bool kMany>
__attribute__((noinline)) void all_scores(const std::uint8_t* __restrict x, const CodedBlocks& c,
                                          const float* __restrict inverse, float* __restrict out) {
  const i64 quads = c.quads, size = block_bytes(quads);
  for (i64 b = 0; b < c.blocks; ++b) {
    Float f[kBlockCentres][kTwo];
    products<kMany>(x, quads, c.codes + b * size, f);
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r, out += kRows)
#pragma GCC unroll 2
      for (int v = 0; v < kTwo; ++v)
        *reinterpret_cast<Float*>(out + v * kLanes) =
            f[r][v] * c.scale[b * kBlockCentres + r] - c.half[b * kBlockCentres + r] * at(inverse, v);
  }
}

void score(const std::uint8_t* strip, const CodedBlocks& centres, const float* inverse, float* scores) {
  const auto all = centres.quads > kGrain.one_chunk ? all_scores<true> : all_scores<false>;
  all(strip, centres, inverse, scores);
}

// Four places apart: a comparison has to wait for the one before.
void best(const float* scores, i64 places, std::int32_t* index) {
  const Float lowest = Float{} - __builtin_huge_valf();
  for (int v = 0; v < kTwo; ++v) {
    Float top[kBlockCentres] = {lowest, lowest, lowest, lowest};
    Int32 place[kBlockCentres] = {};
    Int32 here = Int32{};
    for (i64 p = 0; p < places; p += kBlockCentres, here += kBlockCentres)
#pragma GCC unroll 4
      for (int r = 0; r < kBlockCentres; ++r) {
        const Float score = at(scores + (p + r) * kRows, v);
        const Int32 larger = score > top[r];
        top[r] = larger ? score : top[r];
        place[r] = larger ? here : place[r];
      }
    for (int r = 1; r < kBlockCentres; ++r) {
      const Int32 larger = top[r] > top[0];
      top[0] = larger ? top[r] : top[0];
      place[0] = larger ? place[r] + r : place[0];
    }
    *reinterpret_cast<Int32*>(index + v * kLanes) = place[0];
  }
}

void sure(const float* scores, const CodedBlocks& centres, const float* spread, const float* margin,
          float* least) {
  for (int v = 0; v < kTwo; ++v) {
    const Float off = at(spread, v);
    Float top[kBlockCentres] = {};
    for (int r = 0; r < kBlockCentres; ++r) top[r] -= __builtin_huge_valf();
    for (i64 p = 0; p < centres.blocks * kBlockCentres; p += kBlockCentres)
#pragma GCC unroll 4
      for (int r = 0; r < kBlockCentres; ++r)
        top[r] = greater(at(scores + (p + r) * kRows, v) - centres.reach[p + r] * off, top[r]);
    const Float low = greater(greater(top[0], top[1]), greater(top[2], top[3])) - at(margin, v);
    *reinterpret_cast<Float*>(least + v * kLanes) = greater(low, at(least, v));
  }
}

// as next_near
__attribute__((noinline)) i64 next_pick(const float* __restrict scores, const CodedBlocks& c, i64 b,
                                        const float* __restrict spread, const float* __restrict least,
                                        std::uint64_t* __restrict found) {
  for (; b < c.blocks; ++b) {
    Float f[kBlockCentres][kTwo];
    Int32 below = Int32{} - 1;
#pragma GCC unroll 4
    for (int r = 0; r < kBlockCentres; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < kTwo; ++v) {
        const i64 place = b * kBlockCentres + r;
        f[r][v] = at(scores + place * kRows, v) + (c.reach[place] * at(spread, v) - at(least, v));
        below &= (Int32)f[r][v];
      }
    if (__builtin_expect(signs(below) == kAll, 1)) continue;
    to_bits(f, found);
    return b;
  }
  return c.blocks;
}

i64 pick(const float* scores, const CodedBlocks& centres, const float* spread, const float* least,
         const std::int32_t* own, Pair* out) {
  std::uint64_t found[kWords];
  i64 pairs = 0;
  for (i64 b = 0; (b = next_pick(scores, centres, b, spread, least, found)) < centres.blocks; ++b)
    pairs += to_pairs(found, b, own, out + pairs);
  return pairs;
}

void bounds(const float* scores, const CodedBlocks& centres, const float* spread, const float* half,
            const float* inverse, const std::int32_t* own, float* out) {
  const Float lowest = Float{} - __builtin_huge_valf();
  for (i64 b = 0; b < centres.blocks; ++b, out += kRows) {
    float left[kRows];
    for (int v = 0; v < kTwo; ++v) {
      const Int32 mine = *reinterpret_cast<const Int32*>(own + v * kLanes);
      Float top = lowest;
      for (i64 p = b * kBlockCentres; p < (b + 1) * kBlockCentres; ++p) {
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

KG_INLINE float least_of(Float v) {
  return folded<float>(v, [](auto a, auto b) { return a < b ? a : b; });
}

float below(const float* lower, const float* drift, i64 blocks, float reach, std::uint64_t* bits) {
  Float least = Float{} + __builtin_huge_valf();
  std::uint64_t found = 0;
  for (i64 b = 0; b < blocks; b += kLanes) {
    const Float bound = at(lower + b, 0) - at(drift + b, 0);
    least = lesser(bound, least);
    found |= static_cast<std::uint64_t>(signs((Int32)(bound <= reach))) << b;
  }
  *bits = found;
  return least_of(least);
}

float raise(float* __restrict lower, const float* __restrict drift, const float* __restrict fresh,
            i64 blocks) {
  Float least = Float{} + __builtin_huge_valf();
  for (i64 b = 0; b < blocks; b += kLanes) {
    const Float gone = at(drift + b, 0), now = greater(at(lower + b, 0) - gone, at(fresh + b, 0));
    least = lesser(now, least);
    *reinterpret_cast<Float*>(lower + b) = now + gone * (1 - 4e-7f);  // less than what rounding may add
  }
  return least_of(least);
}
