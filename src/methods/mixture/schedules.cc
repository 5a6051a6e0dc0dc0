// Other schedules of a mixture study: fewer iterations over larger batches, with the noise that
// promises the same.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "methods/mixture/forecast.h"
#include "methods/mixture/section.h"
#include "methods/mixture/study.h"
#include "privacy/rounded_text.h"

namespace partita::methods::mixture {
namespace {

std::string ScheduleText(const MixtureStudy& study) {
  return fmt::format("{} rows a batch, {} iterations", study.spec().batch_size,
                     study.spec().iterations);
}

// The largest loss against those whom the study's epsilon is about; none if it is bounded for nobody.
std::optional<double> EpsilonAgainst(const MixtureStudy& study) {
  const privacy::AdversaryKind kind = study.spec().privacy.against == MixtureAgainst::kOutside
                                          ? privacy::AdversaryKind::kOutsideAnalyst
                                          : privacy::AdversaryKind::kParty;
  std::optional<double> largest;
  for (const privacy::StatementRow& row : study.statement.rows) {
    if (row.adversary.kind == kind && !row.loss.infinite)
      largest = std::max(largest.value_or(0), row.loss.epsilon_upper);
  }
  return largest;
}

std::string ResultText(const MixtureStudy& study) {
  const double noise = study.plan.request.noise_multiplier;
  return fmt::format(
      "noise of {} times clip a batch, {:.3g} a row of it; synthetic rows go {:.0f} % of the way "
      "by the forecast; eps <= {}.",
      privacy::GivenText(noise, 4, false), noise / study.spec().batch_size,
      100 * LearnedShare(study.ForecastOnce()),
      privacy::RoundedText(EpsilonAgainst(study).value_or(0), 4, true));
}

}  // namespace

std::vector<run::OtherSchedule> MixtureStudy::OtherSchedules() const {
  const std::optional<double> epsilon = EpsilonAgainst(*this);
  if (spec().batch == MixtureBatch::kFull || !epsilon) return {};
  std::vector<run::OtherSchedule> schedules;
  schedules.push_back({ScheduleText(*this), ResultText(*this), nullptr});
  for (const uint32_t factor : {2U, 4U, 8U}) {
    MixtureSpec other = spec();
    other.batch_size *= factor;
    other.iterations = (other.iterations + factor - 1) / factor;
    if (2 * other.batch_size > plan.request.num_rows || other.iterations < 2) break;
    other.reserve = (other.reserve + factor - 1) / factor;
    other.privacy.noise_multiplier.reset();
    other.privacy.epsilon = epsilon;
    study::StudyFile copy = file;
    copy.analyses.front().section = std::make_shared<const MixtureSection>(std::move(other));
    // Forecasts are kept by the text.
    copy.text += fmt::format("\n# batches {} times as large", factor);
    try {
      auto study = std::make_unique<const MixtureStudy>(PrepareMixtureStudy(std::move(copy)));
      schedules.push_back({ScheduleText(*study), ResultText(*study), std::move(study)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput && error.code() != ErrorCode::kBudget) throw;
      break;  // more noise than a run can draw, or a batch beyond the method
    }
  }
  return schedules;
}

}  // namespace partita::methods::mixture
