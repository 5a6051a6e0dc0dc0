// [[analysis]] with method = "classify": its keys.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "methods/classify/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::study {

// study: everything but the analyses is read. Throws kBadInput with place and hint: variables that
// are not there or no factor or number, keys that the protocol does not use, numbers out of range,
// [analysis.privacy] left out or a promise that does not fit rows that are split.
methods::classify::Spec ReadClassify(const TableReader& reader, const StudyFile& study);

struct ClassifySection : Section {
  SectionUses Uses() const override;
  methods::classify::Spec spec;
  std::optional<PrivacySpec> privacy;  // where the protocol draws noise
};

// Of an analysis of method `classify`.
const ClassifySection& ClassifyOf(const AnalysisSpec& analysis);

// Reads [analysis.privacy] too.
SectionReader ClassifyReader();

}  // namespace partita::study
