#include "methods/glm/read_errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::methods::glm {
namespace {

using study::StudyFile;
using study::TableReader;
using study::WeightsKind;

constexpr char kErrors[] = "errors";

const std::vector<std::string>& Names() {
  static const std::vector<std::string> names = {"model", "robust", "HC1", "cluster"};
  return names;
}

void ReadWeights(const TableReader& reader, const StudyFile& study, Spec& spec) {
  const study::DesignSpec& design = study.design;
  if (design.weights.empty()) return;
  spec.weights = design.weights;
  spec.weights_kind = design.weights_kind;
  spec.most_weight = study.dictionary.Find(design.weights)->upper;
  if (spec.weights_kind == WeightsKind::kPrecision &&
      spec.law.family != stats::glm::Family::kGaussian) {
    reader.Fail(design.position,
                fmt::format("a precision is the inverse variance of a measurement, which family "
                            "{} does not have",
                            FamilyName(spec.law)),
                "take family = \"gaussian\", or say what the weights are: weights_type = "
                "\"frequency\" or \"sampling\"");
  }
  if (spec.most_weight <= 0) {
    reader.Fail(design.position, fmt::format("the weights '{}' can only be 0", spec.weights),
                "raise 'upper' of this [[variable]]");
  }
}

Errors DefaultOf(const Spec& spec) {
  const bool modified = spec.law.binary && spec.law.family == stats::glm::Family::kPoisson;
  return spec.weights_kind == WeightsKind::kSampling || modified ? Errors::kRobust : Errors::kModel;
}

void RequireTogether(const TableReader& reader, const StudyFile& study, const Spec& spec) {
  const study::Position position =
      reader.Has(kErrors) ? reader.PositionOf(kErrors) : reader.position();
  if (spec.errors == Errors::kModel && DefaultOf(spec) != Errors::kModel) {
    reader.Fail(position,
                spec.weights_kind == WeightsKind::kSampling
                    ? "with sampling weights the errors of the model say nothing"
                    : "of family modified-poisson the errors of the model are too large",
                "write errors = \"robust\", or leave the key out");
  }
  if (spec.errors == Errors::kRobustAdjusted && spec.weights_kind == WeightsKind::kSampling) {
    reader.Fail(position, "with sampling weights robust errors are those of survey designs",
                "write errors = \"robust\", or leave the key out");
  }
  if (spec.clustered() && study.design.cluster.empty()) {
    reader.Fail(position, "errors of clusters without clusters",
                "name their variable in [design]: cluster = \"ward\"");
  }
  if (!spec.clustered() && !study.design.cluster.empty()) {
    reader.Fail(position,
                fmt::format("the rows are clustered in '{}', and the standard errors ignore it",
                            study.design.cluster),
                "write errors = \"cluster\": standard errors that ignore clusters are too small");
  }
}

}  // namespace

std::string_view ErrorsName(Errors errors) { return Names()[static_cast<size_t>(errors)]; }

std::string_view WeightsName(WeightsKind kind) {
  if (kind == WeightsKind::kFrequency) return "frequencies";
  return kind == WeightsKind::kSampling ? "sampling weights" : "precisions";
}

void ReadErrors(const TableReader& reader, const StudyFile& study, Spec& spec) {
  ReadWeights(reader, study, spec);
  spec.errors = DefaultOf(spec);
  if (const auto errors = reader.OptionalText(kErrors)) {
    const std::string name = reader.Choice(*errors, kErrors, Names());
    spec.errors =
        static_cast<Errors>(std::find(Names().begin(), Names().end(), name) - Names().begin());
  }
  RequireTogether(reader, study, spec);
  if (spec.clustered()) spec.cluster = study.design.cluster;
}

}  // namespace partita::methods::glm
