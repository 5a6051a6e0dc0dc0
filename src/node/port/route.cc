#include "node/port/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hex.h"

namespace partita::node {
namespace {

constexpr std::string_view kRunPrefix = "run-";
constexpr size_t kTagDigits = 2 * sizeof(RunTag);
constexpr size_t kMaxHost = 200;

}  // namespace

RunTag DrawRunTag(crypto::RandomSource& random) {
  RunTag tag{};
  random.Fill(tag);
  return tag;
}

std::string RunServerName(const RunTag& tag, std::string_view host) {
  return fmt::format("{}{}.{}", kRunPrefix, ToHex(tag), host);
}

std::optional<RunTag> RunOf(std::string_view server_name, std::string_view host) {
  if (server_name.size() != kRunPrefix.size() + kTagDigits + 1 + host.size()) return std::nullopt;
  RunTag tag{};
  if (!FromHex(server_name.substr(kRunPrefix.size(), kTagDigits), tag)) return std::nullopt;
  if (server_name != RunServerName(tag, host)) return std::nullopt;
  return tag;
}

std::string StripeServerName(const RunStripe& stripe, std::string_view host) {
  return fmt::format("{}{}-{}.{}", kRunPrefix, ToHex(stripe.run), stripe.stripe, host);
}

std::optional<RunStripe> StripeOf(std::string_view server_name, std::string_view host) {
  constexpr size_t kBeforeStripe = kRunPrefix.size() + kTagDigits + 1;
  if (server_name.size() <= kBeforeStripe) return std::nullopt;
  RunStripe stripe;
  if (!FromHex(server_name.substr(kRunPrefix.size(), kTagDigits), stripe.run)) return std::nullopt;
  const std::string_view rest = server_name.substr(kBeforeStripe);
  const auto number = std::from_chars(rest.data(), rest.data() + rest.size(), stripe.stripe);
  if (number.ec != std::errc() || server_name != StripeServerName(stripe, host))
    return std::nullopt;
  return stripe;
}

void CheckPortHost(std::string_view host) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  if (!host.empty() && host.size() <= kMaxHost && std::all_of(host.begin(), host.end(), allowed)) {
    return;
  }
  throw Error(ErrorCode::kUsage, fmt::format("'{}' cannot be the name of this host", host),
              "Use the name that other sites reach this node by, in small letters: digits, '-' and "
              "'.' may occur in it, an IPv6 address may not.");
}

}  // namespace partita::node
