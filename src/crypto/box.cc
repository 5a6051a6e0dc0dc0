#include "crypto/box.h"

#include <sodium.h>

#include "crypto/kdf.h"

namespace partita::crypto {
namespace {

constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(kSealBytes == crypto_box_SEALBYTES);
static_assert(kAeadBytes == kNonceBytes + kTagBytes);

// libsodium chooses the fastest code for this processor when it is initialised.
void InitialiseSodium() {
  static const bool is_ready = sodium_init() >= 0;
  if (!is_ready) throw Error(ErrorCode::kInternal, "libsodium cannot be used");
}

void CheckKey(int result) {
  if (result != 0) {
    throw Error(ErrorCode::kBadInput, "a public key for encryption is not valid",
                "Ask its owner for the key again.");
  }
}

}  // namespace

BoxKeyPair MakeBoxKeyPair(RandomSource& source) { return BoxKeyPairOf(RandomKey(source)); }

BoxKeyPair BoxKeyPairOf(const Key& secret_key) {
  InitialiseSodium();
  BoxKeyPair pair;
  pair.secret_key = secret_key;
  CheckKey(crypto_scalarmult_base(pair.public_key.data(), pair.secret_key.Expose().data()));
  return pair;
}

Bytes Seal(ByteView message, const BoxPublicKey& receiver) {
  InitialiseSodium();
  Bytes sealed(message.size() + kSealBytes);
  CheckKey(crypto_box_seal(sealed.data(), message.data(), message.size(), receiver.data()));
  return sealed;
}

std::optional<Bytes> OpenSealed(ByteView sealed, const BoxKeyPair& receiver) {
  InitialiseSodium();
  if (sealed.size() < kSealBytes) return std::nullopt;
  Bytes message(sealed.size() - kSealBytes);
  if (crypto_box_seal_open(message.data(), sealed.data(), sealed.size(), receiver.public_key.data(),
                           receiver.secret_key.Expose().data()) != 0) {
    return std::nullopt;
  }
  return message;
}

Key PairKey(const BoxKeyPair& own, const BoxPublicKey& peer, std::string_view purpose,
            ByteView context) {
  InitialiseSodium();
  Key shared;
  CheckKey(crypto_scalarmult(shared.Expose().data(), own.secret_key.Expose().data(), peer.data()));
  // Both public keys, in an order that does not depend on the side.
  const bool own_first = own.public_key < peer;
  const BoxPublicKey& low = own_first ? own.public_key : peer;
  const BoxPublicKey& high = own_first ? peer : own.public_key;
  return DeriveKey(shared, purpose, {low, high, context});
}

Key NumberedKey(const Key& parent, uint64_t number, const char (&label)[9]) {
  InitialiseSodium();
  Key key;
  if (crypto_kdf_derive_from_key(key.Expose().data(), key.Expose().size(), number, label,
                                 parent.Expose().data()) != 0) {
    throw Error(ErrorCode::kInternal, "libsodium cannot derive a key");
  }
  return key;
}

Bytes Encrypt(const Key& key, ByteView message, ByteView associated, RandomSource& source) {
  Bytes encrypted(message.size() + kAeadBytes);
  EncryptInto(encrypted, key, message, associated, source);
  return encrypted;
}

void EncryptInto(std::span<uint8_t> out, const Key& key, ByteView message, ByteView associated,
                 RandomSource& source) {
  InitialiseSodium();
  if (out.size() != message.size() + kAeadBytes) {
    throw Error(ErrorCode::kInternal, "an encryption has no room for its result");
  }
  source.Fill(out.first(kNonceBytes));
  crypto_aead_xchacha20poly1305_ietf_encrypt(out.data() + kNonceBytes, nullptr, message.data(),
                                             message.size(), associated.data(), associated.size(),
                                             nullptr, out.data(), key.Expose().data());
}

std::optional<Bytes> Decrypt(const Key& key, ByteView encrypted, ByteView associated) {
  InitialiseSodium();
  if (encrypted.size() < kAeadBytes) return std::nullopt;
  Bytes message(encrypted.size() - kAeadBytes);
  const ByteView text = encrypted.subspan(kNonceBytes);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(message.data(), nullptr, nullptr, text.data(),
                                                 text.size(), associated.data(), associated.size(),
                                                 encrypted.data(), key.Expose().data()) != 0) {
    return std::nullopt;
  }
  return message;
}

}  // namespace partita::crypto
