// An [[analysis]] with method = "mixture".
#pragma once

#include <string>
#include <vector>

#include "study/mixture_spec.h"
#include "study/study_file.h"

namespace partita::study {

class TableReader;

// The keys of such an [[analysis]], beside those that every method has.
extern const std::vector<std::string> kMixtureKeys;

// study: everything but the analyses is read. Throws kBadInput with place and hint; also where the
// study's rows and parties do not fit the method: it takes all rows of one block that all holders
// of the model's columns share.
MixtureSpec ReadMixture(const TableReader& analysis, const StudyFile& study);

struct MixtureSection : Section {
  explicit MixtureSection(MixtureSpec spec_in) : spec(std::move(spec_in)) {}
  SectionUses Uses() const override;
  const MixtureSpec spec;
};

// Of an analysis of method `mixture`.
const MixtureSpec& MixtureOf(const AnalysisSpec& analysis);

// ReadMixture, into an analysis.
std::shared_ptr<const Section> ReadMixtureAnalysis(const TableReader& reader,
                                                   const StudyFile& study, AnalysisSpec& analysis);

}  // namespace partita::study
