#include "run/rehearse/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <type_traits>

#include "base/clock.h"
#include "run/simulate/mock_tables.h"
#include "run/simulate/temporary_folder.h"

namespace partita::run {

std::vector<size_t> PooledRowsOf(const Study& study, const RehearsedRun& run, size_t party) {
  std::set<std::string> blocks;
  for (const size_t block : study.partition.BlocksOf(party))
    blocks.insert(study.partition.blocks[block].name);
  std::vector<size_t> rows;
  for (size_t i = 0; i < run.mock.row_blocks.size(); ++i) {
    if (blocks.count(run.mock.row_blocks[i]) > 0) rows.push_back(i);
  }
  return rows;
}

data::Table TakeRows(const data::Table& table, const std::vector<size_t>& rows) {
  const auto take = [&rows](const auto& values) {
    std::remove_cvref_t<decltype(values)> taken;
    for (const size_t row : rows) {
      if (!values.empty()) taken.push_back(values[row]);
    }
    return taken;
  };
  data::Table taken;
  taken.num_rows = rows.size();
  for (const data::Column& column : table.columns) {
    taken.columns.push_back(
        {column.schema, take(column.numbers), take(column.codes), take(column.keys)});
  }
  taken.neutral = take(table.neutral);
  return taken;
}

double Rehearsal::lowest_digits() const {
  double lowest = kAllDigits;
  for (const ExactNumber& number : agreement.exact) lowest = std::min(lowest, number.digits);
  return lowest;
}

double Rehearsal::p_value() const {
  double least = 1;
  for (const RandomNumbers& numbers : agreement.random) least = std::min(least, numbers.p_value);
  return std::min(1.0, least * static_cast<double>(agreement.random.size()));
}

bool Rehearsal::passed(double min_digits) const {
  const bool compared = !agreement.exact.empty() || !agreement.random.empty();
  const bool likely = agreement.random.empty() || p_value() >= kFalseAlarm;
  return compared && converged() && costs.agree && likely && lowest_digits() >= min_digits;
}

namespace {

// Twice what min_rows asks for, as rows may be incomplete or outside the population.
uint64_t RowsPerBlock(const Study& study) {
  constexpr uint64_t kUsual = 200;
  return std::max(kUsual, 2 * study.file.disclosure.min_rows /
                              std::max<size_t>(1, study.partition.blocks.size()));
}

}  // namespace

RehearsedRun RunOnMockRows(const Study& study, const RehearsalOptions& options,
                           Progress& progress) {
  progress.Phase("mock data");
  RehearsedRun run;
  run.mock =
      MakeMockTables(study, options.rows_per_block.value_or(RowsPerBlock(study)), options.seed);
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> tables = WriteMockTables(study, run.mock, folder.path());
  run.ends = SimulateInProcess(study, tables, {}, progress, Keep::kOpenings);
  if (const PartyEnd* cause = RootCause(run.ends)) {
    std::string hint = cause->error->hint();
    // What the rows do not allow may only be of made-up ones.
    if (cause->error->code() == ErrorCode::kRefused)
      hint +=
          ". These rows are made up: where the study declares no counts, --rows COUNT makes more";
    throw Error(
        cause->error->code(),
        fmt::format("the rehearsal failed at party {}: {}", cause->party, cause->error->message()),
        hint);
  }
  return run;
}

Rehearsal Rehearse(const Study& study, const RehearsalOptions& options, Progress& progress) {
  Rehearsal rehearsal;
  const std::unique_ptr<const Study> other =
      study.ForRehearsal(options.max_steps, rehearsal.shortened);
  const Study& rehearsed = other ? *other : study;
  SteadyClock::time_point start = SteadyClock::now();
  const RehearsedRun run = RunOnMockRows(rehearsed, options, progress);
  rehearsal.run_seconds = SecondsSince(start);
  rehearsal.rows = run.mock.pooled.num_rows;
  progress.Phase("the same in the clear");
  start = SteadyClock::now();
  rehearsed.Compare(run, rehearsal.agreement, progress);
  rehearsal.plain_seconds = SecondsSince(start);
  rehearsal.costs = CompareCosts(rehearsed, run.ends);
  return rehearsal;
}

}  // namespace partita::run
