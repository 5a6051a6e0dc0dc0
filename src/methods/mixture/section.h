// An [[analysis]] with method = "mixture".
#pragma once

#include <string>
#include <vector>

#include "methods/mixture/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::mixture {

// study: everything but the analyses is read. Throws kBadInput with place and hint; also where the
// study's rows and parties do not fit the method: it takes all rows of one block that all holders
// of the model's columns share.
MixtureSpec ReadMixture(const study::TableReader& analysis, const study::StudyFile& study);

struct MixtureSection : study::Section {
  explicit MixtureSection(MixtureSpec spec_in) : spec(std::move(spec_in)) {}
  study::SectionUses Uses() const override;
  const MixtureSpec spec;
};

// Of an analysis of method `mixture`.
const MixtureSpec& MixtureOf(const study::AnalysisSpec& analysis);

study::SectionReader MixtureReader();

}  // namespace partita::methods::mixture
