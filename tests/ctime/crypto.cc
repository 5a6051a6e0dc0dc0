// Streams, hashes, key derivation and boxes. OpenSSL and libsodium are trusted to be constant in
// their secrets (trusted.supp): what is looked at is what Partita does around them.
#include "crypto/block.h"
#include "crypto/box.h"
#include "crypto/buffered_hash.h"
#include "crypto/hash.h"
#include "crypto/kdf.h"
#include "crypto/key_stream.h"
#include "crypto/prg.h"
#include "crypto/ristretto.h"
#include "tests/ctime/primitives.h"
#include "tests/ctime/secret_source.h"

namespace partita::ctime {
namespace {

void Prg() {
  crypto::Prg prg(SecretKey());
  Bytes out(5000);
  for (size_t size : {1, 15, 1024, 5000}) prg.Fill(std::span(out).first(size));
  prg.Seek(12345);
  prg.Fill(std::span(out).first(100));
  Use(out);
}

void KeyStream() {
  crypto::KeyStream stream;
  stream.Start(SecretKey(), 77);
  Bytes out(crypto::KeyStream::kMaxBytes);
  stream.Next(out);
  stream.Next(std::span(out).first(5));
  Use(out);
}

void KeyDerivation() {
  const crypto::Key key = crypto::DeriveKey(SecretKey(), "purpose", {AsBytes("context")});
  Use(key);
  Bytes out(100);
  crypto::Hkdf(key.Expose(), AsBytes("salt"), AsBytes("info"), out);
  Use(out);
  const crypto::Key child = crypto::NumberedKey(key, 7, "children");
  Use(child);
}

void Hash() {
  const auto secret = Secrets<uint8_t>(100);
  crypto::Sha256 hash;
  const crypto::Digest digest = hash.Field(secret).U64(3).Update(secret).Finish();
  Use(digest);
  const auto longer = Secrets<uint8_t>(300);
  crypto::BufferedSha256 buffered;
  const crypto::Digest same = buffered.Field(secret).U64(3).Update(secret).Update(longer).Finish();
  Use(same);
}

void TransferHash() {
  const auto key = Secrets<uint8_t>(16);  // public in the protocol; a secret one is safe as well
  crypto::BlockPermutation permutation(key);
  auto inputs = Secrets<crypto::Block>(9);
  std::vector<crypto::Block> out(27);
  crypto::TweakedHash(permutation, inputs, 5, 6, 3, out);
  Use(out);
}

crypto::BoxKeyPair SecretPair(uint64_t seed) {
  crypto::BoxKeyPair pair = crypto::BoxKeyPairOf(SecretKey(seed));
  // That is what a public key is for.
  MakePublic(std::span<uint8_t>(pair.public_key));
  return pair;
}

void SealedBox() {
  const crypto::BoxKeyPair pair = SecretPair(1);
  Bytes sealed = crypto::Seal(Secrets<uint8_t>(100), pair.public_key);
  // A ciphertext travels.
  MakePublic(sealed);
  const auto opened = crypto::OpenSealed(sealed, pair);
  Use(opened);
  sealed[60] ^= 1;
  const auto refused = crypto::OpenSealed(sealed, pair);
  Use(refused);
}

void PairKey() {
  const crypto::BoxKeyPair own = SecretPair(1), peer = SecretPair(2);
  const crypto::Key key = crypto::PairKey(own, peer.public_key, "purpose", AsBytes("context"));
  Use(key);
}

void AuthenticatedEncryption() {
  crypto::SystemRandom source;  // of the nonce, which travels
  const crypto::Key key = SecretKey();
  Bytes encrypted = crypto::Encrypt(key, Secrets<uint8_t>(100), AsBytes("associated"), source);
  // A ciphertext travels.
  MakePublic(encrypted);
  const auto decrypted = crypto::Decrypt(key, encrypted, AsBytes("associated"));
  Use(decrypted);
  const auto refused = crypto::Decrypt(key, encrypted, AsBytes("other"));
  Use(refused);
}

void Group() {
  SecretSource source;
  const crypto::RistrettoScalar scalar = crypto::RandomScalar(source);
  const crypto::RistrettoPoint point = crypto::RistrettoPoint::Draw(source);
  const crypto::RistrettoPoint product = point.Times(scalar);
  const crypto::RistrettoPoint base = crypto::RistrettoPoint::Generate(scalar);
  const auto sum = product.Plus(base), difference = product.Minus(base);
  Use(sum);
  Use(difference);
  const auto hashed = crypto::RistrettoPoint::Hash(Secrets<uint8_t>(50));
  Use(hashed);
}

}  // namespace

std::vector<Primitive> CryptoPrimitives() {
  return {{"prg", Prg},
          {"key_stream", KeyStream},
          {"key_derivation", KeyDerivation},
          {"hash", Hash},
          {"transfer_hash", TransferHash},
          {"sealed_box", SealedBox},
          {"pair_key", PairKey},
          {"authenticated_encryption", AuthenticatedEncryption},
          {"group", Group}};
}

}  // namespace partita::ctime
