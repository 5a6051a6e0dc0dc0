// Encryption to a public key, and between two key holders (libsodium).
//
// Sealed boxes (crypto_box_seal: X25519, XSalsa20-Poly1305) hide a message from all but the holder
// of a key. They authenticate NOTHING: anybody can make one, so whatever must be trusted lies
// inside and is checked by other means. Pair keys (X25519, then HKDF) are known to two key holders
// only; what is encrypted under one comes from the other. XChaCha20-Poly1305 then authenticates
// associated data and tolerates random nonces: its 24 bytes never collide by chance.
//
// Timing  constant in keys and messages; not in lengths, in whether a box opens and in whether a
//         public key is valid (public). Proved by tests/ctime around libsodium.
#pragma once

#include <array>
#include <optional>

#include "crypto/random.h"

namespace partita::crypto {

using BoxPublicKey = std::array<uint8_t, 32>;

struct BoxKeyPair {
  BoxPublicKey public_key{};
  Key secret_key;
};

BoxKeyPair MakeBoxKeyPair(RandomSource& source);
// The pair of a secret key that was kept.
BoxKeyPair BoxKeyPairOf(const Key& secret_key);

// --- Sealed boxes: 48 bytes longer than the message. About 70 us to make, 30 us to open. ---------
inline constexpr size_t kSealBytes = 48;

// Throws kBadInput for a public key of low order. The one-time key comes from libsodium's own
// source, the operating system.
Bytes Seal(ByteView message, const BoxPublicKey& receiver);
// Nothing unless `sealed` was made for this key pair.
std::optional<Bytes> OpenSealed(ByteView sealed, const BoxKeyPair& receiver);

// --- Pair keys
// --------------------------------------------------------------------------------------- The key
// of `own` and `peer` for one purpose; both sides get the same. About 30 us: keep it. Throws
// kBadInput for a public key of low order.
Key PairKey(const BoxKeyPair& own, const BoxPublicKey& peer, std::string_view purpose,
            ByteView context);

// Key number `number` below `parent` (crypto_kdf, BLAKE2b). About 0.3 us, a tenth of an HKDF.
// label: 8 characters.
Key NumberedKey(const Key& parent, uint64_t number, const char (&label)[9]);

// --- XChaCha20-Poly1305: nonce, ciphertext, tag
// ------------------------------------------------------
inline constexpr size_t kAeadBytes = 24 + 16;

// A fresh nonce from `source`; kAeadBytes longer than the message.
Bytes Encrypt(const Key& key, ByteView message, ByteView associated, RandomSource& source);
// The same into `out`, of kAeadBytes + message.size() bytes; kInternal for another length.
void EncryptInto(std::span<uint8_t> out, const Key& key, ByteView message, ByteView associated,
                 RandomSource& source);
// Nothing if key, text or associated data is not what Encrypt had.
std::optional<Bytes> Decrypt(const Key& key, ByteView encrypted, ByteView associated);

}  // namespace partita::crypto
