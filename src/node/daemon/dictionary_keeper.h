// The dictionaries of a node's tables (job/own_dictionary.h), as its own people read and write them: one writer at a
// time, and none over a version that it has not seen.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace partita::node {

struct KeptDictionary {
  std::string text;     // empty: there is none
  std::string version;  // SHA-256 of the text in hexadecimal digits; empty: there is none
};

struct SavedDictionary {
  std::string version;
  std::vector<std::string> changes;  // sentences, by variable
};

class DictionaryKeeper {
 public:
  explicit DictionaryKeeper(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // From any thread, both. Throws kBadInput for a file that is too large.
  KeptDictionary Read(const std::string& table) const;
  // seen: the version that whoever writes has seen. Durable on return. Throws kBadInput for a text that is no
  // dictionary, kRefused where another version is kept now.
  SavedDictionary Save(const std::string& table, const std::string& text, const std::string& seen);

 private:
  std::filesystem::path folder_;
  std::mutex writing_;
};

}  // namespace partita::node
