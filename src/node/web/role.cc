#include "node/web/role.h"

#include <array>

namespace partita::node::web {
namespace {

constexpr std::array<std::string_view, 4> kRoleNames = {"steward", "analyst", "operator",
                                                        "auditor"};

}  // namespace

std::string RoleName(Role role) { return std::string(kRoleNames[static_cast<size_t>(role)]); }

std::optional<Role> RoleNamed(std::string_view name) {
  for (size_t i = 0; i < kRoleNames.size(); ++i) {
    if (kRoleNames[i] == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace partita::node::web
