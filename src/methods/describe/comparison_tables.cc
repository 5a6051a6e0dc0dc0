#include "methods/describe/comparison_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace partita::methods::describe {
namespace {

using stats::tables::Ratio;

std::string RatioText(const Ratio& ratio) {
  if (!ratio.estimate) return kNoNumber;
  if (!ratio.lower) return NumberText(ratio.estimate);
  return fmt::format("{} [{}, {}]", NumberText(ratio.estimate), NumberText(ratio.lower),
                     NumberText(ratio.upper));
}

// Of the first of these tests that was asked for and has one.
std::string POf(const GroupComparison& comparison, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const ComparisonTest& test : comparison.tests) {
      if (test.name == name && test.p_value) return PText(test.p_value);
    }
  }
  return "";
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {
    {{"welch-t", "Welch's t"},
     {"welch-anova", "Welch's F"},
     {"anova", "F, one variance"},
     {"wilcoxon", "Wilcoxon, |z|"},
     {"kruskal-wallis", "Kruskal-Wallis"},
     {"chi-square", "chi-square"},
     {"fisher", "Fisher, exact"}}};

std::string NameOf(const ComparisonTest& test) {
  const auto* named = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& entry) { return entry.first == test.name; });
  return std::string(named->second) + (test.small_expected ? " (expected counts below 5)" : "");
}

std::string DfText(const ComparisonTest& test) {
  if (!test.df) return kNoNumber;
  return test.df_within ? fmt::format("{}, {}", NumberText(test.df), NumberText(test.df_within))
                        : NumberText(test.df);
}

}  // namespace

std::string NumberText(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : kNoNumber;
}

std::string PText(const std::optional<double>& p_value) {
  if (!p_value) return kNoNumber;
  return *p_value < 0.001 ? "< 0.001" : fmt::format("{:.3f}", *p_value);
}

LineComparison FirstLine(const Spec& spec, const GroupComparison& comparison) {
  LineComparison line;
  if (comparison.standardized) line.standardized = fmt::format("{:.3f}", *comparison.standardized);
  line.p_value = POf(comparison, {"welch-t", "welch-anova", "anova", "fisher", "chi-square"});
  if (line.p_value.empty() && spec.quantiles.empty())
    line.p_value = QuantilesLine(comparison).p_value;
  return line;
}

LineComparison QuantilesLine(const GroupComparison& comparison) {
  return {"", POf(comparison, {"wilcoxon", "kruskal-wallis"})};
}

std::optional<study::DocumentSection> ComparisonSection(
    const Spec& spec, const std::vector<GroupComparison>& comparisons) {
  study::DocumentTable tests, ratios, strata;
  tests.columns = {"variable", "test", "statistic", "df", "p", "difference of means [95 %]"};
  ratios.columns = {"variable", "odds ratio [95 %]", "risk ratio [95 %]", "risk difference [95 %]"};
  strata.columns = {"variable", "odds ratio within holders [95 %]", "chi-square", "p"};
  for (size_t v = 0; v < comparisons.size(); ++v) {
    const data::ColumnSchema& schema = spec.variables[v].schema;
    for (const ComparisonTest& test : comparisons[v].tests) {
      tests.rows.push_back(
          {schema.name, NameOf(test), NumberText(test.statistic), DfText(test), PText(test.p_value),
           test.difference ? RatioText(*test.difference) : std::string(kNoNumber)});
    }
    if (const auto& within = comparisons[v].within_holders) {
      strata.rows.push_back(
          {schema.name + " = " + CountedValues(schema).back(), RatioText(within->odds_ratio),
           within->test ? NumberText(within->test->statistic) : std::string(kNoNumber),
           within->test ? PText(within->test->p_value) : std::string(kNoNumber)});
    }
    if (!comparisons[v].ratios) continue;
    const stats::tables::Ratios& of = *comparisons[v].ratios;
    ratios.rows.push_back({schema.name + " = " + CountedValues(schema).back(),
                           RatioText(of.odds_ratio), RatioText(of.risk_ratio),
                           RatioText(of.risk_difference)});
  }
  if (tests.rows.empty() && ratios.rows.empty() && strata.rows.empty()) return std::nullopt;
  study::DocumentSection section;
  section.heading = "Comparisons of the groups";
  section.paragraphs.emplace_back(
      "P-values are of each test alone: none is adjusted for the number of tests. A line without "
      "a statistic could not be computed: values of a group do not vary, a group or a value has no "
      "rows, or there are too many tables for Fisher's test.");
  if (!tests.rows.empty()) section.tables.push_back(std::move(tests));
  if (!strata.rows.empty()) {
    section.paragraphs.emplace_back(
        "Odds ratios within holders are Mantel and Haenszel's, with holders as strata: groups of "
        "one holder are compared with each other only. Their test is corrected for continuity. "
        "Logarithms and errors are rounded as means are.");
    section.tables.push_back(std::move(strata));
  }
  if (!ratios.rows.empty()) {
    const std::vector<std::string>& levels = spec.group->schema.levels;
    section.paragraphs.push_back(
        fmt::format("Ratios and risk differences are of {0} = {1} "
                    "against {0} = {2}; with a zero there is no interval.",
                    spec.group->schema.name, levels[1], levels[0]));
    section.tables.push_back(std::move(ratios));
  }
  return section;
}

}  // namespace partita::methods::describe
