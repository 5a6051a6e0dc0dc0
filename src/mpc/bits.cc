#include "mpc/bits.h"

namespace partita::mpc {

BitMatrix MakeBits(Shape shape, size_t width) {
  return {shape, width, std::vector<uint64_t>(width * WordsPerPlane(shape))};
}

bool GetBit(const BitMatrix& bits, size_t plane, size_t entry) {
  return (bits.words[plane * WordsPerPlane(bits.shape) + entry / 64] >> (entry % 64) & 1) != 0;
}

void SetBit(BitMatrix& bits, size_t plane, size_t entry, bool value) {
  uint64_t& word = bits.words[plane * WordsPerPlane(bits.shape) + entry / 64];
  const uint64_t bit = uint64_t{1} << (entry % 64);
  word = value ? word | bit : word & ~bit;
}

void ClearUnused(BitMatrix& bits) {
  const size_t used = bits.shape.size() % 64;
  const size_t per_plane = WordsPerPlane(bits.shape);
  for (size_t plane = 0; used != 0 && plane < bits.width; ++plane) {
    bits.words[(plane + 1) * per_plane - 1] &= (uint64_t{1} << used) - 1;
  }
}

}  // namespace partita::mpc
