// roster.toml: where every party is reached and how it is recognised.
//
//   [[party]]
//   name = "north"
//   address = "north.example.org:7400"
//   fingerprint = "3f8a..."              # SHA-256 of its certificate, compared out of band
//   steward = "91c0..."                  # optional: of the certificate whose key approves for it;
//                                        # without it, the key of its certificate approves
//
// The order of the parties is their numbering. The same file at every party; it holds no secret.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "net/transport.h"

namespace partita::net {

inline constexpr size_t kMaxParties = 64;

struct RosterEntry {
  std::string name;
  std::string address;       // "host:port" or "[2001:db8::1]:port"
  std::string fingerprint;   // 64 lower-case hexadecimal digits
  std::string steward = {};  // the same; empty: none is named

  bool operator==(const RosterEntry&) const = default;
};

struct Address {
  std::string host;
  std::string port;
};

using Roster = std::vector<RosterEntry>;

// One party is enough, so that a roster can be put together step by step.
// Strict: unknown or missing keys, bad or repeated names, addresses and fingerprints are kBadInput
// naming file, line and column. `file` is for messages.
Roster ParseRoster(std::string_view text, std::string_view file);
Roster LoadRoster(const std::filesystem::path& file);

std::string FormatRoster(const Roster& roster);
// Replaces the file in one step. Throws kBadInput if ParseRoster would refuse it, kUsage if it
// cannot be written.
void SaveRoster(const Roster& roster, const std::filesystem::path& file);

// Throws kBadInput with a hint if there is no party of that name.
PartyIndex FindParty(const Roster& roster, std::string_view name);
std::vector<std::string> Names(const Roster& roster);
// Whether any party has a steward of its own.
bool NamesStewards(const Roster& roster);

// Throws kBadInput unless `text` is "host:port" with a port of 1 to 65535.
Address ParseAddress(std::string_view text);

}  // namespace partita::net
