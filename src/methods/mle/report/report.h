// The result of method `mle`: its analyses, in the study file's order.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "methods/mle/fit/result.h"
#include "report/result.h"

namespace partita::methods::mle {

struct MleReport : report::Result {
  explicit MleReport(std::vector<MleResult> analyses_in);

  study::Ending ending() const override;
  std::string Text(const study::Plan& plan, const report::RunFacts& facts) const override;
  std::string Json(const study::Plan& plan, const report::RunFacts& facts) const override;
  std::string Html(const study::Plan& plan, const report::RunFacts& facts) const override;
  std::optional<std::string> Csv() const override;
  std::string Holds() const override;

  const std::vector<MleResult> analyses;
};

// Throws what nlohmann-json throws if something is missing or of another type.
std::unique_ptr<const report::Result> ReadMleReport(const nlohmann::ordered_json& json);

// None where there is no result, or one of another method.
std::span<const MleResult> AnalysesOf(const report::Result* result);

}  // namespace partita::methods::mle
