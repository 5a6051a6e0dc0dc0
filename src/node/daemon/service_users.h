// Users of their own for the services of a site (services/): node, pages, jobs, and the steward's signer.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "node/daemon/node_folder.h"

namespace partita::node {

struct UnixUser {
  uid_t user = 0;
  gid_t group = 0;
};

// By name, or by number (then the group's, too). Throws kUsage if there is none of that name.
UnixUser FindUnixUser(const std::string& name);

// Whether nobody but root can put something else into the place of the folder.
bool IsRootsPlace(const std::filesystem::path& folder);
// Before root writes what is given to another user: throws kUsage unless root calls, nothing is at `folder`,
// and only root can put something else into its place while it is written.
void RequireOwnPlace(const std::filesystem::path& folder);

// The folder and all that is in it; a link is given, not what it points to. Throws kStorage.
void GiveFolder(const std::filesystem::path& folder, const UnixUser& user);

struct ServiceUsers {
  UnixUser node, pages, jobs;
};
// Throws kUsage as FindUnixUser.
ServiceUsers FindServiceUsers(const ServiceNames& names);

// The folder of a new node, for its services. Root's stay the folder itself, node.toml and certificates, which the groups
// of node and jobs may read and nobody but root changes: by them jobs know whose approval counts and where tables are.
//   key.pem state/       node  0700      control/   node, group of the pages  2711: its socket has that group
//   job/                 jobs  0700      run/       jobs, group of the node   2750: what jobs show has that group
//   web/                 pages 0700      dictionaries/ node, group of the jobs 2750: those that are saved have that group
// Throws kStorage.
void GiveNodeFolder(const NodeFolder& folder, const ServiceUsers& users);

}  // namespace partita::node
