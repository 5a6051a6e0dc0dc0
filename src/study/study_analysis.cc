// [[analysis]].
#include <algorithm>

#include "study/classify_section.h"
#include "study/mcmc_section.h"
#include "study/mixture_section.h"
#include "study/mle_section.h"
#include "study/study_sections.h"
#include "study/text.h"

namespace partita::study {
namespace {

LocatedText ReadName(const TableReader& reader, size_t num_analyses) {
  const auto name = reader.OptionalText("name");
  if (name) {
    CheckName(reader, *name, kAnalysisName);
    return *name;
  }
  if (num_analyses > 1) {
    reader.Fail(reader.position(),
                "[[analysis]] needs the key 'name', because there are several analyses",
                "add, for example: name = \"adjusted\"");
  }
  return {"main", reader.position()};
}

// What an [[analysis]] may say beside `name` and `method`, and who reads it.
struct AnalysisMethod {
  std::string name;
  std::vector<std::string> keys;
  // Fills in what is common to methods, and returns the rest.
  std::shared_ptr<const Section> (*read)(const TableReader& reader, const StudyFile& study,
                                         AnalysisSpec& analysis);
  bool several;  // whether a study may have more than one analysis of it
  // Of one analysis, when all are read; null: nothing.
  void (*check)(const TableReader& reader, const std::vector<AnalysisSpec>& analyses,
                const AnalysisSpec& analysis) = nullptr;
};

const std::vector<AnalysisMethod>& AnalysisMethods() {
  static const std::vector<AnalysisMethod> methods = {
      {"mle", MleKeys(), ReadMle, true, CheckNested},
      {"mixture", kMixtureKeys, ReadMixtureAnalysis, false},
      {"classify", kClassifyKeys, ReadClassifyAnalysis, false},
      {"mcmc", McmcKeys(), ReadMcmc, false}};
  return methods;
}

// A method that is not there has the keys of the first, so that the key `method` is what is
// complained about.
const AnalysisMethod& MethodOf(const std::string& name) {
  for (const AnalysisMethod& method : AnalysisMethods()) {
    if (method.name == name) return method;
  }
  return AnalysisMethods().front();
}

std::vector<std::string> KeysOfMethod(const std::string& name) {
  std::vector<std::string> keys = {"name", "method"};
  const std::vector<std::string>& more = MethodOf(name).keys;
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

AnalysisSpec ReadAnalysis(const TableReader& reader, const StudyFile& study, size_t num_analyses) {
  std::vector<std::string> names;
  for (const AnalysisMethod& method : AnalysisMethods()) names.push_back(method.name);
  AnalysisSpec analysis;
  analysis.position = reader.position();
  analysis.method = reader.Choice(reader.Text("method", "method = \"mle\""), "method", names);
  const AnalysisMethod& method = MethodOf(analysis.method);
  if (!method.several && num_analyses > 1) {
    reader.Fail(reader.position(),
                "an analysis of method " + Quote(method.name) + " is the only one of its study",
                "write one study file for each analysis");
  }
  analysis.section = method.read(reader, study, analysis);
  return analysis;
}

}  // namespace

std::vector<AnalysisSpec> ReadAnalyses(const TableReader& root, const StudyFile& study) {
  const auto tables = root.Tables("analysis", "method", KeysOfMethod);
  if (tables.empty()) root.FailMissing("analysis", "[[analysis]] method = \"mle\"");
  if (tables.size() > kMaxAnalyses) {
    root.Fail(tables[kMaxAnalyses].position(), "there are too many analyses",
              "a study has at most " + std::to_string(kMaxAnalyses));
  }
  std::vector<AnalysisSpec> analyses;
  std::vector<LocatedText> names;
  for (const TableReader& reader : tables) {
    names.push_back(ReadName(reader, tables.size()));
    analyses.push_back(ReadAnalysis(reader, study, tables.size()));
    analyses.back().name = names.back().value;
  }
  CheckDistinct(root, names, "analysis");
  for (size_t a = 0; a < tables.size(); ++a) {
    const AnalysisMethod& method = MethodOf(analyses[a].method);
    if (method.check != nullptr) method.check(tables[a], analyses, analyses[a]);
  }
  return analyses;
}

}  // namespace partita::study
