#include "methods/glm/read_penalty.h"

#include <fmt/format.h>

#include "methods/glm/read_errors.h"
#include "study/file/study_file.h"

namespace partita::methods::glm {
namespace {

using study::TableReader;

constexpr double kLeastRidge = 1e-6, kMostRidge = 10;
constexpr double kLeastLasso = 1e-8, kMostLasso = 1e6;
constexpr size_t kMostPenalties = 10;
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

void ReadLasso(const TableReader& penalty, const study::StudyFile& study, Spec& spec) {
  const study::Position position = penalty.PositionOf(kLasso);
  const std::string example = "penalty = {lasso = [0.1, 0.03, 0.01]}";
  if (penalty.Has(kRidge) || penalty.Has(kFirth))
    penalty.Fail(position, "a penalty is one of the three", "write " + example);
  using stats::glm::Family;
  const Family family = spec.law.family;
  if ((family != Family::kGaussian && family != Family::kBinomial && family != Family::kPoisson) ||
      spec.law.quasi || (family == Family::kPoisson && spec.law.binary)) {
    penalty.Fail(position, fmt::format("family {} has no lasso", FamilyName(spec.law)),
                 "take family gaussian, binomial or poisson");
  }
  if (!spec.aggregates) {
    penalty.Fail(position,
                 fmt::format("level {} has no lasso: which coefficients are 0 is decided between "
                             "sums, which do not open there",
                             spec.level()),
                 "take protocol = \"aggregates\", or a ridge: penalty = {ridge = 0.01}");
  }
  if (spec.robust() || (!spec.weights.empty() && !spec.copies()) ||
      study.design.site == study::SiteEffect::kFixed) {
    penalty.Fail(position, "a lasso goes without other errors, weights and effects of sites",
                 "leave these out, or the penalty");
  }
  for (const auto& value : penalty.Values(kLasso, false, example)) {
    if (!(value.value >= kLeastLasso && value.value <= kMostLasso)) {
      penalty.Fail(value.position, fmt::format("the lasso is {}", value.value),
                   fmt::format("take {} to {}: {}", kLeastLasso, kMostLasso, example));
    }
    if (!spec.lasso.empty() && value.value >= spec.lasso.back())
      penalty.Fail(value.position, "penalties do not fall", "write, for example: " + example);
    spec.lasso.push_back(value.value);
  }
  if (spec.lasso.empty() || spec.lasso.size() > kMostPenalties) {
    penalty.Fail(position, fmt::format("there are {} penalties", spec.lasso.size()),
                 fmt::format("take 1 to {}: {}", kMostPenalties, example));
  }
  spec.terms.clear();  // there are no errors, and no tests
}

}  // namespace

void ReadPenalty(const TableReader& reader, const study::StudyFile& study, Spec& spec) {
  const auto penalty = reader.OptionalTable("penalty", {kRidge, kLasso, kFirth}, "penalty");
  if (!penalty) return;
  if (penalty->Has(kLasso)) {
    ReadLasso(*penalty, study, spec);
    return;
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
  spec.ridge = ridge.value;
}

}  // namespace partita::methods::glm
