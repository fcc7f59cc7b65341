// Picks the table of loops for the machine at hand, or the one a test asks for.
#include "simd/dispatch.hpp"
#include "simd/loops.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace kg {

KG_TABLE(Loops<float>, loops_f32)
KG_TABLE(Loops<double>, loops_f64)

namespace {

struct Level {
  const char* name;
  Simd simd;
  const Loops<float>* f32;
  const Loops<double>* f64;
  bool (*supported)();
};

#ifdef KG_X86
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
bool has_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
#endif
bool always() { return true; }

// best first
const Level levels[] = {
#ifdef KG_X86
    {"vnni", Simd::vnni, &avx512::loops_f32, &avx512::loops_f64, has_vnni},
    {"avx512", Simd::avx512, &avx512::loops_f32, &avx512::loops_f64, has_avx512},
    {"avx2", Simd::avx2, &avx2::loops_f32, &avx2::loops_f64, has_avx2},
#endif
    {"baseline", Simd::baseline, &baseline::loops_f32, &baseline::loops_f64, always},
};

const Level* choose() {
#ifdef KG_X86
  __builtin_cpu_init();
#endif
  for (const Level& level : levels)
    if (level.supported()) return &level;
  return nullptr;  // not reached: the baseline is always supported
}

const Level* current = choose();

}  // namespace

template <> const Loops<float>& loops<float>() { return *current->f32; }
template <> const Loops<double>& loops<double>() { return *current->f64; }

Simd simd() { return current->simd; }
const char* simd_level() { return current->name; }

void set_simd_level(const char* name) {
  for (const Level& level : levels)
    if (std::strcmp(level.name, name) == 0 && level.supported()) {
      current = &level;
      return;
    }
  throw std::invalid_argument(std::string("this machine or build has no simd level '") + name + "'");
}

}  // namespace kg
