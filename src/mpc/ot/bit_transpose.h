// Bit matrices of 128 columns, turned from columns into rows.
//
// Timing  constant in bits; not in the number of rows (public). Proved by tests/ctime.
#pragma once

#include <cstdint>
#include <span>

#include "crypto/block.h"

namespace partita::mpc::ot {

inline constexpr size_t kColumns = 128;

// columns: column m is the bytes [m * stride, m * stride + rows.size() / 8); bit i % 8 of its byte
// i / 8 becomes bit m of rows[i]. rows.size() is a multiple of 128. Vectors of 128 bits, which the
// compiler maps to what the machine has.
void RowsOfColumns(const uint8_t* columns, size_t stride, std::span<crypto::Block> rows);

}  // namespace partita::mpc::ot
