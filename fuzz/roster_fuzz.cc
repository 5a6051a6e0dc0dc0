// Rosters: a typed error, or a roster that survives being written and read again.
#include <cstdlib>

#include "net/roster.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace partita;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  net::Roster roster;
  try {
    roster = net::ParseRoster(text, "fuzz");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) std::abort();
    return 0;
  }
  if (net::ParseRoster(net::FormatRoster(roster), "again") != roster) std::abort();
  return 0;
}
