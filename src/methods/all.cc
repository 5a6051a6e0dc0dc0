#include "methods/all.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/classify/section.h"
#include "methods/classify/study.h"
#include "methods/classify/templates.h"
#include "methods/describe/section.h"
#include "methods/describe/study.h"
#include "methods/describe/templates.h"
#include "methods/glm/section.h"
#include "methods/glm/study.h"
#include "methods/glm/templates.h"
#include "methods/marginals/curves_section.h"
#include "methods/marginals/section.h"
#include "methods/marginals/study.h"
#include "methods/marginals/templates.h"
#include "methods/mcmc/section.h"
#include "methods/mcmc/study.h"
#include "methods/mcmc/templates.h"
#include "methods/meta/section.h"
#include "methods/meta/study.h"
#include "methods/meta/templates.h"
#include "methods/mixed/section.h"
#include "methods/mixed/study.h"
#include "methods/mixed/templates.h"
#include "methods/mixture/section.h"
#include "methods/mixture/study.h"
#include "methods/mixture/templates.h"
#include "methods/mle/report/report.h"
#include "methods/mle/section.h"
#include "methods/mle/study/study.h"
#include "methods/mle/templates.h"
#include "methods/survival/cox/study.h"
#include "methods/survival/section.h"
#include "methods/survival/study.h"
#include "methods/survival/templates.h"
#include "report/document_report.h"
#include "study/file/toml_reader.h"

namespace partita::methods {
namespace {

using mle::MleStudy;
using run::Study;

const SelfChecks kMleChecks = {[](const Study& study, const mle::StudyAuditOptions& options,
                                  crypto::RandomSource& random, Progress& progress) {
  return mle::AuditStudy(dynamic_cast<const MleStudy&>(study), options, random, progress);
}};

template <typename T, T (*prepare)(study::StudyFile)>
std::unique_ptr<const Study> Prepared(study::StudyFile file) {
  return std::make_unique<const T>(prepare(std::move(file)));
}

std::unique_ptr<const Study> PreparedSurvival(study::StudyFile file) {
  if (marginals::HasNoise(file.analyses.front()))
    return std::make_unique<const marginals::MarginalsStudy>(
        marginals::PrepareMarginalsStudy(std::move(file)));
  if (survival::IsCox(file.analyses.front()))
    return std::make_unique<const survival::CoxStudy>(survival::PrepareCoxStudy(std::move(file)));
  return std::make_unique<const survival::SurvivalStudy>(
      survival::PrepareSurvivalStudy(std::move(file)));
}

// Tables and curves with a promise of differential privacy are counted by the protocol of noised counts.
study::SectionReader CurveReaderOfBoth() {
  study::SectionReader reader = survival::SurvivalReader();
  reader.read = [](const study::TableReader& analysis, const study::StudyFile& file,
                   study::AnalysisSpec& spec) {
    return analysis.Has("privacy") ? marginals::ReadCurves(analysis, file, spec)
                                   : survival::SurvivalReader().read(analysis, file, spec);
  };
  return reader;
}

study::SectionReader TableReaderOfBoth() {
  study::SectionReader reader = describe::DescribeReader();
  reader.read = [](const study::TableReader& analysis, const study::StudyFile& file,
                   study::AnalysisSpec& spec) {
    return analysis.Has("privacy") ? marginals::ReadTableOne(analysis, file, spec)
                                   : describe::DescribeReader().read(analysis, file, spec);
  };
  return reader;
}

std::unique_ptr<const Study> PreparedTable(study::StudyFile file) {
  if (marginals::HasNoise(file.analyses.front()))
    return std::make_unique<const marginals::MarginalsStudy>(
        marginals::PrepareMarginalsStudy(std::move(file)));
  return std::make_unique<const describe::DescribeStudy>(
      describe::PrepareDescribeStudy(std::move(file)));
}

std::vector<study::StudyTemplate> CurveTemplates() {
  std::vector<study::StudyTemplate> templates = survival::Templates();
  for (study::StudyTemplate& with_noise : marginals::CurveTemplates())
    templates.push_back(std::move(with_noise));
  return templates;
}

std::vector<study::StudyTemplate> TableTemplates() {
  std::vector<study::StudyTemplate> templates = describe::Templates();
  for (study::StudyTemplate& with_noise : marginals::TableOneTemplates())
    templates.push_back(std::move(with_noise));
  return templates;
}

}  // namespace

const std::vector<Method>& AllMethods() {
  static const std::vector<Method> methods = {
      {mle::MleReader(), "a structural equation model", Prepared<MleStudy, mle::PrepareMleStudy>,
       mle::ReadMleReport, mle::Start, mle::Templates, &kMleChecks, true},
      {mixture::MixtureReader(), "a model of split columns, for synthetic tables",
       Prepared<mixture::MixtureStudy, mixture::PrepareMixtureStudy>, report::ReadDocumentResult,
       mixture::Start, mixture::Templates},
      {classify::ClassifyReader(), "a private classifier",
       Prepared<classify::ClassifyStudy, classify::PrepareClassifyStudy>,
       report::ReadDocumentResult, classify::Start, classify::Templates},
      {mcmc::McmcReader(), "a Bayesian regression by chains of confidential decisions",
       Prepared<mcmc::McmcStudy, mcmc::PrepareMcmcStudy>, report::ReadDocumentResult, mcmc::Start,
       mcmc::Templates},
      {TableReaderOfBoth(), "counts, means and quantiles, by group, exact or with noise",
       PreparedTable, report::ReadEstimatesResult, describe::Start, TableTemplates, nullptr, true},
      {glm::GlmReader(), "a generalised linear model",
       Prepared<glm::GlmStudy, glm::PrepareGlmStudy>, report::ReadEstimatesResult, glm::Start,
       glm::Templates, nullptr, true},
      {CurveReaderOfBoth(), "survival curves by group, exact or with noise, hazard ratios",
       PreparedSurvival, report::ReadEstimatesResult, survival::Start, CurveTemplates},
      {meta::MetaReader(), "a meta-analysis of the sites' own estimates",
       Prepared<meta::MetaStudy, meta::PrepareMetaStudy>, report::ReadEstimatesResult, meta::Start,
       meta::Templates},
      {marginals::MarginalsReader(),
       "noised counts of all or chosen pairs of columns, for synthetic tables and Table 1",
       Prepared<marginals::MarginalsStudy, marginals::PrepareMarginalsStudy>,
       report::ReadDocumentResult, marginals::Start, marginals::Templates},
      {mixed::MixedReader(),
       "a linear, logistic or Poisson model with random intercepts, a linear one with slopes",
       Prepared<mixed::MixedStudy, mixed::PrepareMixedStudy>, report::ReadEstimatesResult,
       mixed::Start, mixed::Templates}};
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

}  // namespace partita::methods
