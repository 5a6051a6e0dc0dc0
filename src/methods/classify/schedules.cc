// Other schedules of descent: fewer steps over larger batches, with the noise that promises the same.
#include <fmt/format.h>

#include "base/error.h"
#include "methods/classify/section.h"
#include "methods/classify/study.h"
#include "privacy/rounded_text.h"

namespace partita::methods::classify {
namespace {

double ExpectedBatch(const ClassifyStudy& study) {
  const DescentTask& task = *study.design.fit.descent;
  return study.design.spec.sampling_rate * static_cast<double>(task.rows);
}

std::string ScheduleText(const ClassifyStudy& study) {
  return fmt::format("{:.0f} rows a batch, {} steps", ExpectedBatch(study),
                     study.design.spec.iterations);
}

std::string ResultText(const ClassifyStudy& study) {
  const double noise = study.design.fit.noise_multiplier;
  return fmt::format(
      "noise of {} times clip_norm a batch, {:.3g} a row of it, in each step, for the promise of "
      "this study; steps are as long, so that fewer of them go less far.",
      privacy::GivenText(noise, 4, false), noise / ExpectedBatch(study));
}

}  // namespace

std::vector<run::OtherSchedule> ClassifyStudy::OtherSchedules() const {
  if (!design.fit.descent) return {};
  std::vector<run::OtherSchedule> schedules;
  schedules.push_back({ScheduleText(*this), ResultText(*this), nullptr});
  for (const uint64_t factor : {uint64_t{2}, uint64_t{4}, uint64_t{8}}) {
    ClassifySection other = ClassifyOf(file.analyses.front());
    other.spec.sampling_rate *= static_cast<double>(factor);
    other.spec.iterations = (other.spec.iterations + factor - 1) / factor;
    if (other.spec.sampling_rate > 1 || other.spec.iterations < 2) break;
    study::StudyFile copy = file;
    copy.analyses.front().section = std::make_shared<const ClassifySection>(std::move(other));
    try {
      auto study = std::make_unique<const ClassifyStudy>(PrepareClassifyStudy(std::move(copy)));
      schedules.push_back({ScheduleText(*study), ResultText(*study), std::move(study)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput && error.code() != ErrorCode::kBudget) throw;
      break;  // nothing covers so few steps
    }
  }
  return schedules;
}

}  // namespace partita::methods::classify
