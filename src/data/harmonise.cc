#include "data/harmonise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/bytes.h"

namespace partita::data {

namespace {

bool Any(ShareClass share) { return share > ShareClass::kNone; }

std::optional<int> MedianHalfDecade(const ColumnFacts& facts, uint64_t min_cell) {
  const uint64_t total =
      std::accumulate(facts.half_decades.begin(), facts.half_decades.end(), uint64_t{0});
  if (total < min_cell) return std::nullopt;
  uint64_t seen = 0;
  for (size_t k = 0; k < facts.half_decades.size(); ++k) {
    seen += facts.half_decades[k];
    if (2 * seen >= total) return static_cast<int>(k) + kMinHalfDecade;
  }
  return std::nullopt;
}

ColumnShare ShareOf(const ColumnFacts& facts, uint64_t min_cell) {
  ColumnShare share;
  share.name = facts.schema.name;
  share.type = facts.schema.type;
  share.unit = facts.schema.unit;
  share.in_file = facts.in_file;
  const auto of_present = [&](uint64_t count) { return ClassOf(count, facts.present(), min_cell); };
  share.missing = ClassOf(facts.missing, facts.cells, min_cell);
  share.unreadable = of_present(facts.unreadable);
  share.other_decimal = of_present(facts.other_decimal);
  share.fractional = of_present(facts.fractional);
  share.below = of_present(facts.below);
  share.above = of_present(facts.above);
  share.numbers_for_levels = of_present(facts.strange_numbers);
  for (size_t i = 0; i < facts.schema.levels.size(); ++i)
    share.levels.push_back({facts.schema.levels[i], facts.level_counts[i] >= min_cell});
  if (!facts.schema.levels.empty()) {
    share.unknown_levels = static_cast<uint64_t>(
        std::count_if(facts.strange.begin(), facts.strange.end(),
                      [&](const auto& strange) { return strange.second >= min_cell; }));
  }
  share.half_decade = MedianHalfDecade(facts, min_cell);
  if (facts.schema.type == ColumnType::kKey && facts.present() >= min_cell) {
    share.digit_keys = facts.digit_keys == facts.present();
    share.keys_of_one_length = facts.shortest_key == facts.longest_key;
  }
  return share;
}

std::string SizeText(double size) {
  return size >= 10 && size < 1e6 ? fmt::format("{:.0f}", size) : fmt::format("{:.2g}", size);
}

// "10 to 32"
std::string HalfDecadeText(int half_decade) {
  return fmt::format("{} to {}", SizeText(std::pow(10, half_decade / 2.0)),
                     SizeText(std::pow(10, (half_decade + 1) / 2.0)));
}

std::string DescribeColumn(const ColumnShare& column, uint64_t min_cell) {
  std::string text = fmt::format("{} ({}{})", column.name, ColumnTypeName(column.type),
                                 column.unit.empty() ? "" : ", " + column.unit);
  if (!column.in_file) return text + ": not in the file";
  text += fmt::format(": missing {}", ShareClassName(column.missing));
  const auto add = [&](const char* what, ShareClass share) {
    if (Any(share)) text += fmt::format("; {} {}", what, ShareClassName(share));
  };
  add("not of the type", column.unreadable);
  add("other decimal mark", column.other_decimal);
  add("fractional", column.fractional);
  add("below the bounds", column.below);
  add("above the bounds", column.above);
  add("whole numbers that are no level", column.numbers_for_levels);
  if (!column.levels.empty()) {
    std::string present;
    for (const LevelShare& level : column.levels) {
      if (level.present) present += (present.empty() ? "" : ", ") + level.level;
    }
    text += fmt::format("; levels in {} rows or more: {}", min_cell,
                        present.empty() ? "none" : present);
    if (column.unknown_levels > 0)
      text += fmt::format("; {} other texts in as many", column.unknown_levels);
  }
  if (column.half_decade)
    text += fmt::format("; typical size {}", HalfDecadeText(*column.half_decade));
  if (column.type == ColumnType::kKey) {
    text += fmt::format("; {}, {}", column.digit_keys ? "digits only" : "not digits only",
                        column.keys_of_one_length ? "all of one length" : "of several lengths");
  }
  return text;
}

// One column at one site.
struct Sited {
  const ShareSummary* site = nullptr;
  const ColumnShare* column = nullptr;
};

class Comparison {
 public:
  explicit Comparison(std::span<const ShareSummary> summaries) : summaries_(summaries) {}

  std::vector<HarmonyProblem> Run();

 private:
  void CompareSummaries();
  void CompareColumn(const std::vector<Sited>& sites);
  void CheckAlone(const Sited& sited);
  void CheckUnreadable(const Sited& sited);
  void CompareLevels(const std::vector<Sited>& sites);
  void CompareSizes(const std::vector<Sited>& sites);
  void CompareFractions(const std::vector<Sited>& sites);
  void CompareKeys(const std::vector<Sited>& sites);
  void CompareMissing(const std::vector<Sited>& sites);
  void Add(Severity severity, const std::string& column, std::vector<std::string> parties,
           std::string what, std::string fix) {
    problems_.push_back({severity, column, std::move(parties), std::move(what), std::move(fix)});
  }

  std::span<const ShareSummary> summaries_;
  std::vector<HarmonyProblem> problems_;
};

template <typename F>
std::vector<std::string> PartiesWhere(const std::vector<Sited>& sites, F holds) {
  std::vector<std::string> parties;
  for (const Sited& sited : sites) {
    if (holds(*sited.column)) parties.push_back(sited.site->party);
  }
  return parties;
}

void Comparison::CompareSummaries() {
  std::set<std::string> parties;
  for (const ShareSummary& summary : summaries_) {
    if (!parties.insert(summary.party).second) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("two summaries are of the party '{}'", summary.party),
                  "give each party's newest summary once");
    }
    const ShareSummary& first = summaries_.front();
    if (summary.study != first.study || summary.dictionary != first.dictionary) {
      Add(Severity::kProblem, "", {first.party, summary.party},
          summary.study != first.study
              ? fmt::format("the summaries are of the studies '{}' and '{}'", first.study,
                            summary.study)
              : "the summaries were made with different dictionaries",
          "use the same study file everywhere and make the summaries again");
    }
  }
}

void Comparison::CheckUnreadable(const Sited& sited) {
  const ColumnShare& column = *sited.column;
  const std::string share(ShareClassName(column.unreadable));
  if (Any(column.other_decimal)) {
    Add(Severity::kProblem, column.name, {sited.site->party},
        fmt::format("numbers with another decimal mark than the study's ({} of the cells)",
                    ShareClassName(column.other_decimal)),
        "export the table again with the decimal mark of [table]");
  } else if (Any(column.numbers_for_levels)) {
    Add(Severity::kProblem, column.name, {sited.site->party},
        fmt::format("coded with numbers that are not levels ({} of the cells), like 1 and 2 for m "
                    "and f",
                    ShareClassName(column.numbers_for_levels)),
        "recode to the levels of the dictionary, with the code book at hand");
  } else if (Any(column.unreadable)) {
    Add(Severity::kProblem, column.name, {sited.site->party},
        column.levels.empty()
            ? fmt::format("cells that are not {}s ({})",
                          column.type == ColumnType::kDate ? "date" : "number", share)
            : fmt::format("texts that are not levels ({}, {} of them often)", share,
                          column.unknown_levels),
        column.levels.empty() ? "correct them, or agree on missing_codes"
                              : "recode them, or agree on more levels for the dictionary");
  }
}

// What is wrong whatever the others have.
void Comparison::CheckAlone(const Sited& sited) {
  const ColumnShare& column = *sited.column;
  const std::vector<std::string> here = {sited.site->party};
  if (!column.in_file) {
    Add(Severity::kProblem, column.name, here, "the column is not in the file",
        "add it, or correct its name in the header");
    return;
  }
  CheckUnreadable(sited);
  if (column.type == ColumnType::kInteger && Any(column.fractional)) {
    Add(Severity::kProblem, column.name, here,
        fmt::format("numbers that are not whole ({})", ShareClassName(column.fractional)),
        "round them where the instrument is whole, or make the variable numeric for all");
  }
  for (const auto& [share, side] : {std::pair(column.below, "below"), {column.above, "above"}}) {
    if (!Any(share)) continue;
    Add(Severity::kProblem, column.name, here,
        fmt::format("cells {} the bounds ({})", side, ShareClassName(share)),
        share >= ShareClass::kMost ? "is the unit that of the dictionary?"
                                   : "correct them, or agree on wider bounds");
  }
}

void Comparison::CompareLevels(const std::vector<Sited>& sites) {
  for (size_t i = 0; i < sites.front().column->levels.size(); ++i) {
    const std::string& name = sites.front().column->levels[i].level;
    const auto has = [&](const ColumnShare& column) {
      return i < column.levels.size() && column.levels[i].present;
    };
    const std::vector<std::string> without =
        PartiesWhere(sites, [&](const ColumnShare& c) { return c.in_file && !has(c); });
    if (without.size() == sites.size()) {
      Add(Severity::kWarning, sites.front().column->name, without,
          fmt::format("no site has enough rows of the level '{}'", name),
          "merge it with another level, or leave it out");
    } else if (!without.empty()) {
      Add(Severity::kWarning, sites.front().column->name, without,
          fmt::format("the level '{}' is missing or rare here, but not elsewhere", name),
          "is it written differently here? if it does not occur, nothing is wrong");
    }
  }
}

// Sites a factor of ten apart are two half decades apart; less is no suspicion.
void Comparison::CompareSizes(const std::vector<Sited>& sites) {
  std::vector<Sited> sized;
  for (const Sited& sited : sites) {
    if (sited.column->half_decade) sized.push_back(sited);
  }
  if (sized.size() < 2) return;
  const auto half_decade = [](const Sited& sited) { return *sited.column->half_decade; };
  std::vector<Sited> ordered = sized;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const Sited& a, const Sited& b) { return half_decade(a) < half_decade(b); });
  const auto apart = [&](const Sited& a, const Sited& b) {
    return std::abs(half_decade(a) - half_decade(b));
  };
  const auto add = [&](const Sited& sited, const Sited& usual, std::vector<std::string> parties) {
    const std::string& unit = sited.column->unit;
    Add(Severity::kWarning, sited.column->name, std::move(parties),
        fmt::format("the typical size is {} at {} and {} at {}, about a factor of {} apart",
                    HalfDecadeText(half_decade(usual)), usual.site->party,
                    HalfDecadeText(half_decade(sited)), sited.site->party,
                    SizeText(std::pow(10, apart(sited, usual) / 2))),
        fmt::format("is the unit {} at both?", unit.empty() ? "the same" : unit));
  };
  // Of two sites nobody knows which is right; of more, the one in the middle is.
  if (sized.size() == 2) {
    if (apart(sized[0], sized[1]) >= 2)
      add(sized[1], sized[0], {sized[0].site->party, sized[1].site->party});
    return;
  }
  const Sited& usual = ordered[ordered.size() / 2];
  for (const Sited& sited : sized) {
    if (apart(sited, usual) >= 2) add(sited, usual, {sited.site->party});
  }
}

void Comparison::CompareFractions(const std::vector<Sited>& sites) {
  if (sites.front().column->type != ColumnType::kNumeric) return;
  const std::vector<std::string> fractional =
      PartiesWhere(sites, [](const ColumnShare& c) { return c.fractional >= ShareClass::kMost; });
  const std::vector<std::string> whole =
      PartiesWhere(sites, [](const ColumnShare& c) { return c.fractional == ShareClass::kNone; });
  if (fractional.empty() || whole.empty()) return;
  Add(Severity::kWarning, sites.front().column->name, whole,
      "whole numbers only, where others have decimals",
      "was the variable rounded, or lost its decimals in an export?");
}

void Comparison::CompareKeys(const std::vector<Sited>& sites) {
  if (sites.front().column->type != ColumnType::kKey) return;
  const auto form = [](const ColumnShare& c) {
    return std::pair(c.digit_keys, c.keys_of_one_length);
  };
  const auto usual = form(*sites.front().column);
  const std::vector<std::string> different =
      PartiesWhere(sites, [&](const ColumnShare& c) { return form(c) != usual; });
  if (different.empty()) return;
  Add(Severity::kWarning, sites.front().column->name, different,
      fmt::format("keys of another form than at {} (digits only, or one length)",
                  sites.front().site->party),
      "were leading zeros lost, or prefixes added? keys must be written alike");
}

void Comparison::CompareMissing(const std::vector<Sited>& sites) {
  const std::vector<std::string> much =
      PartiesWhere(sites, [](const ColumnShare& c) { return c.missing >= ShareClass::kMost; });
  const std::vector<std::string> little = PartiesWhere(sites, [](const ColumnShare& c) {
    return c.missing == ShareClass::kNone || c.missing == ShareClass::kFew;
  });
  if (much.empty() || little.empty()) return;
  Add(Severity::kWarning, sites.front().column->name, much,
      "most cells are missing here and few elsewhere",
      "was the variable collected here? is a missing code taken for a value elsewhere?");
}

void Comparison::CompareColumn(const std::vector<Sited>& sites) {
  for (const Sited& sited : sites) CheckAlone(sited);
  if (sites.size() < 2) return;
  CompareLevels(sites);
  CompareSizes(sites);
  CompareFractions(sites);
  CompareKeys(sites);
  CompareMissing(sites);
}

std::vector<HarmonyProblem> Comparison::Run() {
  CompareSummaries();
  std::vector<std::string> order;
  std::map<std::string, std::vector<Sited>> columns;
  for (const ShareSummary& summary : summaries_) {
    for (const ColumnShare& column : summary.columns) {
      auto& sites = columns[column.name];
      if (sites.empty()) order.push_back(column.name);
      sites.push_back({&summary, &column});
    }
  }
  for (const std::string& name : order) CompareColumn(columns[name]);
  std::stable_sort(problems_.begin(), problems_.end(),
                   [](const auto& a, const auto& b) { return a.severity > b.severity; });
  return std::move(problems_);
}

}  // namespace

std::string_view ShareClassName(ShareClass share) {
  switch (share) {
    case ShareClass::kSuppressed:
      return "suppressed";
    case ShareClass::kNone:
      return "none";
    case ShareClass::kFew:
      return "few";
    case ShareClass::kSome:
      return "some";
    case ShareClass::kMost:
      return "most";
    case ShareClass::kAll:
      return "all";
  }
  throw Error(ErrorCode::kInternal, "unknown share class");
}

ShareClass ClassOf(uint64_t count, uint64_t total, uint64_t min_cell) {
  if (total < min_cell || total == 0) return ShareClass::kSuppressed;
  if (count < min_cell) return ShareClass::kNone;
  if (total - count < min_cell) return ShareClass::kAll;
  if (20 * count < total) return ShareClass::kFew;
  return 2 * count < total ? ShareClass::kSome : ShareClass::kMost;
}

ShareSummary Summarise(const TableCheck& check, const Schema& dictionary, const std::string& study,
                       const std::string& party, uint64_t min_cell) {
  ShareSummary summary{study, party, ToHex(SchemaDigest(dictionary)), min_cell, {}};
  for (const ColumnFacts& facts : check.columns)
    summary.columns.push_back(ShareOf(facts, min_cell));
  return summary;
}

std::string DescribeShare(const ShareSummary& summary) {
  std::string text = fmt::format(
      "This summary tells the other parties of study '{}', and nothing else of the table of "
      "'{}':\n",
      summary.study, summary.party);
  for (const ColumnShare& column : summary.columns)
    text += "  " + DescribeColumn(column, summary.min_cell) + "\n";
  text += fmt::format(
      "none: fewer than {0} cells; few: below 5 %; some: below 50 %; all: all but fewer than "
      "{0}.\n",
      summary.min_cell);
  return text;
}

std::vector<HarmonyProblem> Compare(std::span<const ShareSummary> summaries) {
  if (summaries.size() < 2) {
    throw Error(ErrorCode::kBadInput, "there is one summary only, and nothing to compare it with",
                "give the summaries of two or more parties");
  }
  return Comparison(summaries).Run();
}

}  // namespace partita::data
