#include "methods/describe/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "methods/describe/comparison_tables.h"
#include "study/plan/document_csv.h"

namespace partita::methods::describe {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kWithheld[] = "withheld";

std::string CountText(uint64_t count, uint64_t of) {
  if (of == 0) return fmt::format("{}", count);
  return fmt::format("{} ({:.1f} %)", count,
                     100 * static_cast<double>(count) / static_cast<double>(of));
}

bool AreQuartiles(const std::vector<uint32_t>& quantiles) {
  return quantiles == std::vector<uint32_t>{250, 500, 750};
}

std::string QuantilesName(const std::vector<uint32_t>& quantiles) {
  if (AreQuartiles(quantiles)) return "median [quartiles]";
  std::string name;
  for (const uint32_t quantile : quantiles)
    name += fmt::format("{}{:g} %", name.empty() ? "" : ", ", quantile / 10.0);
  return name;
}

// How numbers of one line are printed, the same in all columns: whole ones as they are, others with as
// many decimals as give the largest four digits, as "62.56 (11.80)"; below 0.001 four digits of each.
class LineNumbers {
 public:
  void See(const std::optional<double>& value) {
    if (!value) return;
    largest_ = std::max(largest_, std::abs(*value));
    whole_ = whole_ && *value == std::round(*value);
  }

  std::string Text(const std::optional<double>& value) const {
    constexpr double kSmall = 0.001;
    if (!value || (largest_ < kSmall && !whole_)) return NumberText(value);
    const int decimals =
        whole_ ? 0 : std::max(0, 3 - static_cast<int>(std::floor(std::log10(largest_))));
    const std::string text = fmt::format("{:.{}f}", *value, decimals);
    return text.find_first_of("123456789") == std::string::npos && text.front() == '-'
               ? text.substr(1)
               : text;
  }

 private:
  double largest_ = 0;
  bool whole_ = true;
};

std::string QuantilesText(const Spec& spec, const Summary& summary, const LineNumbers& numbers) {
  const std::vector<std::optional<double>>& values = summary.quantiles;
  if (std::none_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); }))
    return kWithheld;
  const auto text_of = [&](const std::optional<double>& value) {
    return value ? numbers.Text(value) : std::string(kWithheld);
  };
  if (AreQuartiles(spec.quantiles)) {
    return fmt::format("{} [{}, {}]", text_of(values[1]), text_of(values[0]), text_of(values[2]));
  }
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + text_of(value);
  return text;
}

bool HasTests(const Compared& compared) {
  return compared.welch || compared.anova || compared.ranks || compared.chi_square ||
         compared.fisher;
}

// Lines of the table: a name, and a cell for each column.
class Lines {
 public:
  Lines(const Spec& spec, const DescribedTable& described,
        const std::vector<GroupComparison>& comparisons)
      : spec_(spec), described_(described), comparisons_(comparisons) {
    table_.columns = {"variable"};
    if (spec.group) {
      for (const std::string& level : spec.group->schema.levels)
        table_.columns.push_back(spec.group->schema.name + " = " + level);
    }
    table_.columns.emplace_back("all");
    if (spec.compared.differences) table_.columns.emplace_back("SMD");
    if (HasTests(spec.compared)) table_.columns.emplace_back("p");
  }

  study::DocumentTable Make() {
    AddRows();
    for (size_t v = 0; v < spec_.variables.size(); ++v) {
      const data::ColumnSchema& schema = spec_.variables[v].schema;
      const std::vector<std::string> values = CountedValues(schema);
      if (values.empty()) {
        AddNumber(v);
      } else if (schema.levels.empty()) {
        AddCount(v, 1, schema.name + " = 1");
      } else {
        for (size_t k = 0; k < values.size(); ++k) AddCount(v, k, schema.name + " = " + values[k]);
      }
      if (spec_.missing) {
        Add(v, schema.name + ", missing", {}, [](const Summary& summary) {
          return CountText(summary.missing, summary.n + summary.missing);
        });
      }
    }
    return std::move(table_);
  }

 private:
  template <typename Text>
  void Add(size_t v, std::string name, const LineComparison& compared, Text text) {
    std::vector<study::DocumentCell> cells = {std::move(name)};
    for (const Summary& summary : described_.variables[v])
      cells.emplace_back(summary.withheld ? kWithheld : text(summary));
    if (spec_.compared.differences) cells.emplace_back(compared.standardized);
    if (HasTests(spec_.compared)) cells.emplace_back(compared.p_value);
    table_.rows.push_back(std::move(cells));
  }

  // Of the first variable that says it: all have the same rows.
  void AddRows() {
    const auto known =
        std::find_if(described_.variables.begin(), described_.variables.end(),
                     [](const std::vector<Summary>& columns) { return !columns.front().withheld; });
    const auto v = known == described_.variables.end()
                       ? size_t{0}
                       : static_cast<size_t>(known - described_.variables.begin());
    Add(v, "rows", {},
        [](const Summary& summary) { return fmt::format("{}", summary.n + summary.missing); });
  }

  void AddNumber(size_t v) {
    const data::ColumnSchema& schema = spec_.variables[v].schema;
    const std::string name =
        schema.unit.empty() ? schema.name : fmt::format("{} ({})", schema.name, schema.unit);
    LineNumbers moments, quantiles;
    for (const Summary& summary : described_.variables[v]) {
      if (summary.withheld) continue;
      moments.See(summary.mean);
      if (summary.mean) moments.See(summary.sd);
      for (const auto& value : summary.quantiles) quantiles.See(value);
    }
    Add(v, name + ", mean (sd)", FirstLine(spec_, comparisons_[v]), [&](const Summary& summary) {
      if (!summary.mean) return std::string(kNoNumber);
      return fmt::format("{} ({})", moments.Text(summary.mean), moments.Text(summary.sd));
    });
    if (spec_.quantiles.empty()) return;
    Add(v, name + ", " + QuantilesName(spec_.quantiles), QuantilesLine(comparisons_[v]),
        [&](const Summary& summary) { return QuantilesText(spec_, summary, quantiles); });
  }

  void AddCount(size_t v, size_t value, std::string name) {
    const LineComparison compared = value == 0 || spec_.variables[v].schema.levels.empty()
                                        ? FirstLine(spec_, comparisons_[v])
                                        : LineComparison{};
    Add(v, std::move(name), compared,
        [value](const Summary& summary) { return CountText(summary.counts[value], summary.n); });
  }

  const Spec& spec_;
  const DescribedTable& described_;
  const std::vector<GroupComparison>& comparisons_;
  study::DocumentTable table_;
};

Json NumberJson(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json SummaryJson(const Summary& summary, const Json& group, bool counted) {
  Json json = {{"group", group}, {"withheld", summary.withheld}};
  if (summary.withheld) return json;
  json["n"] = summary.n;
  json["missing"] = summary.missing;
  if (counted) {
    json["counts"] = summary.counts;
    return json;
  }
  json["mean"] = NumberJson(summary.mean);
  json["sd"] = NumberJson(summary.sd);
  json["step"] = summary.step;
  json["quantiles"] = Json::array();
  for (const std::optional<double>& value : summary.quantiles)
    json["quantiles"].push_back(NumberJson(value));
  return json;
}

Json RatioJson(const stats::tables::Ratio& ratio) {
  return {{"estimate", NumberJson(ratio.estimate)},
          {"lower", NumberJson(ratio.lower)},
          {"upper", NumberJson(ratio.upper)}};
}

Json ComparisonJson(const Spec& spec, const GroupComparison& comparison) {
  Json json;
  if (spec.compared.differences)
    json["standardized_difference"] = NumberJson(comparison.standardized);
  json["tests"] = Json::array();
  for (const ComparisonTest& test : comparison.tests) {
    Json of_test = {{"test", test.name},
                    {"statistic", NumberJson(test.statistic)},
                    {"df", NumberJson(test.df)},
                    {"df_within", NumberJson(test.df_within)},
                    {"p_value", NumberJson(test.p_value)}};
    if (test.difference) of_test["difference"] = RatioJson(*test.difference);
    if (test.small_expected) of_test["small_expected"] = true;
    json["tests"].push_back(std::move(of_test));
  }
  if (const auto& within = comparison.within_holders) {
    json["mantel_haenszel"] = {
        {"odds_ratio", RatioJson(within->odds_ratio)},
        {"statistic", within->test ? Json(within->test->statistic) : Json(nullptr)},
        {"p_value", within->test ? Json(within->test->p_value) : Json(nullptr)}};
  }
  if (!comparison.ratios) return json;
  json["odds_ratio"] = RatioJson(comparison.ratios->odds_ratio);
  json["risk_ratio"] = RatioJson(comparison.ratios->risk_ratio);
  json["risk_difference"] = RatioJson(comparison.ratios->risk_difference);
  return json;
}

std::string JsonOf(const Spec& spec, const DescribedTable& table,
                   const std::vector<GroupComparison>& comparisons) {
  Json json;
  json["group"] = spec.group ? Json(spec.group->schema.name) : Json(nullptr);
  json["quantiles"] = Json::array();
  for (const uint32_t quantile : spec.quantiles) json["quantiles"].push_back(quantile / 1000.0);
  json["variables"] = Json::array();
  for (size_t v = 0; v < spec.variables.size(); ++v) {
    const std::vector<std::string> values = CountedValues(spec.variables[v].schema);
    Json variable = {{"name", spec.variables[v].schema.name}, {"values", values}};
    variable["columns"] = Json::array();
    const std::vector<Summary>& columns = table.variables[v];
    for (size_t arm = 0; arm < columns.size(); ++arm) {
      const bool all = arm + 1 == columns.size();
      variable["columns"].push_back(
          SummaryJson(columns[arm], all ? Json(nullptr) : Json(spec.group->schema.levels[arm]),
                      !values.empty()));
    }
    if (spec.compared.Any()) variable["comparison"] = ComparisonJson(spec, comparisons[v]);
    json["variables"].push_back(std::move(variable));
  }
  return json.dump();
}

bool AnyWithheld(const study::DocumentTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const study::DocumentCell& cell) {
      return std::get<std::string>(cell) == kWithheld;
    });
  });
}

}  // namespace

study::Document TableDocument(const std::string& title, const Spec& spec,
                              const DescribedTable& described, uint64_t min_cell) {
  study::Document document;
  document.title = title;
  study::DocumentSection section;
  section.heading = "Table 1";
  const std::vector<GroupComparison> comparisons = ComparisonsOf(spec, described);
  section.tables.push_back(Lines(spec, described, comparisons).Make());
  section.paragraphs.emplace_back(
      "Means and standard deviations are rounded to a grid that is finer than their standard "
      "errors; counts are exact.");
  if (!spec.quantiles.empty()) {
    section.paragraphs.push_back(fmt::format(
        "Quantiles are middles of public cells: values of integers, or 1/{} of the bounds.",
        spec.most_cells));
  }
  if (spec.compared.differences) {
    section.paragraphs.emplace_back(
        "SMD: standardized difference of two groups in absolute value, of several groups the "
        "largest.");
  }
  if (AnyWithheld(section.tables.front())) {
    section.paragraphs.push_back(fmt::format(
        "Withheld: some cell of the variable, or the values around the quantile, would be fewer "
        "than {} rows, {}.",
        min_cell,
        spec.most_cells < kMaxCells  // columns are split
            ? "rows left out among them, or would say what all persons have that a holder knows"
            : "of all holders or without one holder's own"));
  }
  document.files.push_back({kTableFile, study::TableCsv(section.tables.front())});
  document.sections.push_back(std::move(section));
  if (auto compared = ComparisonSection(spec, comparisons))
    document.sections.push_back(std::move(*compared));
  document.json = JsonOf(spec, described, comparisons);
  return document;
}

}  // namespace partita::methods::describe
