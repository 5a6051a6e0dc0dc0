#include "node/web/folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/error.h"

namespace partita::node::web {
namespace {

constexpr char kOwnName[] = "localhost";

}  // namespace

WebFolder::WebFolder(std::filesystem::path path) : path_(std::move(path)) {
  const bool is_made = ::mkdir(path_.c_str(), 0700) == 0;
  if (!is_made && !std::filesystem::is_directory(path_)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("cannot make the folder {} of the pages", path_.string()),
                "Run as the user who owns the node's folder, or name one with --state.");
  }
}

crypto::Identity WebFolder::OwnIdentity() const {
  if (std::filesystem::exists(certificate()) && std::filesystem::exists(key())) {
    crypto::Identity identity = crypto::LoadIdentity(certificate(), key());
    const std::string fingerprint = crypto::Fingerprint(*identity.certificate);
    if (!crypto::CertificateProblem(*identity.certificate, kOwnName, fingerprint)) return identity;
  }
  std::filesystem::remove(certificate());
  std::filesystem::remove(key());
  crypto::Identity identity =
      crypto::MakeIdentity({.name = kOwnName, .kind = crypto::KeyKind::kP256});
  SaveIdentity(identity, certificate(), key());
  return identity;
}

}  // namespace partita::node::web
