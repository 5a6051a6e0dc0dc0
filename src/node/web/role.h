// What an account may do. One role each: a person with two has two accounts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace partita::node::web {

enum class Role : uint8_t {
  kSteward,   // decides about studies and parties, with the passphrase of the steward's key
  kAnalyst,   // proposes studies, reads results
  kOperator,  // keeps the node going, invites sites, makes accounts; reads no results
  kAuditor,   // reads
};

std::string RoleName(Role role);  // "steward"
std::optional<Role> RoleNamed(std::string_view name);

// A set of roles.
using Roles = uint8_t;
constexpr Roles RoleBit(Role role) { return static_cast<Roles>(1U << static_cast<unsigned>(role)); }
inline constexpr Roles kAnyone = 0;  // also without a session
inline constexpr Roles kStewards = RoleBit(Role::kSteward);
inline constexpr Roles kAnalysts = RoleBit(Role::kAnalyst);
inline constexpr Roles kOperators = RoleBit(Role::kOperator);
inline constexpr Roles kAuditors = RoleBit(Role::kAuditor);
inline constexpr Roles kAllRoles = kStewards | kAnalysts | kOperators | kAuditors;

}  // namespace partita::node::web
