#include "mpc/ot/bit_transpose.h"

#include <cassert>
#include <cstring>

namespace partita::mpc::ot {
namespace {

// Two lanes of 64 bits; the low one first, as in memory.
using TransposeLanes = uint64_t __attribute__((vector_size(16)));

// Exchanges the upper right and the lower left quarter of every square of 2 kWidth bits.
template <int kWidth>
void SwapQuarters(TransposeLanes* a, uint64_t mask) {
  const TransposeLanes keep = {mask, mask};
  for (size_t begin = 0; begin < kColumns; begin += 2 * kWidth) {
    for (size_t i = begin; i < begin + kWidth; ++i) {
      const TransposeLanes differ = ((a[i] >> kWidth) ^ a[i + kWidth]) & keep;
      a[i + kWidth] ^= differ;
      a[i] ^= differ << kWidth;
    }
  }
}

void SwapHalves(TransposeLanes* a) {
  for (size_t i = 0; i < 64; ++i) {
    const uint64_t high = a[i][1];
    a[i][1] = a[i + 64][0];
    a[i + 64][0] = high;
  }
}

}  // namespace

void RowsOfColumns(const uint8_t* columns, size_t stride, std::span<crypto::Block> rows) {
  assert(rows.size() % kColumns == 0);
  TransposeLanes a[kColumns];
  for (size_t first = 0; first < rows.size(); first += kColumns) {
    for (size_t m = 0; m < kColumns; ++m) {
      std::memcpy(&a[m], columns + m * stride + first / 8, sizeof(a[m]));
    }
    SwapHalves(a);
    SwapQuarters<32>(a, 0x00000000ffffffffu);
    SwapQuarters<16>(a, 0x0000ffff0000ffffu);
    SwapQuarters<8>(a, 0x00ff00ff00ff00ffu);
    SwapQuarters<4>(a, 0x0f0f0f0f0f0f0f0fu);
    SwapQuarters<2>(a, 0x3333333333333333u);
    SwapQuarters<1>(a, 0x5555555555555555u);
    std::memcpy(&rows[first], a, sizeof(a));
  }
}

}  // namespace partita::mpc::ot
