// [[analysis]] with method = "classify": its keys.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "methods/classify/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::classify {

// study: everything but the analyses is read. Throws kBadInput with place and hint: variables that
// are not there or no factor or number, keys that the protocol does not use, numbers out of range,
// [analysis.privacy] left out or a promise that does not fit rows that are split.
Spec ReadClassify(const study::TableReader& reader, const study::StudyFile& study);

struct ClassifySection : study::Section {
  study::SectionUses Uses() const override;
  Spec spec;
  std::optional<study::PrivacySpec> privacy;  // where the protocol draws noise
};

// Of an analysis of method `classify`.
const ClassifySection& ClassifyOf(const study::AnalysisSpec& analysis);

// Reads [analysis.privacy] too.
study::SectionReader ClassifyReader();

}  // namespace partita::methods::classify
