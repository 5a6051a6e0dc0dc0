// Planes of bits, packed messages, and shares of bits in GF(2^k).
#include "mpc/bits.h"

#include "mpc/binary_field.h"
#include "mpc/bit_kernels.h"
#include "mpc/prime_field.h"
#include "tests/ctime/poison.h"
#include "tests/ctime/primitives.h"

namespace partita::ctime {
namespace {

constexpr size_t kEntries = 70;  // one word of 64 and a rest

template <typename R>
void ToPlanes() {
  const auto values = Secrets<typename R::Word>(kEntries);
  for (size_t width : {1, 63, R::kBits}) Use(mpc::ToPlanes<R>(values, width));
}

template <typename R>
void FromPlanes() {
  const size_t width = 3;
  const auto planes = Secrets<uint64_t>(2 * width);
  Use(mpc::FromPlanes<R>(planes, kEntries, width));
}

template <typename R>
void PackedMessages() {
  const auto values = Secrets<typename R::Word>(kEntries);
  for (size_t width : {1, 7, 41, R::kBits}) {
    Use(mpc::UnpackLow<R>(mpc::PackLow<R>(values, width), width));
  }
}

void BitLoops() {
  auto sum = Secrets<uint64_t>(9, 1);
  const auto a = Secrets<uint64_t>(9, 2), b = Secrets<uint64_t>(9, 3);
  mpc::XorInto(sum, a);
  mpc::AndInto(sum, a, b);
  Use(sum);
  mpc::BitMatrix matrix = mpc::MakeBits({kEntries, 1}, 4);
  Poison(matrix.words);
  mpc::ClearUnused(matrix);
  mpc::SetBit(matrix, 2, 65, mpc::GetBit(matrix, 1, 66));
  Use(matrix.words);
}

// By public factors, and with each other.
template <size_t kDegree>
void BitSlices() {
  mpc::BitSlices<kDegree> a, b;
  for (auto& slice : a) slice = Secrets<uint64_t>(5, 1);
  for (auto& slice : b) slice = Secrets<uint64_t>(5, 2);
  auto product = mpc::Multiply<kDegree>(a, b);
  mpc::AddScaled<kDegree>(a, 3, product);
  for (const auto& slice : product) Use(slice);
  const uint8_t element = mpc::ElementAt<kDegree>(product, 3, 17);
  Use(element);
}

}  // namespace

std::vector<Primitive> BitPrimitives() {
  return {{"to_planes_ring128", ToPlanes<mpc::Ring128>},
          {"to_planes_ring64", ToPlanes<mpc::Ring64>},
          {"from_planes_ring128", FromPlanes<mpc::Ring128>},
          {"from_planes_ring64", FromPlanes<mpc::Ring64>},
          {"from_planes_field127", FromPlanes<mpc::Field127>},
          {"packed_messages_ring128", PackedMessages<mpc::Ring128>},
          {"packed_messages_ring64", PackedMessages<mpc::Ring64>},
          {"bit_loops", BitLoops},
          {"bit_slices_4", BitSlices<2>},
          {"bit_slices_8", BitSlices<3>},
          {"bit_slices_16", BitSlices<4>}};
}

}  // namespace partita::ctime
