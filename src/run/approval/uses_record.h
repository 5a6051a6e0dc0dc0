// A text file that counts the uses of a signed document, one line for each after a line that names
// the document. Whoever has it open holds a lock on it, so that no two runs take the same use.
//
// A line is appended and synced: a crash can waste a use, never forget one; a torn line counts as
// a use. Without the file the document is worth nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/hash.h"
#include "net/socket.h"

namespace partita::run {

// Of what the uses are counted, in messages.
struct CountedDocument {
  const char* name;        // "envelope"
  const char* sign_again;  // a hint
};

class UsesRecord {
 public:
  enum class Access { kRead, kCount };

  // An empty record in place of an earlier one. Throws kUsage if it cannot be written.
  static void Start(const std::filesystem::path& file, const CountedDocument& document,
                    const crypto::Digest& digest);

  // Waits for whoever holds it. Throws kRefused if it is missing, cannot be read, or belongs to
  // another document.
  UsesRecord(std::filesystem::path file, const CountedDocument& document,
             const crypto::Digest& digest, Access access);

  // One for each use, a torn one included.
  const std::vector<std::string>& lines() const { return lines_; }
  // Durable on return. Throws kRefused if it cannot be made so: what was written of it counts.
  void Append(std::string_view line);
  [[noreturn]] void Refuse(const std::string& what, const std::string& hint) const;

 private:
  void Open(int access);
  void Lock(int kind);
  bool HasTheName() const;
  std::string Read();
  [[noreturn]] void Fail(const std::string& what) const;

  std::filesystem::path file_;
  CountedDocument document_;
  net::Socket descriptor_;
  std::vector<std::string> lines_;
  bool torn_ = false;
};

}  // namespace partita::run
