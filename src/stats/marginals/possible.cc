#include "stats/marginals/possible.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "stats/blr/variates.h"

namespace partita::stats::marginals {
namespace {

constexpr size_t kPartners = 400;  // rows that are asked to exchange a level

// The impossible cells that a row has.
class Rules {
 public:
  explicit Rules(std::span<const ImpossibleCell> impossible) : impossible_(impossible) {}
  const ImpossibleCell* Broken(const Codes& codes, size_t row) const {
    for (const ImpossibleCell& cell : impossible_) {
      if (Has(codes, row, cell)) return &cell;
    }
    return nullptr;
  }
  size_t Count(const Codes& codes, size_t row) const {
    size_t count = 0;
    for (const ImpossibleCell& cell : impossible_) count += Has(codes, row, cell) ? 1 : 0;
    return count;
  }

 private:
  static bool Has(const Codes& codes, size_t row, const ImpossibleCell& cell) {
    return codes[cell.first][row] == cell.first_level &&
           codes[cell.second][row] == cell.second_level;
  }
  std::span<const ImpossibleCell> impossible_;
};

// Mends one row; false: no partner was found. No partner has more impossible cells afterwards.
bool Exchange(const Rules& rules, Codes& codes, size_t row, blr::Variates& variates) {
  for (size_t attempt = 0; attempt < kPartners; ++attempt) {
    const ImpossibleCell* broken = rules.Broken(codes, row);
    if (broken == nullptr) return true;
    std::vector<uint16_t>& column = codes[attempt % 2 == 0 ? broken->second : broken->first];
    const size_t partner = variates.Below(column.size());
    if (column[partner] == column[row]) continue;
    const size_t own = rules.Count(codes, row), others = rules.Count(codes, partner);
    std::swap(column[row], column[partner]);
    const bool better = rules.Count(codes, row) < own && rules.Count(codes, partner) <= others;
    if (!better) std::swap(column[row], column[partner]);
  }
  return rules.Broken(codes, row) == nullptr;
}

// Depth first over the attributes, the wanted level of each first.
class RowSearch {
 public:
  RowSearch(const TableSet& set, std::span<const ImpossibleCell> impossible,
            std::vector<uint32_t> wanted)
      : set_(set), wanted_(std::move(wanted)), row_(wanted_), closing_(set.attributes.size()) {
    for (const ImpossibleCell& cell : impossible) closing_[cell.second].push_back(cell);
  }
  bool From(size_t attribute) {
    if (attribute == row_.size()) return true;
    const uint32_t levels = set_.attributes[attribute].levels;
    for (uint32_t i = 0; i < levels && steps_ < kMostSearched; ++i) {
      ++steps_;
      row_[attribute] = (wanted_[attribute] + i) % levels;
      if (IsPossible(attribute) && From(attribute + 1)) return true;
    }
    return false;
  }
  const std::vector<uint32_t>& row() const { return row_; }

 private:
  // As far as the attributes up to this one say.
  bool IsPossible(size_t attribute) const {
    return std::ranges::none_of(closing_[attribute], [&](const ImpossibleCell& cell) {
      return row_[cell.first] == cell.first_level && row_[cell.second] == cell.second_level;
    });
  }
  const TableSet& set_;
  std::vector<uint32_t> wanted_, row_;
  std::vector<std::vector<ImpossibleCell>> closing_;  // by their second attribute
  size_t steps_ = 0;
};

// A possible row near this one; else any, which CheckImpossible has found.
void ReplaceRow(const TableSet& set, std::span<const ImpossibleCell> impossible, Codes& codes,
                size_t row) {
  std::vector<uint32_t> wanted;
  for (const std::vector<uint16_t>& column : codes) wanted.push_back(column[row]);
  auto possible = PossibleRow(set, impossible, std::move(wanted));
  if (!possible) possible = PossibleRow(set, impossible, std::vector<uint32_t>(codes.size()));
  if (!possible)
    throw Error(ErrorCode::kUsage, "No row is possible", "Ask CheckImpossible before drawing.");
  for (size_t a = 0; a < codes.size(); ++a) codes[a][row] = static_cast<uint16_t>((*possible)[a]);
}

}  // namespace

std::optional<std::vector<uint32_t>> PossibleRow(const TableSet& set,
                                                 std::span<const ImpossibleCell> impossible,
                                                 std::vector<uint32_t> wanted) {
  RowSearch search(set, impossible, std::move(wanted));
  if (!search.From(0)) return std::nullopt;
  return search.row();
}

size_t CellOf(const TableSet& set, const ImpossibleCell& impossible) {
  const CountTable& table = set.Pair(impossible.first, impossible.second);
  return table.offset + size_t{impossible.first_level} * table.columns + impossible.second_level;
}

std::vector<size_t> CellsOf(const TableSet& set, const ImpossibleCell& impossible) {
  std::vector<size_t> cells = {CellOf(set, impossible)};
  for (const CountTable& table : set.Triples()) {
    const std::vector<uint32_t> attributes = table.Attributes();
    const std::array<size_t, 3> steps = StepsOf(set, table);
    size_t first = table.offset, met = 0, other = 0;
    for (size_t axis = 0; axis < 3; ++axis) {
      const bool is_first = attributes[axis] == impossible.first;
      if (!is_first && attributes[axis] != impossible.second) {
        other = axis;
        continue;
      }
      first += steps[axis] * (is_first ? impossible.first_level : impossible.second_level);
      ++met;
    }
    if (met < 2) continue;
    for (uint32_t level = 0; level < set.attributes[attributes[other]].levels; ++level)
      cells.push_back(first + steps[other] * level);
  }
  return cells;
}

void CheckImpossible(const TableSet& set, std::span<const ImpossibleCell> impossible) {
  if (impossible.size() > kMostImpossible) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} pairs of levels are declared impossible, more than {}",
                            impossible.size(), kMostImpossible),
                "Declare those that matter most.");
  }
  std::set<size_t> cells;
  for (const ImpossibleCell& cell : impossible) {
    const size_t d = set.attributes.size();
    if (cell.first >= cell.second || cell.second >= d ||
        cell.first_level >= set.attributes[cell.first].levels ||
        cell.second_level >= set.attributes[cell.second].levels) {
      throw Error(ErrorCode::kBadInput, "An impossible pair of levels is none of the tables",
                  "Name a level of each of two columns.");
    }
    if (!cells.insert(CellOf(set, cell)).second) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("A pair of levels of '{}' and '{}' is declared impossible twice",
                              set.attributes[cell.first].name, set.attributes[cell.second].name),
                  "Name it once.");
    }
  }
  // By level of one attribute and another attribute, how many levels of the latter are left.
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> sides;
  for (const ImpossibleCell& cell : impossible) {
    sides.insert({cell.first, cell.first_level, cell.second});
    sides.insert({cell.second, cell.second_level, cell.first});
  }
  for (const auto& side : sides) {
    const uint32_t attribute = std::get<0>(side), level = std::get<1>(side),
                   other = std::get<2>(side);
    const auto gone = std::ranges::count_if(impossible, [&](const ImpossibleCell& cell) {
      return (cell.first == attribute && cell.first_level == level && cell.second == other) ||
             (cell.second == attribute && cell.second_level == level && cell.first == other);
    });
    if (static_cast<size_t>(gone) < set.attributes[other].levels) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("A level of '{}' has no possible level of '{}'",
                            set.attributes[attribute].name, set.attributes[other].name),
                "Leave out the level, or some of the impossible pairs.");
  }
  if (!PossibleRow(set, impossible, std::vector<uint32_t>(set.attributes.size()))) {
    throw Error(ErrorCode::kBadInput,
                "No row was found that has none of the impossible pairs: together they contradict "
                "each other",
                "Leave out some of the impossible pairs.");
  }
}

void MendImpossible(const TableSet& set, std::span<const ImpossibleCell> impossible, Codes& codes,
                    crypto::RandomSource& source) {
  if (impossible.empty() || codes.empty()) return;
  const Rules rules(impossible);
  blr::Variates variates(source);
  std::vector<size_t> left;
  for (size_t row = 0; row < codes[0].size(); ++row) {
    if (!Exchange(rules, codes, row, variates)) left.push_back(row);
  }
  if (left.empty()) return;
  std::vector<size_t> possible;
  for (size_t row = 0; row < codes[0].size(); ++row) {
    if (rules.Broken(codes, row) == nullptr) possible.push_back(row);
  }
  for (const size_t row : left) {
    if (rules.Broken(codes, row) == nullptr) continue;
    if (possible.empty()) {
      ReplaceRow(set, impossible, codes, row);
      continue;
    }
    const size_t from = possible[variates.Below(possible.size())];
    for (std::vector<uint16_t>& column : codes) column[row] = column[from];
  }
}

}  // namespace partita::stats::marginals
