#include "methods/glm/read_penalty.h"

#include <fmt/format.h>

#include "methods/glm/read_errors.h"
#include "study/file/study_file.h"

namespace partita::methods::glm {
namespace {

using study::TableReader;

constexpr double kLeastRidge = 1e-6, kMostRidge = 10;
constexpr char kFirth[] = "firth", kLasso[] = "lasso", kRidge[] = "ridge";

void ReadFirth(const TableReader& penalty, const study::StudyFile& study, Spec& spec) {
  const study::Position position = penalty.PositionOf(kFirth);
  const bool logistic = spec.law.family == stats::glm::Family::kBinomial && !spec.law.quasi &&
                        spec.law.link == stats::glm::Link::kLogit;
  if (penalty.Has(kRidge) || penalty.OptionalBool(kFirth) != true) {
    penalty.Fail(position, "a penalty is a ridge or Firth's, one of the two",
                 "write penalty = {firth = true}, penalty = {ridge = 0.01}, or leave the key out");
  }
  if (!logistic) {
    penalty.Fail(position, "Firth's penalty is of logistic models",
                 "take family = \"binomial\" with the link logit, or a ridge");
  }
  if (spec.sealed || spec.aggregates) {
    penalty.Fail(
        position, fmt::format("level {} has no Firth's penalty", spec.level()),
        "take protocol = \"iterates\", where the third moments of the rows, which it needs, "
        "stay on shares");
  }
  if (spec.robust() || (!spec.weights.empty() && !spec.copies())) {
    penalty.Fail(position, "Firth's penalty goes with errors of the model and frequencies only",
                 "leave errors and weights out, or the penalty");
  }
  if (study.design.site == study::SiteEffect::kFixed) {
    penalty.Fail(position, "Firth's penalty with effects of sites",
                 "write site = \"ignore\" in [design], or leave the penalty out");
  }
  spec.firth = true;
}

}  // namespace

void ReadPenalty(const TableReader& reader, const study::StudyFile& study, Spec& spec) {
  const auto penalty = reader.OptionalTable("penalty", {kRidge, kLasso, kFirth}, "penalty");
  if (!penalty) return;
  if (penalty->Has(kLasso)) {
    penalty->Fail(
        penalty->PositionOf(kLasso), "method 'glm' has no penalty lasso",
        "take a ridge, which separation has a maximum with as well: penalty = {ridge = 0.01}");
  }
  if (penalty->Has(kFirth)) {
    ReadFirth(*penalty, study, spec);
    return;
  }
  const auto ridge = penalty->Number(kRidge, "penalty = {ridge = 0.01}");
  if (!(ridge.value >= kLeastRidge && ridge.value <= kMostRidge)) {
    reader.Fail(
        ridge.position, fmt::format("the ridge is {}", ridge.value),
        fmt::format("take {} to {}: it counts for each row, and columns are divided by their "
                    "largest bound",
                    kLeastRidge, kMostRidge));
  }
  if (!spec.weights.empty() && !spec.copies()) {
    reader.Fail(ridge.position, fmt::format("a ridge with {}", WeightsName(spec.weights_kind)),
                "a ridge counts for each row, weighted or not: leave one of the two out");
  }
  if (HasMoreParameters(spec.law)) {
    reader.Fail(ridge.position, fmt::format("family {} has no ridge", FamilyName(spec.law)),
                "leave the penalty out, or join levels where outcomes separate");
  }
  if (spec.sealed) {
    reader.Fail(ridge.position, "level sealed has no ridge",
                "take protocol = \"iterates\", or leave the penalty out");
  }
  spec.ridge = ridge.value;
}

}  // namespace partita::methods::glm
