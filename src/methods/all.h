// The methods: one row each. What runs, shows and checks studies asks the rows and knows no method
// by name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "methods/mle/check/audit_study.h"
#include "report/result_json.h"
#include "run/method/study.h"
#include "study/file/analysis_start.h"
#include "study/file/section_reader.h"
#include "study/file/study_template.h"

namespace partita::methods {

// Checks of a method by itself, on mock data. The study is one that its row prepared.
struct SelfChecks {
  mle::StudyAudit (*audit)(const run::Study& study, const mle::StudyAuditOptions& options,
                           crypto::RandomSource& random, Progress& progress);
};

struct Method {
  study::SectionReader section;  // its `method` is the name
  std::string description;       // a clause
  std::unique_ptr<const run::Study> (*prepare)(study::StudyFile file);
  // Back from result.json.
  std::unique_ptr<const report::Result> (*read_result)(const nlohmann::ordered_json& json);
  // What an analysis of one's own has to say, given what was said of it.
  study::AnalysisStart (*start)(const study::Said& said);
  // Commented files to start from, the first if nobody says what for; not empty.
  std::vector<study::StudyTemplate> (*templates)();
  const SelfChecks* checks = nullptr;  // null: none
  // Of rows of which nobody knows which match it uses those that all holders have.
  bool takes_hidden_rows = false;
};

const std::vector<Method>& AllMethods();
// Of all of them, to read study files with.
const std::vector<study::SectionReader>& AllSections();
// Throws kInternal if there is none.
const Method& MethodByName(const std::string& name);

// The self-checks of a study's method. Throws kUsage where it has none: "an audit needs method
// 'mle', ...".
const SelfChecks& RequireChecks(const run::Study& study, const std::string& what);

// For report::ParseResultJson.
std::unique_ptr<const report::Result> ReadResult(const std::string& method,
                                                 const nlohmann::ordered_json& json);

}  // namespace partita::methods
