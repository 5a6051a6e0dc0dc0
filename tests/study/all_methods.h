// Study files read with the sections of all methods, whose list is methods/all.h.
#pragma once

#include <string>
#include <vector>

#include "methods/classify/section.h"
#include "methods/mcmc/section.h"
#include "methods/mixture/section.h"
#include "methods/mle/section.h"

namespace partita::study {

inline const std::vector<SectionReader>& SectionsOfAllMethods() {
  static const std::vector<SectionReader> sections = {
      methods::mle::MleReader(), methods::mixture::MixtureReader(),
      methods::classify::ClassifyReader(), methods::mcmc::McmcReader()};
  return sections;
}

inline StudyFile ParseStudyFile(std::string text, std::string file_name) {
  return ParseStudyFile(std::move(text), std::move(file_name), SectionsOfAllMethods());
}

inline StudyFile LoadStudyFile(const std::string& path) {
  return LoadStudyFile(path, SectionsOfAllMethods());
}

}  // namespace partita::study
