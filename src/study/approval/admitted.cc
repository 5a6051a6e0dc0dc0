#include "study/approval/admitted.h"

#include <algorithm>

#include "study/file/text.h"

namespace partita::study {
namespace {

void AddOnce(NameList& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

class Outside {
 public:
  explicit Outside(const NameList& allowed) : allowed_(allowed) {}
  // what: "the engine".
  void Check(const std::string& what, const std::string& name) {
    if (std::find(allowed_.begin(), allowed_.end(), name) != allowed_.end()) return;
    AddOnce(found_, what + " " + Quote(name));
    AddOnce(names_, name);
  }
  void Allow(const std::string& name) { allowed_.push_back(name); }
  const NameList& found() const { return found_; }
  const NameList& names() const { return names_; }

 private:
  NameList allowed_, found_, names_;
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

void CheckEngines(const StudyFile& study, Outside& outside) {
  outside.Check("the engine", study.engine.name);
}

void CheckReceivers(const StudyFile& study, Outside& outside) {
  for (const Party& party : study.parties) {
    if (party.receiver) outside.Check("the receiver", party.name);
  }
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const ReleaseSpec& release : AllReleases(analysis)) {
      if (!release.to.empty())
        outside.Check("the receiver of a release" + OfAnalysis(analysis), release.to);
    }
  }
}

void CheckMethods(const StudyFile& study, Outside& outside) {
  for (const AnalysisSpec& analysis : study.analyses)
    outside.Check("the method" + OfAnalysis(analysis), analysis.method);
}

void CheckProtocols(const StudyFile& study, Outside& outside) {
  for (const AnalysisSpec& analysis : study.analyses)
    outside.Check("the protocol" + OfAnalysis(analysis), analysis.protocol);
}

void CheckFunctions(const StudyFile& study, Outside& outside) {
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const std::string& function : analysis.section->Uses().functions)
      outside.Check("the function" + OfAnalysis(analysis), function);
  }
}

void CheckReleases(const StudyFile& study, Outside& outside) {
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const ReleaseSpec& release : AllReleases(analysis))
      outside.Check("the release" + OfAnalysis(analysis), release.what);
  }
}

// What is derived is as good as its source.
void CheckUses(const StudyFile& study, Outside& outside) {
  for (const data::DerivedVariable& derived : study.derived) outside.Allow(derived.name);
  for (const AnalysisSpec& analysis : study.analyses) {
    for (const UsedVariable& variable : analysis.section->Uses().variables)
      outside.Check(variable.as + OfAnalysis(analysis), variable.name);
    for (const data::Condition& condition : analysis.subset)
      outside.Check("the variable in the subset" + OfAnalysis(analysis), condition.variable);
  }
}

using Checks = void (*)(const StudyFile& study, Outside& outside);

NameList AllFound(Checks checks, const StudyFile& study, const NameList& allowed) {
  Outside outside(allowed);
  checks(study, outside);
  return outside.found();
}

NameList AllNames(Checks checks, const StudyFile& study) {
  Outside outside{NameList()};
  checks(study, outside);
  return outside.names();
}

}  // namespace

NameList OutsideEngines(const StudyFile& study, const AdmittedLists& admitted) {
  return AllFound(CheckEngines, study, admitted.engines);
}

NameList OutsideReceivers(const StudyFile& study, const AdmittedLists& admitted) {
  return AllFound(CheckReceivers, study, admitted.receivers);
}

NameList OutsideMethods(const StudyFile& study, const AdmittedLists& admitted) {
  return AllFound(CheckMethods, study, admitted.methods);
}

NameList OutsideProtocols(const StudyFile& study, const AdmittedLists& admitted) {
  return AllFound(CheckProtocols, study, admitted.protocols);
}

NameList OutsideFunctions(const StudyFile& study, const AdmittedLists& admitted) {
  return AllFound(CheckFunctions, study, admitted.functions);
}

NameList OutsideReleases(const StudyFile& study, const AdmittedLists& admitted) {
  return AllFound(CheckReleases, study, admitted.releases);
}

NameList OutsideVariables(const StudyFile& study, const AdmittedLists& admitted) {
  NameList found = AllFound(CheckDictionary, study, admitted.variables);
  for (std::string& line : AllFound(CheckUses, study, admitted.variables))
    found.push_back(std::move(line));
  return found;
}

AdmittedLists AllUsedBy(const StudyFile& study) {
  AdmittedLists used;
  used.methods = AllNames(CheckMethods, study);
  used.protocols = AllNames(CheckProtocols, study);
  used.functions = AllNames(CheckFunctions, study);
  used.engines = AllNames(CheckEngines, study);
  used.receivers = AllNames(CheckReceivers, study);
  used.releases = AllNames(CheckReleases, study);
  used.variables = AllNames(CheckDictionary, study);
  for (std::string& name : AllNames(CheckUses, study)) AddOnce(used.variables, std::move(name));
  return used;
}

}  // namespace partita::study
