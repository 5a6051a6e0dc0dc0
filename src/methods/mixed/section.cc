#include "methods/mixed/section.h"

#include <fmt/format.h>

#include "base/error.h"
#include "methods/mixed/model.h"
#include "study/file/sections.h"

namespace partita::methods::mixed {
namespace {

using study::LocatedText;
using study::StudyFile;
using study::TableReader;

constexpr double kLeastConfidence = 0.5, kMostConfidence = 0.9999;
constexpr study::OneRelease kRelease{
    kEstimates, "method 'mixed' releases its estimates",
    "the fit opens to the receiver: release = [\"estimates\"], or to everybody: release = [{what = "
    "\"estimates\", to = \"all\"}]"};

Spec ReadModel(const TableReader& reader, const StudyFile& study) {
  const LocatedText formula =
      reader.Text("formula", "formula = \"score ~ age + arm + (1 | ward)\"");
  try {
    return ModelOf(formula.value, study.dictionary, study.derived);
  } catch (const Error& error) {
    study::FailWith(reader, formula.position, error);
  }
}

std::shared_ptr<const study::Section> ReadMixed(const TableReader& reader, const StudyFile& study,
                                                study::AnalysisSpec& analysis) {
  if (reader.Has("privacy")) {
    reader.Fail(reader.PositionOf("privacy"),
                "method 'mixed' draws no noise, so that it keeps no promise of differential "
                "privacy",
                "remove [analysis.privacy], or take method 'mcmc', whose chains draw noise");
  }
  auto section = std::make_shared<MixedSection>();
  Spec& spec = section->spec = ReadModel(reader, study);
  if (const auto criterion = reader.OptionalText("criterion")) {
    if (reader.Choice(*criterion, "criterion", {kReml, kMl}) == kMl)
      spec.criterion = stats::mixed::Criterion::kMl;
  }
  analysis.protocol = kSealed;
  if (const auto protocol = reader.OptionalText("protocol"))
    analysis.protocol = reader.Choice(*protocol, "protocol", {kSealed});
  if (const auto confidence = reader.OptionalNumber("confidence")) {
    if (!(confidence->value >= kLeastConfidence && confidence->value <= kMostConfidence)) {
      reader.Fail(confidence->position, fmt::format("the confidence is {}", confidence->value),
                  "write, for example: confidence = 0.95");
    }
    spec.confidence = confidence->value;
  }
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  spec.told_to_all = study::ReadOneRelease(reader, study, kRelease, analysis);
  return section;
}

}  // namespace

study::SectionUses MixedSection::Uses() const {
  study::SectionUses uses;
  for (const std::string& name : spec.variables) uses.variables.push_back({"the formula", name});
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const MixedSection&>(*analysis.section).spec;
}

study::SectionReader MixedReader() {
  return {kMethodName,
          {"formula", "criterion", "protocol", "confidence", "subset", "release", "privacy"},
          ReadMixed};
}

}  // namespace partita::methods::mixed
