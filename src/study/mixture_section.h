// An [[analysis]] with method = "mixture". Private to the study file.
#pragma once

#include <string>
#include <vector>

#include "study/mixture_spec.h"
#include "study/toml_reader.h"

namespace partita::study {

// The keys of such an [[analysis]], beside those that every method has.
extern const std::vector<std::string> kMixtureKeys;

// study: everything but the analyses is read. Throws kBadInput with place and hint; also where the
// study's rows and parties do not fit the method: it takes all rows of one block that all holders
// of the model's columns share.
MixtureSpec ReadMixture(const TableReader& analysis, const StudyFile& study);

}  // namespace partita::study
