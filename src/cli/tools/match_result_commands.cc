// partita match show | past
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/study/party_files.h"
#include "cli/terminal/new_file.h"
#include "cli/tools/match_results.h"
#include "run/matching/past_matchings.h"
#include "study/file/text.h"

namespace partita::cli {
namespace {

constexpr mode_t kRowsMode = 0600;

// null: without one.
Json LinkerJson(const std::string& linker) { return linker.empty() ? Json() : Json(linker); }

std::string PastText(const run::PastMatchings& past, const std::string& partner, int64_t now) {
  const auto recent = past.NumSince(now, nullptr);
  std::string text = fmt::format("{} {} in the last 365 days, limit {}\n", recent,
                                 recent == 1 ? "matching" : "matchings", past.limit());
  if (!partner.empty()) {
    const run::Partner with{partner, "", 0};
    text += fmt::format("{} of them with {}, limit {}\n", past.NumSince(now, nullptr, with),
                        partner, past.LimitWith(with));
  }
  for (const run::PastMatching& entry : past.all()) {
    text += fmt::format("  {}  {} of {} with {}: {}\n", FormatUtc(entry.at), entry.matching,
                        entry.table, run::PartnerNames(entry),
                        entry.counts.empty() ? "number of matches not known"
                                             : FormatCount(TotalOf(entry.counts)) + " matches" +
                                                   (entry.noisy ? ", with noise" : ""));
  }
  return text;
}

Json PastJson(const run::PastMatchings& past, int64_t now) {
  Json entries = Json::array();
  for (const run::PastMatching& entry : past.all()) {
    Json partners = Json::array();
    for (const run::Partner& partner : entry.partners) {
      partners.push_back(
          {{"name", partner.name}, {"certificate", partner.fingerprint}, {"bound", partner.bound}});
    }
    entries.push_back({{"at", FormatUtc(entry.at)},
                       {"matching", entry.matching},
                       {"table", entry.table},
                       {"partners", partners},
                       {"linker", LinkerJson(entry.linker)},
                       {"own_bound", entry.own_bound},
                       {"matches_by_pass", entry.counts},
                       {"noisy", entry.noisy}});
  }
  return {{"in_365_days", past.NumSince(now, nullptr)},
          {"limit", past.limit()},
          {"matchings", entries}};
}

}  // namespace

uint64_t TotalOf(const std::vector<uint64_t>& counts) {
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  return total;
}

std::string LevelName(match::Level level) {
  return match::IsHidden(level) ? "hidden" : "matched-ids";
}

std::string CountName(match::Level level) {
  return level == match::Level::kHiddenExact   ? "exact"
         : level == match::Level::kHiddenNoisy ? "noisy"
                                               : "nobody";
}

uint64_t PresentIn(const run::MatchedRows& matched) {
  return matched.rows.size() -
         static_cast<uint64_t>(std::count(matched.rows.begin(), matched.rows.end(), match::kNoRow));
}

Json MatchedJson(const run::MatchedRows& matched, const std::filesystem::path& file) {
  const bool hidden = matched.hidden();
  Json matches = matched.rows.size();
  if (hidden) matches = matched.counts.empty() ? Json() : Json(TotalOf(matched.counts));
  return {{"matching", matched.matching},
          {"party", matched.party},
          {"partners", matched.partners},
          {"linker", LinkerJson(matched.linker)},
          {"at", FormatUtc(matched.at)},
          {"record", ToHex(matched.record)},
          {"table_rows", matched.table_rows},
          {"level", LevelName(matched.level)},
          {"positions", hidden ? Json(matched.rows.size()) : Json()},
          {"matches", matches},
          {"matches_by_pass", hidden ? std::vector<uint64_t>{} : matched.counts},
          {"file", file.string()}};
}

namespace {

std::string RowsCsv(const run::MatchedRows& matched) {
  std::string csv = "position,row\n";
  for (size_t i = 0; i < matched.rows.size(); ++i) {
    if (matched.rows[i] != match::kNoRow)
      csv += fmt::format("{},{}\n", i + 1, uint64_t{matched.rows[i]} + 1);
  }
  return csv;
}

std::string ShownText(const run::MatchedRows& matched) {
  std::string found = fmt::format("matches    {} of {} rows\n", FormatCount(matched.rows.size()),
                                  FormatCount(matched.table_rows));
  if (matched.hidden()) {
    found =
        fmt::format("positions  {}, {} of {} rows at some of them\nmatches    {}\n",
                    FormatCount(matched.rows.size()), FormatCount(PresentIn(matched)),
                    FormatCount(matched.table_rows),
                    matched.counts.empty()
                        ? "known to the linker alone"
                        : FormatCount(TotalOf(matched.counts)) +
                              (matched.level == match::Level::kHiddenNoisy ? ", with noise" : "") +
                              ", hidden which they are");
  }
  return fmt::format(
      "matching   {}\nparty      {}, with {}\nat         {}\nrecord     {}\n{}", matched.matching,
      matched.party,
      study::Join(matched.partners) + (matched.linker.empty() ? "" : ", by " + matched.linker),
      FormatUtc(matched.at), ToHex(matched.record), found);
}

}  // namespace

void AddMatchShow(CLI::App& match, Invocation& invocation) {
  struct Options {
    std::string file, rows;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = AddCommand(
      &match, "show", "match show", "Show the result of a matching to its owner", invocation,
      [&invocation, options] {
        run::RequireOwnersResult(options->file);
        const run::MatchedRows matched = run::LoadMatchedRows(options->file);
        if (!options->rows.empty()) {
          WriteOutput(invocation.output, options->rows, RowsCsv(matched), kRowsMode,
                      matched.hidden() ? "the positions of the rows" : "the rows that match");
        }
        PrintResult(invocation.output, ShownText(matched),
                    MatchedJson(matched, options->file).dump());
        return kDone;
      });
  command->add_option("FILE", options->file, "NAME.matched, of partita match run")->required();
  AddNewFile(*command, invocation, "--rows", options->rows,
             "Write which rows of the table match, in the common order, or at which positions rows "
             "are, to this file (readable by its owner only)");
}

void AddMatchPast(CLI::App& match, Invocation& invocation) {
  struct Options {
    PartyFiles files;
    std::string partner;
    std::optional<uint64_t> limit;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = AddCommand(
      &match, "past", "match past",
      "Show with whom a holder's lists were matched, and set how often they may be", invocation,
      [&invocation, options] {
        const std::filesystem::path key = options->files.Key();
        if (!std::filesystem::exists(key)) {
          throw Error(ErrorCode::kBadInput, key.string() + " does not exist",
                      "the record lies beside the holder's private key: name its folder with "
                      "--folder, or the key with --key");
        }
        crypto::SystemRandom random;
        run::PastMatchings past(run::PastMatchingsPath(key), random);
        if (options->limit) past.SetLimit(options->partner, *options->limit);
        const int64_t now = NowUtc();
        PrintResult(invocation.output, PastText(past, options->partner, now),
                    PastJson(past, now).dump());
        return kDone;
      });
  AddPartyFolder(command, options->files, "Where key.pem is; the record lies beside it");
  command->add_option("--key", options->files.key, "The private key (default: key.pem there)");
  command->add_option("--partner", options->partner, "The limit is for matchings with this party");
  command->add_option("--limit", options->limit, "So many matchings in 365 days from now on")
      ->check(CLI::Range(uint64_t{0}, run::kMostMatchingsPerYear));
}

}  // namespace partita::cli
