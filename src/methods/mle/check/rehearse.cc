#include "methods/mle/check/rehearse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include "base/clock.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/report/report.h"
#include "run/simulate/mock_tables.h"
#include "run/simulate/temporary_folder.h"

namespace partita::methods::mle {
namespace {

using run::PartyEnd;

namespace fs = std::filesystem;

// Messages and bytes that the parties counted as sent, by phase and link.
using Links =
    std::map<std::tuple<std::string, std::string, std::string>, std::pair<uint64_t, uint64_t>>;

Links PlannedLinks(const study::Plan& plan) {
  Links links;
  for (const study::PlanPhase& phase : plan.phases) {
    for (const study::PlanLink& link : phase.links) {
      if (link.messages == 0) continue;
      auto& [messages, bytes] = links[{phase.name, link.from, link.to}];
      messages += link.messages;
      bytes += link.bytes;
    }
  }
  return links;
}

Links CountedLinks(const std::vector<PartyEnd>& ends) {
  Links links;
  for (const PartyEnd& end : ends) {
    for (const net::PhaseTraffic& phase : end.outcome->traffic) {
      for (size_t peer = 0; peer < phase.links.size(); ++peer) {
        const net::LinkTraffic& link = phase.links[peer];
        if (link.messages_sent == 0) continue;
        auto& [messages, bytes] = links[{phase.phase, end.party, ends[peer].party}];
        messages += link.messages_sent;
        bytes += link.bytes_sent;
      }
    }
  }
  return links;
}

CostTotals SumOfLinks(const Links& links, uint64_t rounds) {
  CostTotals totals{rounds, 0, 0};
  for (const auto& [link, cost] : links) {
    totals.messages += cost.first;
    totals.bytes += cost.second;
  }
  return totals;
}

uint64_t DeepestRounds(const std::vector<PartyEnd>& ends) {
  uint64_t deepest = 0;
  for (const PartyEnd& end : ends) {
    uint64_t rounds = 0;
    for (const net::PhaseTraffic& phase : end.outcome->traffic) rounds += phase.rounds;
    deepest = std::max(deepest, rounds);
  }
  return deepest;
}

// Appends the parameters of one analysis and all their digits.
void CompareFits(const MleResult& secure, const MleResult& plain, Rehearsal& rehearsal,
                 std::vector<double>& digits) {
  rehearsal.secure_converged = rehearsal.secure_converged && secure.fit.converged;
  rehearsal.plain_converged = rehearsal.plain_converged && plain.fit.converged;
  for (size_t i = 0; i < secure.table.rows.size(); ++i) {
    const stats::Parameter& row = secure.table.rows[i];
    if (row.free == 0 && row.op != ":=") continue;
    const stats::ParameterEstimate &ours = secure.fit.estimates[i],
                                   &theirs = plain.fit.estimates[i];
    RehearsedParameter parameter;
    parameter.analysis = secure.name;
    parameter.lhs = row.lhs;
    parameter.op = row.op;
    parameter.rhs = row.rhs;
    parameter.group = row.group;
    parameter.secure = ours.estimate;
    parameter.plain = theirs.estimate;
    parameter.standard_error = theirs.standard_error;
    parameter.digits = DigitsOfAgreement(ours.estimate, theirs.estimate, theirs.standard_error);
    parameter.standard_error_digits = kAllDigits;
    digits.push_back(parameter.digits);
    const bool both_without = std::isnan(ours.standard_error) && std::isnan(theirs.standard_error);
    if (!both_without) {
      parameter.standard_error_digits =
          DigitsOfAgreement(ours.standard_error, theirs.standard_error, 0);
      digits.push_back(parameter.standard_error_digits);
    }
    rehearsal.parameters.push_back(std::move(parameter));
  }
}

}  // namespace

void CompareCosts(const std::vector<PartyEnd>& ends, Rehearsal& rehearsal) {
  const study::Plan& plan = ends.front().outcome->plan;
  const Links planned = PlannedLinks(plan), counted = CountedLinks(ends);
  rehearsal.planned = SumOfLinks(planned, study::Totals(plan).rounds);
  rehearsal.counted = SumOfLinks(counted, DeepestRounds(ends));
  rehearsal.costs_agree =
      planned == counted && rehearsal.planned.rounds == rehearsal.counted.rounds;
}

double DigitsOfAgreement(double secure, double plain, double standard_error) {
  if (!std::isfinite(secure) || !std::isfinite(plain)) return 0;
  const double difference = std::fabs(secure - plain);
  if (difference == 0) return kAllDigits;
  const double scale =
      std::max(std::fabs(plain), std::isfinite(standard_error) ? standard_error : 0.0);
  if (scale == 0) return 0;
  return std::clamp(-std::log10(difference / scale), 0.0, kAllDigits);
}

bool Rehearsal::passed(double min_digits) const {
  return secure_converged && plain_converged && costs_agree && lowest_digits >= min_digits;
}

Rehearsal Rehearse(const MleStudy& study, const RehearsalOptions& options, Progress& progress) {
  if (study.privacy) {
    throw Error(
        ErrorCode::kUsage,
        "a rehearsal compares digits with the pooled fit, from which the noise of a private "
        "study departs on purpose",
        "rehearse a copy of the study without [analysis.privacy]; what the noise does is in "
        "the plan");
  }
  for (const Computation& computation : study.computations) {
    if (!published::IsPublished(computation.protocol)) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("a rehearsal compares messages with the plan, which does not foresee "
                            "those of protocol '{}'",
                            computation.protocol),
                "run it on mock tables (partita data mock), or use another protocol");
  }
  if (IsImputed(study)) {
    throw Error(ErrorCode::kUsage,
                "a rehearsal compares digits with the pooled fit, and imputed values are random",
                "rehearse a copy of the study with missing = \"fiml\"");
  }
  Rehearsal rehearsal;
  progress.Phase("mock data");
  const run::TemporaryFolder folder;
  const data::MockStudy mock = run::MakeMockTables(study, options.rows_per_block, options.seed);
  const std::vector<fs::path> tables = run::WriteMockTables(study, mock, folder.path());
  rehearsal.rows = mock.pooled.num_rows;

  SteadyClock::time_point start = SteadyClock::now();
  // On made-up rows nothing needs a grid, and digits can be compared.
  const std::vector<PartyEnd> ends =
      run::SimulateInProcess(UnroundedTwin(study), tables, {}, progress);
  rehearsal.secure_seconds = SecondsSince(start);
  if (const PartyEnd* cause = run::RootCause(ends)) {
    throw Error(
        cause->error->code(),
        fmt::format("the rehearsal failed at party {}: {}", cause->party, cause->error->message()),
        cause->error->hint());
  }
  start = SteadyClock::now();
  const std::vector<MleResult> plain = FitPooled(study, mock.pooled, mock.row_blocks, progress);
  rehearsal.plain_seconds = SecondsSince(start);
  CompareCosts(ends, rehearsal);
  const std::span<const MleResult> secure = AnalysesOf(ends[study.receiver].outcome->result.get());
  std::vector<double> digits;
  for (size_t a = 0; a < plain.size(); ++a) CompareFits(secure[a], plain[a], rehearsal, digits);
  if (digits.empty()) return rehearsal;
  std::sort(digits.begin(), digits.end());
  rehearsal.lowest_digits = digits.front();
  rehearsal.median_digits = digits[digits.size() / 2];
  return rehearsal;
}

}  // namespace partita::methods::mle
