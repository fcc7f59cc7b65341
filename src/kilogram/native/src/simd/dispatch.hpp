// Tables of loops, one for each instruction set, and which of them is taken; simd/dispatch.cpp chooses the level.
#pragma once

namespace kg {

// Each has all that the one before has. The last adds sums of products of bytes: most tables have nothing
// of their own for it.
enum class Simd { baseline, avx2, avx512, vnni };
Simd simd();

}  // namespace kg

#ifdef KG_X86
#define KG_TABLE(type, name)                      \
  namespace baseline { extern const type name; }  \
  namespace avx2 { extern const type name; }      \
  namespace avx512 { extern const type name; }
#define KG_PICK(name)                                   \
  if (simd() >= Simd::avx512) return avx512::name;      \
  if (simd() == Simd::avx2) return avx2::name;          \
  return baseline::name;
#else
#define KG_TABLE(type, name) namespace baseline { extern const type name; }
#define KG_PICK(name) return baseline::name;
#endif
