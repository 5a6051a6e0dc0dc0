// Comparisons of groups for people: tests, ratios, and what stands beside the table's lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/describe/comparisons.h"
#include "study/plan/document.h"

namespace partita::methods::describe {

// Of a line of the table: empty where there is nothing to say.
struct LineComparison {
  std::string standardized, p_value;
};
// The line of means (of counts, the first one), and that of quantiles.
LineComparison FirstLine(const Spec& spec, const GroupComparison& comparison);
LineComparison QuantilesLine(const GroupComparison& comparison);

// With a table of tests and one of ratios, where they are asked for.
std::optional<study::DocumentSection> ComparisonSection(
    const Spec& spec, const std::vector<GroupComparison>& comparisons);

// Four significant digits, kNoNumber for none.
inline constexpr char kNoNumber[] = "-";
std::string NumberText(const std::optional<double>& value);
// Three decimals; below 0.001 says so.
std::string PText(const std::optional<double>& p_value);

}  // namespace partita::methods::describe
