// The order in which holders of a block agree to list its rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace partita::data {

// Sorts row indices by their keys, bytewise (not by any locale); equal keys by row index.
void SortRowsByKey(std::span<uint32_t> rows, std::span<const std::string> keys);

}  // namespace partita::data
