// Files in which a party keeps what an interrupted run needs to go on: what kind they are, a digest
// of what they belong to (study, tables, keys), the content, and a digest of all that.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "base/secret.h"
#include "crypto/hash.h"

namespace partita::crypto {

struct StateKind {
  std::string magic;   // "partita chain record 2"
  std::string name;    // as errors call it: "the record of a chain"
  std::string remedy;  // what to do about a damaged one
};

Bytes EncodeState(const StateKind& kind, const Digest& binding, ByteView content);
// `read` is called with the content. Throws kBadInput for whatever EncodeState did not write, and
// where `read` leaves bytes or asks for more; kRefused for another binding.
void DecodeState(const StateKind& kind, ByteView bytes, const Digest& binding,
                 const std::function<void(ByteReader& content)>& read);
// For content that cannot be: kBadInput.
Error DamagedState(const StateKind& kind);

// Durable on return.
void WriteState(const std::filesystem::path& file, ByteView bytes);
// Empty if there is no such file. Throws kBadInput for more than 4 GiB. Wiped, for it may hold keys.
std::optional<SecretBytes> ReadState(const StateKind& kind, const std::filesystem::path& file);
// Throws kBadInput if the file is there and others than its owner may read it.
void RequireOwnersOnly(const StateKind& kind, const std::filesystem::path& file);

// A number on disk: a file with one byte for each, after a head that says what it belongs to. A
// byte is there or not, so that no failure leaves a number that is not between the last and the
// next.
class CountFile {
 public:
  CountFile(StateKind kind, std::filesystem::path file, const Digest& binding)
      : kind_(std::move(kind)), file_(std::move(file)), binding_(binding) {}
  // The number; 0 where there was no file, which is there afterwards. 0 of another binding counts
  // nothing and is bound anew. Throws as DecodeState.
  uint64_t LoadOrMake() const;
  // Durable on return. The file must be there.
  void Set(uint64_t count) const;

 private:
  StateKind kind_;
  std::filesystem::path file_;
  Digest binding_;
};

// How many steps to count ahead of the next, itself included, after so many: a thousandth of them,
// so that syncs take little of a long run and a kill loses little of it.
inline uint64_t StepsToCount(uint64_t done) { return std::max<uint64_t>(1, done / 1000); }

}  // namespace partita::crypto
