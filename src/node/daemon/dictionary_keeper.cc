#include "node/daemon/dictionary_keeper.h"

#include "base/error.h"
#include "base/files.h"
#include "base/hex.h"
#include "base/public_file.h"
#include "crypto/hash.h"
#include "node/job/own_dictionary.h"
#include "study/file/dictionary_compare.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

// One that cannot be read any more is replaced as a whole.
std::vector<std::string> ChangesFrom(const std::string& before,
                                     const study::SiteDictionary& after) {
  try {
    return study::ChangesBetween(study::ParseSiteDictionary(before, "dictionary"), after);
  } catch (const Error&) {
    return {"replaces one that could not be read"};
  }
}

}  // namespace

KeptDictionary DictionaryKeeper::Read(const std::string& table) const {
  const auto text = DictionaryText(folder_, table);
  if (!text) return {};
  return {*text, ToHex(crypto::Sha256Of(AsBytes(*text)))};
}

SavedDictionary DictionaryKeeper::Save(const std::string& table, const std::string& text,
                                       const std::string& seen) {
  if (text.size() > study::kMaxSiteDictionaryBytes)
    throw Error(ErrorCode::kBadInput, "the dictionary is larger than 1 MiB",
                "Take variables out that no study asks for.");
  const study::SiteDictionary dictionary = study::ParseSiteDictionary(text, "dictionary");
  const std::lock_guard lock(writing_);
  const KeptDictionary before = Read(table);
  if (before.version != seen) {
    throw Error(ErrorCode::kRefused,
                "the dictionary was saved by somebody else since you opened it",
                "Open it again, and make your changes there.");
  }
  if (fs::create_directories(folder_)) fs::permissions(folder_, fs::perms::owner_all);
  // Of services the folder's group is the jobs', who read it.
  WritePublicFile(DictionaryFile(folder_, table).string(), text, 0640);
  return {ToHex(crypto::Sha256Of(AsBytes(text))), ChangesFrom(before.text, dictionary)};
}

}  // namespace partita::node
