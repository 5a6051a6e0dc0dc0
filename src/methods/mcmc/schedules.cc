// Other schedules of a study of chains: more decisions at once, or more and shorter chains.
#include <fmt/format.h>

#include "base/error.h"
#include "methods/mcmc/section.h"
#include "methods/mcmc/study.h"
#include "privacy/rounded_text.h"

namespace partita::methods::mcmc {
namespace {

constexpr size_t kMostTogether = 5;  // 31 questions

std::string ScheduleText(const stats::mcmc::ChainOptions& options) {
  return fmt::format("{} chains of {} draws, {}", options.chains, options.draws,
                     options.speculation == 1
                         ? "one decision after the other"
                         : fmt::format("{} decisions together", options.speculation));
}

// What follows for the draws and, where something is promised, for the promise.
std::string ResultText(const McmcStudy& study) {
  const stats::mcmc::ChainOptions& options = study.chain.options;
  std::string text =
      fmt::format("{} draws in all, from {} decisions", options.chains * options.draws,
                  options.chains * stats::mcmc::DecisionsOf(options));
  if (options.superchains == 0) text += ", each chain judged by itself";
  if (study.IsPrivate()) {
    text +=
        fmt::format("; eps <= {} for who sees the result",
                    privacy::RoundedText(study.statement.rows.front().loss.epsilon_upper, 3, true));
  }
  return text + ".";
}

}  // namespace

std::vector<run::OtherSchedule> McmcStudy::OtherSchedules() const {
  std::vector<run::OtherSchedule> schedules;
  schedules.push_back({ScheduleText(chain.options), ResultText(*this), nullptr});
  const auto add = [&](const ChainSpec& other) {
    if (!stats::mcmc::HasWholeBlocks(other.options)) return;
    study::StudyFile copy = file;
    copy.analyses.front().section = std::make_shared<const McmcSection>(other);
    try {
      auto study = std::make_unique<const McmcStudy>(PrepareMcmcStudy(std::move(copy)));
      schedules.push_back(
          {ScheduleText(study->chain.options), ResultText(*study), std::move(study)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput && error.code() != ErrorCode::kUsage) throw;
      // More than is promised, or than the method does.
    }
  };
  if (spec.rule == Rule::kBit && !chain.staged) {
    for (size_t together = 1; together <= kMostTogether; ++together) {
      ChainSpec other = spec;
      other.options.speculation = together;
      if (together != spec.options.speculation) add(other);
    }
  }
  // As many draws from twice and four times as many chains.
  for (const size_t factor : {size_t{2}, size_t{4}}) {
    ChainSpec other = spec;
    if (spec.options.draws % factor != 0) continue;
    other.options.chains *= factor;
    other.options.draws /= factor;
    add(other);
  }
  return schedules;
}

}  // namespace partita::methods::mcmc
