// The vectors of the instruction set that a file of loops is compiled for, see loops.cpp for the rules.
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

}  // namespace
}  // namespace kg
