// What an [[analysis]] with method = "marginals" asks for. All of it is public.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/marginals/columns.h"

namespace partita::methods::marginals {

inline constexpr char kMethodName[] = "marginals";
inline constexpr uint32_t kMethodVersion = 1;
inline constexpr char kProtocol[] = "shared-tables";

// Against whom `epsilon` holds: whoever sees what opens, or every single computing party as well,
// which knows its own share of the noise.
enum class Against { kOutside, kParties };

struct Spec {
  std::vector<LevelColumn> columns;
  double epsilon = 0, delta = 0;
  Against against = Against::kParties;
  uint64_t synthetic_rows = 0;  // of each table that the receiver draws; 0: none
  uint32_t synthetic_sets = 1;
};

}  // namespace partita::methods::marginals
