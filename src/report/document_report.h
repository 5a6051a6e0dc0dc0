// Reports of methods whose result is a study::Document: text, JSON and a page, with the same facts
// of the run around it as every report.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "report/result.h"
#include "report/run_facts.h"
#include "study/plan/document.h"
#include "study/plan/plan.h"

namespace partita::report {

std::string DocumentSummary(const study::Document& document, const study::Plan& plan,
                            const RunFacts& facts);

// As ResultJson (docs/result-json.md), with `document` and, from the method, `result` instead of
// `analyses`. Contents of files are not in it.
std::string DocumentJson(const study::Document& document, const study::Plan& plan,
                         const RunFacts& facts);

std::string RenderDocumentHtml(const study::Document& document, const study::Plan& plan,
                               const RunFacts& facts);

// The result of a method without a report of its own.
struct DocumentResult : Result {
  explicit DocumentResult(study::Document document_in) : document(std::move(document_in)) {}

  study::Ending ending() const override { return document.ending; }
  std::string Text(const study::Plan& plan, const RunFacts& facts) const override {
    return DocumentSummary(document, plan, facts);
  }
  std::string Json(const study::Plan& plan, const RunFacts& facts) const override {
    return DocumentJson(document, plan, facts);
  }
  std::string Html(const study::Plan& plan, const RunFacts& facts) const override {
    return RenderDocumentHtml(document, plan, facts);
  }
  std::vector<study::DocumentFile> Files() const override { return document.files; }

  const study::Document document;
};

// One whose first table holds the estimates, if it has converged.
struct EstimatesResult : DocumentResult {
  using DocumentResult::DocumentResult;
  std::optional<std::string> Csv() const override;
};

// Throw what nlohmann-json throws if something is missing or of another type.
std::unique_ptr<const Result> ReadDocumentResult(const nlohmann::ordered_json& json);
std::unique_ptr<const Result> ReadEstimatesResult(const nlohmann::ordered_json& json);

}  // namespace partita::report
