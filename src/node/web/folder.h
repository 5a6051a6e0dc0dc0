// What the web process keeps, in a folder of its own (mode 0700): accounts.sqlite, and the certificate that
// browsers see unless another is given.
#pragma once

#include <filesystem>
#include <string>

#include "crypto/certificate.h"

namespace partita::node::web {

class WebFolder {
 public:
  // Makes it if it is not there. Throws kUsage if it cannot be made.
  explicit WebFolder(std::filesystem::path path);

  std::filesystem::path accounts() const { return path_ / "accounts.sqlite"; }
  std::filesystem::path certificate() const { return path_ / "cert.pem"; }
  std::filesystem::path key() const { return path_ / "key.pem"; }

  // The own certificate, of "localhost", for two years: made if it is not there or too old. Nobody vouches
  // for it: browsers warn, and people compare its fingerprint. Throws as SaveIdentity and LoadIdentity.
  crypto::Identity OwnIdentity() const;

 private:
  std::filesystem::path path_;
};

}  // namespace partita::node::web
