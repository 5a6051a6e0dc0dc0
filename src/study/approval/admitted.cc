#include "study/approval/admitted.h"

#include <algorithm>

#include "study/file/text.h"

namespace partita::study {
namespace {

class Outside {
 public:
  explicit Outside(const NameList& allowed) : allowed_(allowed) {}
  // what: "the engine".
  void Check(const std::string& what, const std::string& name) {
    if (std::find(allowed_.begin(), allowed_.end(), name) != allowed_.end()) return;
    std::string line = what + " " + Quote(name);
    if (std::find(found_.begin(), found_.end(), line) == found_.end())
      found_.push_back(std::move(line));
  }
  void Allow(const std::string& name) { allowed_.push_back(name); }
  NameList Take() { return std::move(found_); }

 private:
  NameList allowed_, found_;
};

std::string OfAnalysis(const AnalysisSpec& analysis) {
  return " of analysis '" + analysis.name + "'";
}

// Those of its list, and what its method opens without being asked.
std::vector<ReleaseSpec> AllReleases(const AnalysisSpec& analysis) {
  std::vector<ReleaseSpec> releases = analysis.releases;
  for (ReleaseSpec& release : analysis.section->Uses().releases)
    releases.push_back(std::move(release));
  return releases;
}

void CheckDictionary(const StudyFile& study, Outside& outside) {
  for (const data::ColumnSchema& column : study.dictionary.columns) {
    outside.Check("the variable", column.name);
    for (const std::string& read : {column.time_column, column.event_column}) {
      if (!read.empty()) outside.Check("the column of '" + column.name + "'", read);
    }
  }
  for (const data::DerivedVariable& derived : study.derived)
    outside.Check("the source of '" + derived.name + "'", derived.from);
  for (const data::Condition& condition : study.population.subset)
    outside.Check("the variable in the population's subset", condition.variable);
  if (!study.design.weights.empty()) outside.Check("the weights", study.design.weights);
  if (!study.design.cluster.empty()) outside.Check("the cluster", study.design.cluster);
}

}  // namespace

NameList OutsideEngines(const StudyFile& study, const AdmittedLists& admitted) {
  Outside outside(admitted.engines);
  outside.Check("the engine", study.engine.name);
  return outside.Take();
}

NameList OutsideReceivers(const StudyFile& study, const AdmittedLists& admitted) {
  Outside outside(admitted.receivers);
  for (const Party& party : study.parties) {
    if (party.receiver) outside.Check("the receiver", party.name);
  }
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const ReleaseSpec& release : AllReleases(analysis)) {
      if (!release.to.empty())
        outside.Check("the receiver of a release" + OfAnalysis(analysis), release.to);
    }
  }
  return outside.Take();
}

NameList OutsideMethods(const StudyFile& study, const AdmittedLists& admitted) {
  Outside outside(admitted.methods);
  for (const AnalysisSpec& analysis : study.analyses)
    outside.Check("the method" + OfAnalysis(analysis), analysis.method);
  return outside.Take();
}

NameList OutsideProtocols(const StudyFile& study, const AdmittedLists& admitted) {
  Outside outside(admitted.protocols);
  for (const AnalysisSpec& analysis : study.analyses)
    outside.Check("the protocol" + OfAnalysis(analysis), analysis.protocol);
  return outside.Take();
}

NameList OutsideFunctions(const StudyFile& study, const AdmittedLists& admitted) {
  Outside outside(admitted.functions);
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const std::string& function : analysis.section->Uses().functions)
      outside.Check("the function" + OfAnalysis(analysis), function);
  }
  return outside.Take();
}

NameList OutsideReleases(const StudyFile& study, const AdmittedLists& admitted) {
  Outside outside(admitted.releases);
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const ReleaseSpec& release : AllReleases(analysis))
      outside.Check("the release" + OfAnalysis(analysis), release.what);
  }
  return outside.Take();
}

NameList OutsideVariables(const StudyFile& study, const AdmittedLists& admitted) {
  Outside listed(admitted.variables);
  CheckDictionary(study, listed);
  Outside outside(admitted.variables);
  for (const data::DerivedVariable& derived : study.derived) outside.Allow(derived.name);
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const UsedVariable& variable : analysis.section->Uses().variables)
      outside.Check(variable.as + OfAnalysis(analysis), variable.name);
    for (const data::Condition& condition : analysis.subset)
      outside.Check("the variable in the subset" + OfAnalysis(analysis), condition.variable);
  }
  NameList found = listed.Take();
  for (std::string& line : outside.Take()) found.push_back(std::move(line));
  return found;
}

}  // namespace partita::study
