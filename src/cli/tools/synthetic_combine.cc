#include "cli/tools/synthetic_combine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_table.h"
#include "cli/terminal/output.h"
#include "data/csv_reader.h"
#include "data/describe.h"
#include "data/gzip_source.h"
#include "stats/mixture/combine.h"

namespace partita::cli {
namespace {

struct CombineCommand {
  std::string estimates;
  double level = 0.95;
};

// What several tables say of one term.
struct Term {
  std::string name;
  std::vector<double> estimates, variances;
};

std::vector<Term> ReadTerms(const std::string& file) {
  constexpr double kLargest = 1e150;  // its square is a number
  const auto column = [](const char* name, data::ColumnType type, double lower) {
    data::ColumnSchema schema;
    schema.name = name;
    schema.type = type;
    schema.lower = lower;
    schema.upper = kLargest;
    return schema;
  };
  const data::Schema schema = {{column("term", data::ColumnType::kKey, 0),
                                column("estimate", data::ColumnType::kNumeric, -kLargest),
                                column("se", data::ColumnType::kNumeric, 0)}};
  data::CsvOptions options;
  options.separator = data::FindSeparator(file);
  const data::CsvContents contents = data::ReadCsv(data::OpenGzipFile(file), file, schema, options);
  data::RequireClean(contents.report, {.allow_missing = false, .allow_constant = true});
  std::vector<Term> terms;
  for (size_t n = 0; n < contents.table.num_rows; ++n) {
    const std::string& name = contents.table.Get("term").keys[n];
    auto found = std::ranges::find(terms, name, &Term::name);
    if (found == terms.end()) {
      terms.push_back({name, {}, {}});
      found = terms.end() - 1;
    }
    found->estimates.push_back(contents.table.Get("estimate").numbers[n]);
    found->variances.push_back(std::pow(contents.table.Get("se").numbers[n], 2));
  }
  for (const Term& term : terms) {
    if (term.estimates.size() >= 2) continue;
    throw Error(ErrorCode::kBadInput, fmt::format("{} has one estimate of '{}'", file, term.name),
                "write a line for each term and synthetic table, of two tables or more: "
                "term,estimate,se");
  }
  return terms;
}

int RunCombine(const OutputOptions& output, const CombineCommand& command) {
  TextTable table;
  table.header = {"term", "tables", "estimate", "standard error", "lower", "upper"};
  table.right = {1, 2, 3, 4, 5};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  bool adjusted = false;
  for (const Term& term : ReadTerms(command.estimates)) {
    const stats::mixture::CombinedEstimate combined =
        stats::mixture::CombineSynthetic(term.estimates, term.variances, command.level);
    adjusted |= combined.adjusted;
    table.rows.push_back({term.name, fmt::format("{}", term.estimates.size()),
                          fmt::format("{:.6g}", combined.estimate),
                          fmt::format("{:.4g}", std::sqrt(combined.variance)),
                          fmt::format("{:.6g}", combined.lower),
                          fmt::format("{:.6g}", combined.upper)});
    rows.push_back({{"term", term.name},
                    {"tables", term.estimates.size()},
                    {"estimate", combined.estimate},
                    {"se", std::sqrt(combined.variance)},
                    {"lower", combined.lower},
                    {"upper", combined.upper},
                    {"adjusted", combined.adjusted}});
  }
  std::string text =
      RenderTable(table, 0) + "\n" +
      WrapText(fmt::format("Intervals of {:.3g} %, of tables that partita synthetic draw "
                           "--for-intervals wrote; those of other tables are too short.",
                           100 * command.level),
               0);
  if (adjusted) {
    text += WrapText(
        "Where the variance between tables was below that within, the latter stands in its place: "
        "draw more "
        "tables.",
        0);
  }
  PrintResult(output, text,
              nlohmann::ordered_json{{"level", command.level}, {"terms", rows}}.dump());
  return kDone;
}

}  // namespace

void AddCombine(CLI::App& synthetic, Invocation& invocation) {
  auto options = std::make_shared<CombineCommand>();
  CLI::App* combine = synthetic.add_subcommand(
      "combine", "Combine estimates from tables drawn with --for-intervals into intervals");
  AddOutputOptions(*combine, invocation, "synthetic combine");
  combine
      ->add_option("estimates", options->estimates,
                   "CSV with the columns term, estimate and se, a line for each term and table")
      ->required();
  combine->add_option("--level", options->level, "Of the intervals")
      ->check(CLI::Range(0.5, 0.9999))
      ->capture_default_str();
  combine->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunCombine(invocation.output, *options); };
  });
}

}  // namespace partita::cli
