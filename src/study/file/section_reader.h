// How the [[analysis]] of a method is read: a row of the list of methods, which study files are
// read with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "study/file/study_file.h"

namespace partita::study {

class TableReader;

struct SectionReader {
  std::string method;             // as in the study file
  std::vector<std::string> keys;  // beside `name` and `method`
  // Fills in what is common to methods, and returns the rest. study: everything but the analyses is
  // read. Throws kBadInput with place and hint.
  std::shared_ptr<const Section> (*read)(const TableReader& reader, const StudyFile& study,
                                         AnalysisSpec& analysis);
  bool several = false;  // whether a study may have more than one analysis of it
  // What only shows when all analyses are read; null: nothing. Throws kBadInput.
  void (*check)(const TableReader& reader, const std::vector<AnalysisSpec>& analyses,
                const AnalysisSpec& analysis) = nullptr;
  // What people write as `method` who want this one, with what to write instead.
  std::vector<std::pair<std::string, std::string>> mistaken_for = {};
};

}  // namespace partita::study
