// What an [[analysis]] with method = "mle" says beside what every method has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::mle {

struct MleSection : study::Section {
  study::SectionUses Uses() const override;

  // "cfa", "sem", "growth" or "lavaan": lavaan's wrapper of that name; or a family:
  // "regression", "path", "mediation", "saturated", "pca".
  std::string function;
  std::string model;  // lavaan syntax; of saturated and pca the variables
  // Where the first character of the model stands, to turn a line of the model into one of the
  // file.
  study::Position model_position;
  std::string group;  // a factor of the dictionary or made by a cut; empty: one group
  std::vector<std::string> group_equal;
  bool std_lv = false;
  std::optional<bool> meanstructure, fixed_x;
  bool robust = false;      // Huber-White standard errors and a scaled chi-square
  std::string information;  // "expected" or "observed"; the default of `missing`
  std::string nested_in;    // another analysis over the same rows; empty: none
  bool modification_indices = false;
  size_t bootstrap = 0;                       // samples; 0: none
  std::optional<study::PrivacySpec> privacy;  // empty: exact
  // Of the published protocols, which are for simulation and comparison: "ring" or "paper", and
  // whether somebody said that the rows may leak.
  std::string masks;
  bool rows_may_leak = false;
};

// Of an analysis of method `mle`.
const MleSection& MleOf(const study::AnalysisSpec& analysis);

// Fills in `protocol`, `releases` and `subset` too.
study::SectionReader MleReader();

}  // namespace partita::methods::mle
