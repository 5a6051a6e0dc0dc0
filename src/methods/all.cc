#include "methods/all.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/classify/section.h"
#include "methods/classify/study.h"
#include "methods/classify/templates.h"
#include "methods/mcmc/section.h"
#include "methods/mcmc/study.h"
#include "methods/mcmc/templates.h"
#include "methods/mixture/section.h"
#include "methods/mixture/study.h"
#include "methods/mixture/templates.h"
#include "methods/mle/report/report.h"
#include "methods/mle/section.h"
#include "methods/mle/study/study.h"
#include "methods/mle/templates.h"
#include "report/document_report.h"

namespace partita::runtime {
namespace {

const SelfChecks kMleChecks = {
    [](const Study& study, const RehearsalOptions& options, Progress& progress) {
      return Rehearse(dynamic_cast<const MleStudy&>(study), options, progress);
    },
    [](const Study& study, const StudyAuditOptions& options, crypto::RandomSource& random,
       Progress& progress) {
      return AuditStudy(dynamic_cast<const MleStudy&>(study), options, random, progress);
    }};

template <typename T, T (*prepare)(study::StudyFile)>
std::unique_ptr<const Study> Prepared(study::StudyFile file) {
  return std::make_unique<const T>(prepare(std::move(file)));
}

}  // namespace

const std::vector<Method>& AllMethods() {
  static const std::vector<Method> methods = {
      {study::MleReader(), "a structural equation model", Prepared<MleStudy, PrepareMleStudy>,
       report::ReadMleReport, methods::mle::Templates, &kMleChecks},
      {study::MixtureReader(), "a model of split columns, for synthetic tables",
       Prepared<MixtureStudy, PrepareMixtureStudy>, report::ReadDocumentResult,
       methods::mixture::Templates},
      {study::ClassifyReader(), "a private classifier",
       Prepared<ClassifyStudy, PrepareClassifyStudy>, report::ReadDocumentResult,
       methods::classify::Templates},
      {study::McmcReader(), "a Bayesian regression by chains of confidential decisions",
       Prepared<McmcStudy, PrepareMcmcStudy>, report::ReadDocumentResult,
       methods::mcmc::Templates}};
  return methods;
}

const std::vector<study::SectionReader>& AllSections() {
  static const std::vector<study::SectionReader> sections = [] {
    std::vector<study::SectionReader> all;
    for (const Method& method : AllMethods()) all.push_back(method.section);
    return all;
  }();
  return sections;
}

const Method& MethodByName(const std::string& name) {
  for (const Method& method : AllMethods()) {
    if (method.section.method == name) return method;
  }
  throw Error(ErrorCode::kInternal, "there is no method '" + name + "'");
}

const SelfChecks& RequireChecks(const Study& study, const std::string& what) {
  const SelfChecks* checks = MethodByName(study.Method().name).checks;
  if (checks != nullptr) return *checks;
  std::string names;
  for (const Method& method : AllMethods()) {
    if (method.checks != nullptr)
      names += (names.empty() ? "'" : " or '") + method.section.method + "'";
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("{} needs method {}, but study '{}' has method '{}'", what, names,
                          study.file.name, study.Method().name),
              "run it on a study of that method");
}

std::unique_ptr<const report::Result> ReadResult(const std::string& method,
                                                 const nlohmann::ordered_json& json) {
  for (const Method& row : AllMethods()) {
    if (row.section.method == method) return row.read_result(json);
  }
  return nullptr;
}

}  // namespace partita::runtime
