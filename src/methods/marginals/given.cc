#include "methods/marginals/given.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "stats/marginals/tables.h"

namespace partita::methods::marginals {
namespace {

constexpr size_t kMostDrawn = 20'000'000, kDrawnAtOnce = 100'000;

[[noreturn]] void RefuseGiven(const std::string& condition, const std::string& what,
                              const std::vector<std::string>& known) {
  throw Error(ErrorCode::kBadInput, fmt::format("'{}' {}", condition, what),
              fmt::format("one of: {}", fmt::join(known, "; ")));
}

}  // namespace

std::vector<ColumnLevel> ParseGiven(const OpenedTables& opened,
                                    const std::vector<std::string>& conditions) {
  std::vector<std::string> columns;
  for (const LevelColumn& column : opened.columns) columns.push_back(column.encoding.column.name);
  std::vector<ColumnLevel> given;
  for (const std::string& condition : conditions) {
    const size_t equals = condition.find('=');
    const auto column = std::ranges::find(columns, condition.substr(0, equals));
    if (equals == std::string::npos || column == columns.end())
      RefuseGiven(condition, "names no column: write COLUMN=LEVEL", columns);
    const auto attribute = static_cast<uint32_t>(column - columns.begin());
    const std::vector<std::string> levels = LevelNames(opened.columns[attribute]);
    const auto level = std::ranges::find(levels, condition.substr(equals + 1));
    if (level == levels.end()) RefuseGiven(condition, "names no level", levels);
    if (std::ranges::find(given, attribute, &ColumnLevel::attribute) != given.end())
      RefuseGiven(condition, "names a column twice", columns);
    given.push_back({attribute, static_cast<uint32_t>(level - levels.begin())});
  }
  return given;
}

std::string GivenNote(const OpenedTables& opened, const std::vector<ColumnLevel>& given) {
  const stats::marginals::TableSet set = TablesOf(opened);
  std::string note;
  for (const ColumnLevel& one : given) {
    std::vector<std::string> counted;
    for (size_t t = set.attributes.size(); t < set.tables.size(); ++t) {
      const stats::marginals::CountTable& pair = set.tables[t];
      if (!pair.two_way() || !opened.noisy.Measured(t)) continue;
      if (pair.first == one.attribute) counted.push_back(set.attributes[pair.second].name);
      if (pair.second == one.attribute) counted.push_back(set.attributes[pair.first].name);
    }
    const size_t others = set.attributes.size() - 1;
    if (counted.size() == others) continue;
    const std::string which = counted.empty() ? "" : fmt::format(" ({})", fmt::join(counted, ", "));
    note += fmt::format(
        " {} was counted with {} of {} other columns{}: the rest may be drawn as if it had no "
        "relation to them.",
        set.attributes[one.attribute].name, counted.size(), others, which);
  }
  return note;
}

data::Table DrawGiven(const OpenedTables& opened, const stats::marginals::Choice& choice,
                      const std::vector<ColumnLevel>& given, size_t rows,
                      crypto::RandomSource& source) {
  stats::marginals::Codes kept(opened.columns.size());
  for (size_t drawn = 0; kept[0].size() < rows; drawn += kDrawnAtOnce) {
    if (drawn >= kMostDrawn) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("of {} rows that were drawn {} have these levels", drawn, kept[0].size()),
          "ask for fewer rows, or for fewer levels at once");
    }
    const stats::marginals::Codes codes = DrawLevels(opened, choice, kDrawnAtOnce, source);
    for (size_t n = 0; n < kDrawnAtOnce && kept[0].size() < rows; ++n) {
      if (!std::ranges::all_of(given, [&](const ColumnLevel& one) {
            return codes[one.attribute][n] == one.level;
          })) {
        continue;
      }
      for (size_t a = 0; a < codes.size(); ++a) kept[a].push_back(codes[a][n]);
    }
  }
  return TableOfLevels(opened.columns, kept, source);
}

}  // namespace partita::methods::marginals
