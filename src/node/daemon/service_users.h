// Users of their own for the services of a site (services/): one for node, pages and jobs, one for the
// steward's signer.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace partita::node {

struct UnixUser {
  uid_t user = 0;
  gid_t group = 0;
};

// By name, or by number (then the group's, too). Throws kUsage if there is none of that name.
UnixUser FindUnixUser(const std::string& name);

// Before root writes what is given to another user: throws kUsage unless root calls, nothing is at `folder`,
// and only root can put something else into its place while it is written.
void RequireOwnPlace(const std::filesystem::path& folder);

// The folder and all that is in it; a link is given, not what it points to. Throws kStorage.
void GiveFolder(const std::filesystem::path& folder, const UnixUser& user);

}  // namespace partita::node
