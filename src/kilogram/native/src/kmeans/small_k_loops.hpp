// The loops of k-means with small k (kmeans/small_k.cpp), one table per instruction set as in simd/loops.hpp.
#pragma once
#include <cstdint>

namespace kg {

constexpr int kByte = 127, kWord = 32767;  // the largest whole numbers of rows and of centres
// What is known of k centres has space for so many: whole vectors, and groups of four.
constexpr std::int64_t small_k_padded(std::int64_t k) { return (k + 15) / 16 * 16; }

// The step of a row in bytes, and what they leave of it, squared.
template <class T> struct Rounded {
  T step, left;
};

// By how much a score may be off: left length[c] + reach off[c], all twice over.
template <class T> struct Doubt {
  T left, reach;
};

// Rows have whole lines of numbers, zeros beyond the last; centres come in groups of 4 to 6, [vector]
// [centre][lane], and what is known of them in arrays of `padded`, where those that are not there
// are infinitely far.
template <class T> struct SmallKLoops {
  std::int64_t lanes, words;  // numbers and 16-bit numbers of a vector
  // out[row * stride + centre] = <x, c> of two rows and a group; meanwhile the row `next` is brought into
  // cache
  void (*two_rows)(const T* rows, std::int64_t ld, const T* centres, std::int64_t size, const T* next,
                   T* out, std::int64_t stride);
  // the same of rows in bytes and centres in 16 bits; the lengths of both keep the sums below 2^31
  void (*two_codes)(const std::int8_t* one, const std::int8_t* two, std::int64_t width,
                    const std::int16_t* centres, std::int64_t size, std::int32_t* out,
                    std::int64_t stride);
  Rounded<T> (*round_row)(const T* x, std::int64_t ld, std::int8_t* codes);
  // twice dots - half, by so much less than |x|^2 is the squared distance; and of dots in steps
  void (*scores)(const T* dots, const T* half, std::int64_t padded, T* out);
  void (*code_scores)(const std::int32_t* dots, const T* scale, T step, const T* half,
                      std::int64_t padded, T* out);
  // the least of own - scores[c], less what either may be off by
  T (*lead)(const T* scores, T own, const T* apart, const T* off, Doubt<T> doubt, std::int64_t padded);
  // lower[c] = the distance of every centre from below, plus what it has drifted
  void (*bounds)(const T* scores, T norm, const T* length, const T* off, Doubt<T> doubt, const T* drift,
                 std::int64_t padded, T* lower);
  // the least of them, less what they have drifted since
  T (*least)(const T* lower, const T* drift, std::int64_t padded);
};

template <class T> const SmallKLoops<T>& small_k_loops();

}  // namespace kg
