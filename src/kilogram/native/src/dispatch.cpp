// Picks the table of loops for the machine at hand, or the one a test asks for.
#include "loops.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace kg {

#define KG_DECLARE(name)                  \
  namespace name {                        \
  extern const Loops<float> loops_f32;    \
  extern const Loops<double> loops_f64;   \
  }
KG_DECLARE(baseline)
#ifdef KG_X86
KG_DECLARE(avx2)
KG_DECLARE(avx512)
#endif

namespace {

struct Level {
  const char* name;
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
#endif
bool always() { return true; }

// best first
const Level levels[] = {
#ifdef KG_X86
    {"avx512", &avx512::loops_f32, &avx512::loops_f64, has_avx512},
    {"avx2", &avx2::loops_f32, &avx2::loops_f64, has_avx2},
#endif
    {"baseline", &baseline::loops_f32, &baseline::loops_f64, always},
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
