// What memcheck has to report, each in the one way that it does.
#include <array>

#include "tests/ctime/poison.h"
#include "tests/ctime/primitives.h"

namespace partita::ctime {
namespace {

volatile uint64_t used;

void SecretBranch() {
  const auto secret = Secrets<uint64_t>(1);
  // Stores to a volatile stay where they are, so no compiler makes this a conditional move.
  if ((secret[0] & 1) != 0) used = 1;
}

void SecretIndex() {
  static std::array<uint64_t, 256> table{};
  const auto secret = Secrets<uint8_t>(1);
  used = table[secret[0]];
}

void SecretLoop() {
  const auto secret = Secrets<uint8_t>(1);
  for (size_t i = 0; i < secret[0]; ++i) used = i;
}

}  // namespace

std::vector<Primitive> FaultyPrimitives() {
  return {
      {"secret_branch", SecretBranch}, {"secret_index", SecretIndex}, {"secret_loop", SecretLoop}};
}

}  // namespace partita::ctime
