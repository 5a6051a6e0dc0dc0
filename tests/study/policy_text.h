// A policy for studies like examples/private_regression, at its site south.
#pragma once

#include <string>

#include "crypto/hash.h"

namespace partita::study {

inline std::string Hex(char digit) { return std::string(64, digit); }

inline crypto::Digest DigestOf(char digit) {
  crypto::Digest digest{};
  const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
  digest.fill(static_cast<uint8_t>(17 * value));
  return digest;
}

// clang-format off
inline const std::string kPolicy = R"(partita_envelope = 2
name = "pressure"
tables = ["patients"]
methods = ["mle"]
protocols = ["pooled-moments"]
functions = ["sem"]
engines = ["dealer"]
receivers = ["north", "all"]
releases = ["moments", "estimates"]
variables = ["sbp", "age", "bmi", "smoker"]
conditions = ["age < 40", "age < 41"]
proposers = ["north"]
dealers = ["helper"]
min_parties = 3
max_results = 30
valid_until = "2030-12-31"
max_leakage = {moments = "noisy", result = "noisy"}
epsilon_per_study = 3
epsilon_in_all = 12
delta = 1e-6
adjacency = "replace"
min_cell = 8

[[party]]
name = "north"
node = ")" + Hex('1') + R"("
steward = ")" + Hex('2') + R"("

[[party]]
name = "west"
node = ")" + Hex('3') + R"("
steward = ")" + Hex('4') + R"("

[[party]]
name = "helper"
node = ")" + Hex('5') + R"("
steward = ")" + Hex('6') + R"("
)";
// clang-format on

}  // namespace partita::study
