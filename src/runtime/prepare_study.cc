#include "runtime/prepare_study.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/classify_study.h"
#include "runtime/mcmc_study.h"
#include "runtime/mixture_study.h"

namespace partita::runtime {

namespace {

std::unique_ptr<const Study> PrepareByMethod(study::StudyFile file) {
  const std::string& method = file.analyses.front().method;
  if (method == "mixture")
    return std::make_unique<MixtureStudy>(PrepareMixtureStudy(std::move(file)));
  if (method == "classify")
    return std::make_unique<ClassifyStudy>(PrepareClassifyStudy(std::move(file)));
  if (method == "mcmc") return std::make_unique<McmcStudy>(PrepareMcmcStudy(std::move(file)));
  return std::make_unique<MleStudy>(PrepareMleStudy(std::move(file)));
}

}  // namespace

std::unique_ptr<const Study> PrepareStudy(study::StudyFile file) {
  std::unique_ptr<const Study> study = PrepareByMethod(std::move(file));
  const study::DesignSpec& design = study->file.design;
  if (design.faulty_rows != study::FaultyRowsRule::kDefault && !study->IsPrivate()) {
    Refuse(*study, design.position,
           "'faulty_rows' is for studies that promise privacy; a study without noise stops at a "
           "table that does not fit its dictionary",
           "remove it");
  }
  const study::ReleaseRuleSpec& release = study->file.release;
  if (release.accept == study::AcceptedRelease::kCheckedCells &&
      dynamic_cast<const MleStudy*>(study.get()) == nullptr) {
    Refuse(*study, release.accept_position,
           "accept = \"checked cells\" is for exact results of method 'mle'", "remove it");
  }
  return study;
}

const MleStudy& RequireMle(const Study& study, const std::string& what) {
  const auto* mle = dynamic_cast<const MleStudy*>(&study);
  if (mle != nullptr) return *mle;
  throw Error(ErrorCode::kUsage,
              fmt::format("{} needs method 'mle', but study '{}' has method '{}'", what,
                          study.file.name, study.Method().name),
              "run it on a study of that method");
}

}  // namespace partita::runtime
