#include "cli/sums/regression_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/terminal/json.h"
#include "sums/regression/regression_sum.h"

namespace partita::cli {
namespace {

using sums::regression::ReleasedSum;

constexpr size_t kMaxSumBytes = size_t{1} << 26;

[[noreturn]] void RefuseSum(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kBadInput, path + " " + what,
              "give the file that 'partita aggregate' or 'partita regression simulate' wrote for "
              "this collection file");
}

// A decimal integer within 127 bits.
Int128 ParseInteger(const std::string& path, const std::string& text) {
  const bool negative = text.starts_with('-');
  const std::string digits = text.substr(negative ? 1 : 0);
  if (digits.empty() || digits.size() > 38 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    RefuseSum(path, "holds an entry that is no integer");
  }
  // 38 digits are below 2^127.
  Int128 value = 0;
  for (const char digit : digits) value = value * 10 + (digit - '0');
  return negative ? -value : value;
}

}  // namespace

std::string SumJson(const sums::CollectionFile& collection, const ReleasedSum& sum) {
  Json grid = Json::array();
  for (const Int128 entry : sum.entries) grid.push_back(ToString(entry));
  const Json json = {{"collection", collection.name},
                     {"study", ToHex(collection.contract.study)},
                     {"epoch", collection.epoch},
                     {"clients", sum.rows},
                     {"planned", collection.contract.clients},
                     {"grid", grid},
                     {"fraction_bits", collection.contract.clip.fraction_bits},
                     {"noise_stddev", sum.noise_stddev}};
  return json.dump(1) + "\n";
}

ReleasedSum ReadSumFile(const std::string& path, const sums::CollectionFile& collection) {
  Json json =
      Json::parse(ReadFile(path, kMaxSumBytes, "the sum"), nullptr, /*allow_exceptions=*/false);
  // The commands' envelope, if it was written by --format json.
  if (json.is_object() && json.contains("data")) json = Json(json["data"]);
  if (!json.is_object() || !json.contains("grid") || !json["grid"].is_array() ||
      !json.contains("clients") || !json["clients"].is_number_unsigned() ||
      !json.contains("study") || !json["study"].is_string()) {
    RefuseSum(path, "is no private sum");
  }
  const sums::Contract& contract = collection.contract;
  if (json["study"].get<std::string>() != ToHex(contract.study)) {
    RefuseSum(path, "is the sum of another collection, or of another version of its file");
  }
  const auto accepted = json["clients"].get<uint64_t>();
  if (accepted < MinAccepted(contract) || accepted > contract.clients) {
    RefuseSum(path, fmt::format("says that {} clients took part, between {} and {} may", accepted,
                                MinAccepted(contract), contract.clients));
  }
  if (json["grid"].size() != contract.dimension) {
    RefuseSum(path, fmt::format("has {} entries, and this collection adds up {}",
                                json["grid"].size(), contract.dimension));
  }
  std::vector<Int128> grid;
  for (const Json& entry : json["grid"]) {
    if (!entry.is_string()) RefuseSum(path, "holds an entry that is no text");
    grid.push_back(ParseInteger(path, entry.get<std::string>()));
  }
  return sums::regression::ReleasedOf(contract, static_cast<uint32_t>(accepted), std::move(grid));
}

std::string ResultJson(const sums::regression::RegressionResult& result) {
  Json coefficients = Json::array(), columns = Json::array(), statements = Json::array();
  for (const auto& row : result.coefficients) {
    coefficients.push_back({{"name", row.name},
                            {"mean", row.mean},
                            {"stddev", row.stddev},
                            {"lower", row.lower},
                            {"upper", row.upper},
                            {"positive", row.positive},
                            {"noise_factor", row.noise_factor}});
  }
  for (const auto& column : result.columns) {
    columns.push_back({{"name", column.name}, {"lower", column.lower}, {"upper", column.upper}});
  }
  for (const auto& statement : result.statements)
    statements.push_back(Json::parse(privacy::StatementJson(statement)));
  return Json{{"outcome", result.outcome},
              {"estimator", result.noise_aware ? "noise-aware" : "plain"},
              {"level", result.level},
              {"rows", result.rows},
              {"residual_stddev", result.residual_stddev},
              {"noise_stddev", result.noise_stddev},
              {"negative_eigenvalues", result.negative_eigenvalues},
              {"coefficients", coefficients},
              {"columns", columns},
              {"statements", statements},
              {"warnings", result.warnings}}
      .dump();
}

}  // namespace partita::cli
