// A read-only view of a matrix with any strides, and the scratch memory of a team of threads.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace kg {

using i64 = std::int64_t;

template <class T> struct Rows {
  const T* data;
  i64 n, d;    // rows, columns
  i64 rs, cs;  // strides, in elements
  const T* at(i64 i, i64 k) const { return data + i * rs + k * cs; }
};

// One aligned block per thread, allocated before the parallel region: an exception must not
// leave one. Blocks start on their own cache lines.
template <class T> class Scratch {
 public:
  Scratch(i64 blocks, i64 size) : stride_((size * sizeof(T) + 127) / 128 * 128 / sizeof(T)) {
    const std::size_t bytes = static_cast<std::size_t>(blocks * stride_) * sizeof(T);
    data_.reset(static_cast<T*>(std::aligned_alloc(128, bytes ? bytes : 128)));
    if (!data_) throw std::bad_alloc();
  }
  T* block(i64 i) const { return data_.get() + i * stride_; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  i64 stride_;
  std::unique_ptr<T, Free> data_;
};

inline i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

}  // namespace kg
