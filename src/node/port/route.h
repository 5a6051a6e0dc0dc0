// Whom a connection to the one port is for, by the server name of its hello.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crypto/random.h"

namespace partita::node {

// Names one attempt of one run, in its `start` message; new for each. No secret: everybody between
// two nodes sees it.
using RunTag = std::array<uint8_t, 8>;

RunTag DrawRunTag(crypto::RandomSource& random);

// "run-TAG.HOST", TAG in 16 lower-case hexadecimal digits.
std::string RunServerName(const RunTag& tag, std::string_view host);
// The run that a name is for: exactly what RunServerName gives. Nothing for any other name, which
// then is for the node itself.
std::optional<RunTag> RunOf(std::string_view server_name, std::string_view host);

// The connections of one stripe of a run (docs/stripes.md), numbered from 0: "run-TAG-STRIPE.HOST", STRIPE in
// decimal digits without zeros before it.
struct RunStripe {
  RunTag run{};
  uint32_t stripe = 0;

  bool operator==(const RunStripe&) const = default;
};
std::string StripeServerName(const RunStripe& stripe, std::string_view host);
// Exactly what StripeServerName gives; nothing for any other name.
std::optional<RunStripe> StripeOf(std::string_view server_name, std::string_view host);

// The name under which others reach this node: 1 to 200 small letters, digits, '.' and '-'. Throws
// kUsage.
void CheckPortHost(std::string_view host);

}  // namespace partita::node
