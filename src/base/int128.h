// 128-bit integers, spelled so that -Wpedantic accepts them.
#pragma once

#include <cstdint>
#include <string>

namespace partita {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// Decimal, for tests and error messages about public numbers.
std::string ToString(Int128 value);

}  // namespace partita
