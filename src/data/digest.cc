#include "data/digest.h"

#include <openssl/evp.h>

namespace partita::data {

namespace {

void Require(int ok) {
  if (ok != 1) throw Error(ErrorCode::kInternal, "SHA-256 failed in the cryptographic library");
}

struct ContextDeleter {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

struct Sha256Stream::State {
  std::unique_ptr<EVP_MD_CTX, ContextDeleter> context{EVP_MD_CTX_new()};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {
  Require(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr));
}

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::Update(ByteView bytes) {
  Require(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()));
}

Digest Sha256Stream::Finish() {
  Digest digest{};
  Require(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr));
  return digest;
}

}  // namespace partita::data
