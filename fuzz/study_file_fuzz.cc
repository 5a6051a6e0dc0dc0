// Any text is either a study or a kBadInput error with a place in the file; never a crash.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "methods/classify/section.h"
#include "methods/mcmc/section.h"
#include "methods/mixture/section.h"
#include "methods/mle/section.h"
#include "study/file/study_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<partita::study::SectionReader> sections = {
      partita::study::MleReader(), partita::study::MixtureReader(),
      partita::study::ClassifyReader(), partita::study::McmcReader()};
  try {
    const partita::study::StudyFile study = partita::study::ParseStudyFile(
        std::string(reinterpret_cast<const char*>(data), size), "study.toml", sections);
    if (study.parties.size() < 2 || study.dictionary.columns.empty()) std::abort();
    if (partita::study::ReceiverIndex(study) >= study.parties.size()) std::abort();
    partita::study::StudyPartition(study);
  } catch (const partita::Error& error) {
    if (error.code() != partita::ErrorCode::kBadInput) std::abort();
  }
  return 0;
}
