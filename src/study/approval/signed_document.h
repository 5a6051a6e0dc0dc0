// What approvals, envelopes and bundles have in common: strict reading of a flat JSON object, and a
// signature beside the fields. Private to those documents (heavy include).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "study/approval/approval.h"

namespace partita::study {

inline constexpr size_t kMaxVersionBytes = 32;  // of `software_version`

// Reads the members of one JSON object by name. Errors are kBadInput "FILE: what".
class DocumentReader {
 public:
  // kind: the key that says what the document is, with its format version, which must be `format`.
  DocumentReader(std::string_view text, std::string_view file, const std::string& kind,
                 uint64_t format = 1);

  [[noreturn]] void Fail(const std::string& what) const;
  // Valid UTF-8 of at most max_bytes on one line, without control characters.
  std::string Text(const std::string& key, size_t max_bytes) const;
  // The same of several lines.
  std::string LongText(const std::string& key, size_t max_bytes) const;
  std::string PartyName(const std::string& key) const;
  std::string StudyName(const std::string& key) const;
  std::vector<std::string> Texts(const std::string& key, size_t max_bytes) const;
  uint64_t Number(const std::string& key, uint64_t least, uint64_t most) const;
  bool Bool(const std::string& key) const;
  bool IsNull(const std::string& key) const;
  int64_t Time(const std::string& key) const;
  Bytes Hex(const std::string& key, size_t max_bytes) const;
  // null is the zero digest.
  Digest Hash(const std::string& key) const;
  DisclosureSpec Disclosure() const;
  Signature ReadSignature() const;
  // Fails unless `rendered` is the text that was read, but for blanks at its end.
  void RequireForm(std::string_view rendered) const;

 private:
  const nlohmann::json& Get(const std::string& key) const;

  std::string_view text_;
  std::string file_;
  nlohmann::json object_;
};

// null if zero.
nlohmann::json HashJson(const Digest& digest);
void AddDisclosure(const DisclosureSpec& disclosure, nlohmann::ordered_json& object);
void AddSignature(const Signature& signature, nlohmann::ordered_json& object);
std::string RenderObject(const nlohmann::ordered_json& object);

void WriteDisclosure(const DisclosureSpec& disclosure, ByteWriter& writer);

// fields: canonical bytes of the document; the certificate is signed with them.
Signature SignFields(const crypto::Identity& identity, std::string_view domain, ByteView fields);
// Throws kRefused. what: "the approval of party north".
void RequireSignature(const Signature& signature, std::string_view domain, ByteView fields,
                      const std::string& what, const std::string& party,
                      const std::string& fingerprint);

}  // namespace partita::study
