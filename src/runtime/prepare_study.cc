#include "runtime/prepare_study.h"

#include <fmt/format.h>

#include "base/error.h"
#include "runtime/mcmc_study.h"

namespace partita::runtime {

std::unique_ptr<const Study> PrepareStudy(study::StudyFile file) {
  if (file.analyses.front().method == "mcmc") {
    return std::make_unique<McmcStudy>(PrepareMcmcStudy(std::move(file)));
  }
  return std::make_unique<MleStudy>(PrepareMleStudy(std::move(file)));
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
