// Any text is either a study or a kBadInput error with a place in the file; never a crash. Likewise
// a dictionary by itself.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "methods/prepare_study.h"
#include "study/file/dictionary_draft.h"
#include "study/file/short_study.h"
#include "study/file/study_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const partita::study::StudyFile study = partita::methods::ParseStudyFile(
        std::string(reinterpret_cast<const char*>(data), size), "study.toml");
    if (study.parties.size() < 2 || study.dictionary.columns.empty()) std::abort();
    partita::study::StudyPartition(study, study.parties);
  } catch (const partita::Error& error) {
    if (error.code() != partita::ErrorCode::kBadInput) std::abort();
  }
  try {
    partita::study::ShortStudy study;
    study.dictionary = partita::study::ParseDictionaryDraft(
        std::string(reinterpret_cast<const char*>(data), size), "dictionary.toml");
    if (partita::study::ShortStudyText(study).empty()) std::abort();
  } catch (const partita::Error& error) {
    if (error.code() != partita::ErrorCode::kBadInput) std::abort();
  }
  return 0;
}
