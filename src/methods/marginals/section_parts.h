// Parts of an [[analysis]] with method = "marginals" (section.h). Each throws kBadInput with place
// and hint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "methods/marginals/spec.h"
#include "study/file/study_file.h"
#include "study/file/toml_reader.h"

namespace partita::methods::marginals {

inline constexpr int64_t kMostRows = 10'000'000;

// A whole number from low to high, or `otherwise` where there is none.
int64_t WholeOr(const study::TableReader& reader, std::string_view key, int64_t low, int64_t high,
                int64_t otherwise, const std::string& hint);

// `impossible`, once the columns are read.
void ReadImpossible(const study::TableReader& analysis, Spec& spec);

// `triples`, `targets`, once the columns are read.
void ReadTriples(const study::TableReader& analysis, Spec& spec);
void ReadTargets(const study::TableReader& analysis, Spec& spec);

// [analysis.utility], once the columns are read.
void ReadUtility(const study::TableReader& analysis, const study::StudyFile& study, Spec& spec);

}  // namespace partita::methods::marginals
