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

void RequireOwnPlace(const fs::path& folder) {
  if (::geteuid() != 0) {
    throw Error(ErrorCode::kUsage, "only root can give folders to other users",
                "run it with sudo, or leave --services out: then all is yours");
  }
  const fs::path parent = fs::absolute(folder).lexically_normal().parent_path();
  struct stat status {};
  const bool own = ::stat(parent.c_str(), &status) == 0 && status.st_uid == 0 &&
                   (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!own) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} is not root's alone: somebody else could put another folder into "
                            "the place of {}",
                            parent.string(), folder.string()),
                "take /var/lib/partita/node and /var/lib/partita/steward");
  }
  if (fs::exists(fs::symlink_status(folder))) {
    throw Error(ErrorCode::kUsage, fmt::format("{} is there already", folder.string()),
                "take a folder that is not there yet");
  }
}

void GiveFolder(const fs::path& folder, const UnixUser& user) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    Give(entry.path(), user);
  Give(folder, user);
}

}  // namespace partita::node
