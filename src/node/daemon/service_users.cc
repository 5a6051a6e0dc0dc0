#include "node/daemon/service_users.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "base/error.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

void Give(const fs::path& path, const UnixUser& user) {
  if (::lchown(path.c_str(), user.user, user.group) == 0) return;
  throw Error(ErrorCode::kStorage, fmt::format("cannot give {} to its user", path.string()),
              "look at the disk, take the folder away, and make it again");
}

void SetMode(const fs::path& path, mode_t mode) {
  if (::chmod(path.c_str(), mode) == 0) return;
  throw Error(ErrorCode::kStorage, fmt::format("cannot set who may use {}", path.string()),
              "look at the disk, take the folder away, and make it again");
}

}  // namespace

UnixUser FindUnixUser(const std::string& name) {
  const bool is_number = !name.empty() && name.size() < 10 &&
                         name.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) {
    const auto number = static_cast<uid_t>(std::stoul(name));
    return {number, number};
  }
  std::vector<char> texts(1 << 16);
  passwd found{};
  passwd* entry = nullptr;
  ::getpwnam_r(name.c_str(), &found, texts.data(), texts.size(), &entry);
  if (entry == nullptr) {
    throw Error(ErrorCode::kUsage, fmt::format("there is no user '{}' on this machine", name),
                "the package partita-node makes the users of its services; without it: useradd "
                "--system " +
                    name);
  }
  return {entry->pw_uid, entry->pw_gid};
}

ServiceUsers FindServiceUsers(const ServiceNames& names) {
  return {FindUnixUser(names.node), FindUnixUser(names.pages), FindUnixUser(names.jobs)};
}

bool IsRootsPlace(const fs::path& folder) {
  const fs::path parent = fs::absolute(folder).lexically_normal().parent_path();
  struct stat status {};
  return ::stat(parent.c_str(), &status) == 0 && status.st_uid == 0 &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void RequireOwnPlace(const fs::path& folder) {
  if (::geteuid() != 0) {
    throw Error(ErrorCode::kUsage, "only root can give folders to other users",
                "run it with sudo, or leave --services out: then all is yours");
  }
  if (!IsRootsPlace(folder)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} is not root's alone: somebody else could put another folder into "
                            "the place of {}",
                            fs::absolute(folder).lexically_normal().parent_path().string(),
                            folder.string()),
                "take /var/lib/partita/node and /var/lib/partita/steward");
  }
  if (fs::exists(fs::symlink_status(folder))) {
    throw Error(ErrorCode::kUsage, fmt::format("{} is there already", folder.string()),
                "take a folder that is not there yet");
  }
}

void GiveNodeFolder(const NodeFolder& folder, const ServiceUsers& users) {
  constexpr uid_t kRoot = 0;
  constexpr mode_t kHandsGroupOn = S_ISGID;
  const fs::path control = folder.path() / "control";
  fs::create_directory(control);
  fs::create_directory(folder.web());
  fs::create_directory(folder.dictionaries());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    Give(entry.path(), {kRoot, users.node.group});
    SetMode(entry.path(), 0640);
  }
  Give(folder.path(), {kRoot, kRoot});
  SetMode(folder.path(), 0755);
  Give(folder.key(), users.node);
  SetMode(folder.key(), 0600);
  GiveFolder(folder.state(), users.node);
  GiveFolder(folder.job_key().parent_path(), users.jobs);
  GiveFolder(folder.web(), users.pages);
  SetMode(folder.web(), 0700);
  Give(control, {users.node.user, users.pages.group});
  SetMode(control, kHandsGroupOn | 0711);
  GiveFolder(folder.dictionaries(), {users.node.user, users.jobs.group});
  SetMode(folder.dictionaries(), kHandsGroupOn | 0750);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.dictionaries()))
    SetMode(entry.path(), 0640);
  Give(folder.run(), {users.jobs.user, users.node.group});
  SetMode(folder.run(), kHandsGroupOn | 0750);
}

void GiveFolder(const fs::path& folder, const UnixUser& user) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    Give(entry.path(), user);
  Give(folder, user);
}

}  // namespace partita::node
