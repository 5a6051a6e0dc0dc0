#include "methods/describe/group_bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"

namespace partita::methods::describe {
namespace {

// Beside the grid's bits: what a normal number has more, log2 of sqrt(2 pi e), and one because steps
// are powers of two.
constexpr double kBitsOfNormal = 3;

double Log2Choose(uint64_t n, uint64_t k) {
  const auto log2_factorial = [](uint64_t of) {
    return std::lgamma(static_cast<double>(of) + 1) / std::numbers::ln2;
  };
  return log2_factorial(n) - log2_factorial(k) - log2_factorial(n - k);
}

double OpenedOfGroup(const DescribeStudy& study, const Spec& spec, uint64_t persons) {
  const Layout layout(spec);
  double bits = 0;
  for (const size_t rows : layout.rows_of) bits += Log2Choose(persons + rows - 1, rows - 1);
  for (const size_t v : layout.numbers) {
    const auto cells =
        static_cast<double>(CellsOf(spec.variables[v].schema, spec.most_cells).count);
    bits += (spec.compared.ranks ? 3 : 2) * (study.task.grid_bits + kBitsOfNormal);
    bits += static_cast<double>(spec.quantiles.size()) * std::log2(cells + 1);
  }
  return bits;
}

}  // namespace

std::vector<GroupBits> GroupBitsOf(const DescribeStudy& study) {
  std::vector<GroupBits> all;
  for (const Rows& rows : study.task.holders) {
    for (size_t p = 0; p < rows.parts.size() && rows.selects; ++p) {
      if (p == rows.selecting) continue;
      // Of positions of hidden rows nobody says how many are of the party's persons.
      const uint64_t persons =
          rows.hidden ? std::min(study.file.disclosure.min_rows, rows.max_rows) : rows.max_rows;
      GroupBits bits{rows.parts[p].party, persons};
      bits.least = std::clamp<uint64_t>(study.file.disclosure.min_cell, 1,
                                        std::max<uint64_t>(persons / 2, 1));
      const Spec spec = PartSpec(study.spec, rows.parts[p], false);
      bits.opened = privacy::WholeBitsUp(OpenedOfGroup(study, spec, bits.least));
      bits.group = privacy::WholeBitsDown(Log2Choose(bits.rows, bits.least));
      bits.passes = privacy::Passes(bits.opened, bits.group);
      all.push_back(bits);
    }
  }
  return all;
}

bool GroupsPass(const DescribeStudy& study) {
  return std::ranges::all_of(GroupBitsOf(study), [](const GroupBits& bits) { return bits.passes; });
}

void RequireGroupBits(DescribeStudy& study) {
  if (study.file.release.accept == study::AcceptedRelease::kTableOfCovariates) return;
  const int asked = study.file.release.grid_bits;
  study.task.grid_bits =
      asked > 0 ? std::min(asked, privacy::kCoarsestGridBits) : privacy::kCoarsestGridBits;
  for (const GroupBits& bits : GroupBitsOf(study)) {
    if (bits.passes) continue;
    run::Refuse(
        study, study.Analysis().position,
        fmt::format(
            "of a group of min_cell = {} persons {} bits of the variables of {} would open, "
            "more than half of the {} that say which of its {} persons they are",
            bits.least, bits.opened, study.parties[bits.party].name, bits.group, bits.rows),
        fmt::format("ask for a higher min_cell in [disclosure], leave out quantiles or variables "
                    "of that holder, or write in [release] accept = \"{}\", which every holder "
                    "then approves with the plan",
                    run::kTableOfCovariates));
  }
}

std::vector<std::string> GroupBitsTexts(const DescribeStudy& study) {
  const bool hidden = study.task.hidden();
  std::vector<std::string> texts;
  for (const GroupBits& bits : GroupBitsOf(study)) {
    const std::string& name = study.parties[bits.party].name;
    const std::string text =
        hidden ? fmt::format(
                     "{} knows its own variables of its persons, of whom at least {} match, "
                     "and gets the table if somebody shows it",
                     name, bits.rows)
               : fmt::format("{} knows its own variables of all {} persons", name, bits.rows);
    if (bits.passes) {
      texts.push_back(fmt::format(
          "{}. Of a group of min_cell = {} of them the table tells it at most {} bits by these, at "
          "most half of the {} bits that say who they are: an empirical rule.",
          text, bits.least, bits.opened, bits.group));
    } else {
      texts.push_back(fmt::format(
          "{} and may compute who is in a small group: of one of min_cell = {} of them the table "
          "tells it up to {} bits by these, more than half of the {} bits that say who they are.",
          text, bits.least, bits.opened, bits.group));
    }
  }
  return texts;
}

}  // namespace partita::methods::describe
