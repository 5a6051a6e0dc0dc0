// Bit matrices against one bit at a time.
#include "mpc/ot/bit_transpose.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace partita::mpc::ot::bit_transpose_test {
namespace {

TEST(BitTransposeTest, EveryBitIsWhereItBelongs) {
  std::mt19937_64 random(1);
  for (size_t rows : {0, 128, 256, 1152}) {
    const size_t stride = rows / 8 + 16;  // columns with gaps
    std::vector<uint8_t> columns(kColumns * stride + 16);
    for (uint8_t& byte : columns) byte = static_cast<uint8_t>(random());
    std::vector<crypto::Block> out(rows);
    RowsOfColumns(columns.data(), stride, out);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t m = 0; m < kColumns; ++m) {
        const bool bit = (columns[m * stride + i / 8] >> (i % 8) & 1) != 0;
        ASSERT_EQ((out[i] >> m & 1) != 0, bit) << rows << ": " << i << ", " << m;
      }
    }
  }
}

}  // namespace
}  // namespace partita::mpc::ot::bit_transpose_test
