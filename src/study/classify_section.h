// [[analysis]] with method = "classify": its keys. Private to the study file.
#pragma once

#include <string>
#include <vector>

#include "methods/classify/spec.h"
#include "study/study_file.h"
#include "study/toml_reader.h"

namespace partita::study {

// Beside `name` and `method`.
extern const std::vector<std::string> kClassifyKeys;

// study: everything but the analyses is read. Throws kBadInput with place and hint: variables that
// are not there or no factor or number, keys that the protocol does not use, numbers out of range,
// [analysis.privacy] left out or a promise that does not fit rows that are split.
methods::classify::Spec ReadClassify(const TableReader& reader, const StudyFile& study);

// ReadClassify and [analysis.privacy], into an analysis.
void ReadClassifyAnalysis(const TableReader& reader, const StudyFile& study,
                          AnalysisSpec& analysis);

}  // namespace partita::study
