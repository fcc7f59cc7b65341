// The vectors of the instruction set that a file of loops is compiled for, see simd/loops.cpp for the rules.
#pragma once
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace kg {
namespace {

using i64 = std::int64_t;

#if defined(__AVX512BW__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

// as many numbers as a vector has
template <class T> struct Wide {
  typedef T type __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));
};

// The numbers S of a vector as one, half on half: both(a, b) takes vectors and numbers.
template <class S, class V, class Both>
static inline __attribute__((always_inline)) S folded(V v, const Both& both) {
  if constexpr (sizeof(V) == 2 * sizeof(S)) {
    return both(v[0], v[1]);
  } else {
    typedef S Half __attribute__((vector_size(sizeof(V) / 2)));
    Half half[2];
    __builtin_memcpy(half, &v, sizeof(V));
    return folded<S, Half>(both(half[0], half[1]), both);
  }
}

}  // namespace
}  // namespace kg
