// partita match show | past
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/terminal/new_file.h"
#include "cli/tools/match_results.h"
#include "run/matching/past_matchings.h"

namespace partita::cli {
namespace {

constexpr mode_t kRowsMode = 0600;

std::string PastText(const run::PastMatchings& past, const std::string& partner, int64_t now) {
  std::string text = fmt::format("{} matchings in the last 365 days, limit {}\n",
                                 past.NumSince(now), past.limit());
  if (!partner.empty()) {
    text += fmt::format("{} of them with {}, limit {}\n", past.NumSince({partner, ""}, now),
                        partner, past.LimitWith({partner, ""}));
  }
  for (const run::PastMatching& entry : past.all()) {
    text += fmt::format("  {}  {} with {}: {}\n", FormatUtc(entry.at), entry.matching, entry.peer,
                        entry.counts.empty() ? "ended before the number of matches was known"
                                             : FormatCount(TotalOf(entry.counts)) + " matches");
  }
  return text;
}

Json PastJson(const run::PastMatchings& past, int64_t now) {
  Json entries = Json::array();
  for (const run::PastMatching& entry : past.all()) {
    entries.push_back({{"at", FormatUtc(entry.at)},
                       {"matching", entry.matching},
                       {"partner", entry.peer},
                       {"partner_certificate", entry.fingerprint},
                       {"own_bound", entry.own_bound},
                       {"partner_bound", entry.peer_bound},
                       {"matches_by_pass", entry.counts}});
  }
  return {{"in_365_days", past.NumSince(now)}, {"limit", past.limit()}, {"matchings", entries}};
}

}  // namespace

uint64_t TotalOf(const std::vector<uint64_t>& counts) {
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  return total;
}

Json MatchedJson(const run::MatchedRows& matched, const std::filesystem::path& file) {
  return {{"matching", matched.matching},
          {"party", matched.party},
          {"peer", matched.peer},
          {"at", FormatUtc(matched.at)},
          {"record", ToHex(matched.record)},
          {"table_rows", matched.table_rows},
          {"matches", matched.rows.size()},
          {"matches_by_pass", matched.counts},
          {"file", file.string()}};
}

void AddMatchShow(CLI::App& match, Invocation& invocation) {
  struct Options {
    std::string file, rows;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = AddCommand(
      &match, "show", "match show", "Show the result of a matching to its owner", invocation,
      [&invocation, options] {
        const run::MatchedRows matched = run::LoadMatchedRows(options->file);
        if (!options->rows.empty()) {
          std::string csv = "position,row\n";
          for (size_t i = 0; i < matched.rows.size(); ++i)
            csv += fmt::format("{},{}\n", i + 1, matched.rows[i] + 1);
          WriteOutput(invocation.output, options->rows, csv, kRowsMode, "the rows that match");
        }
        PrintResult(invocation.output,
                    fmt::format("matching   {}\nparty      {}, with {}\nat         {}\nrecord     "
                                "{}\nmatches    {} of {} rows\n",
                                matched.matching, matched.party, matched.peer,
                                FormatUtc(matched.at), ToHex(matched.record),
                                FormatCount(matched.rows.size()), FormatCount(matched.table_rows)),
                    MatchedJson(matched, options->file).dump());
        return kDone;
      });
  command->add_option("FILE", options->file, "NAME.matched, of partita match run")->required();
  AddNewFile(*command, invocation, "--rows", options->rows,
             "Write which rows of the table match, in the common order, to this file (readable by "
             "its owner only)");
}

void AddMatchPast(CLI::App& match, Invocation& invocation) {
  struct Options {
    std::string table, partner;
    std::optional<uint64_t> limit;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      AddCommand(&match, "past", "match past",
                 "Show with whom a table was matched, and set how often it may be", invocation,
                 [&invocation, options] {
                   if (!std::filesystem::exists(options->table)) {
                     throw Error(ErrorCode::kBadInput, options->table + " does not exist",
                                 "name the table, not its record");
                   }
                   crypto::SystemRandom random;
                   run::PastMatchings past(run::PastMatchingsPath(options->table), random);
                   if (options->limit) past.SetLimit(options->partner, *options->limit);
                   const int64_t now = NowUtc();
                   PrintResult(invocation.output, PastText(past, options->partner, now),
                               PastJson(past, now).dump());
                   return kDone;
                 });
  command->add_option("TABLE", options->table, "The table (CSV); its record lies beside it")
      ->required();
  command->add_option("--partner", options->partner, "The limit is for matchings with this party");
  command->add_option("--limit", options->limit, "So many matchings in 365 days from now on")
      ->check(CLI::Range(uint64_t{0}, run::kMostMatchingsPerYear));
}

}  // namespace partita::cli
