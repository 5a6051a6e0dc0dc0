#include "tests/ctime/primitives.h"

#include <ostream>

namespace partita::ctime {
namespace {

std::vector<Primitive> Joined(std::initializer_list<std::vector<Primitive>> lists) {
  std::vector<Primitive> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

std::vector<Primitive> QuickPrimitives() {
  return Joined({ArithmeticPrimitives(), BitPrimitives(), CryptoPrimitives(), TransferPrimitives(),
                 EnginePrimitives()});
}

void PrintTo(const Primitive& primitive, std::ostream* out) { *out << primitive.name; }

}  // namespace partita::ctime
