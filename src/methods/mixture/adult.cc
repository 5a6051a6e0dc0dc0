#include "methods/mixture/adult.h"

#include <utility>

#include "data/csv_reader.h"
#include "data/gzip_source.h"

namespace partita::methods::mixture {
namespace {

using data::ColumnEncoding;
using data::ColumnSchema;
using data::ColumnType;
using data::EncodingKind;

ModelColumn Number(const char* name, double lower, double upper, EncodingKind kind, uint32_t bins,
                   size_t party) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = ColumnType::kInteger;
  schema.lower = lower;
  schema.upper = upper;
  return {{std::move(schema), kind, bins, {}}, party};
}

ModelColumn Levels(const char* name, std::vector<std::string> levels, size_t party) {
  ColumnSchema schema;
  schema.name = name;
  schema.type = ColumnType::kFactor;
  schema.levels = std::move(levels);
  return {{std::move(schema), EncodingKind::kLevels, 0, {}}, party};
}

}  // namespace

std::vector<ModelColumn> AdultColumns() {
  constexpr size_t kDemographic = kDemographicParty, kFinancial = kFinancialParty;
  return {
      Number("age", 15, 100, EncodingKind::kUnit, 0, kDemographic),
      Levels("workclass",
             {"Federal-gov", "Local-gov", "Private", "Self-emp-inc", "Self-emp-not-inc",
              "State-gov", "Without-pay"},
             kFinancial),
      Number("fnlwgt", 0, 1600000, EncodingKind::kUnit, 0, kDemographic),
      Number("education_num", 1, 16, EncodingKind::kWhole, 0, kDemographic),
      Levels("marital_status",
             {"Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent",
              "Never-married", "Separated", "Widowed"},
             kDemographic),
      Levels("occupation",
             {"Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing",
              "Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv",
              "Prof-specialty", "Protective-serv", "Sales", "Tech-support", "Transport-moving"},
             kFinancial),
      Levels("relationship",
             {"Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"},
             kDemographic),
      Levels("race", {"Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"},
             kDemographic),
      Levels("sex", {"Female", "Male"}, kDemographic),
      Number("capital_gain", 0, 100000, EncodingKind::kBins, 16, kFinancial),
      Number("capital_loss", 0, 5000, EncodingKind::kBins, 16, kFinancial),
      Number("hours_per_week", 0, 100, EncodingKind::kBins, 16, kFinancial),
      Levels("native_country",
             {"Cambodia",
              "Canada",
              "China",
              "Columbia",
              "Cuba",
              "Dominican-Republic",
              "Ecuador",
              "El-Salvador",
              "England",
              "France",
              "Germany",
              "Greece",
              "Guatemala",
              "Haiti",
              "Holand-Netherlands",
              "Honduras",
              "Hong",
              "Hungary",
              "India",
              "Iran",
              "Ireland",
              "Italy",
              "Jamaica",
              "Japan",
              "Laos",
              "Mexico",
              "Nicaragua",
              "Outlying-US(Guam-USVI-etc)",
              "Peru",
              "Philippines",
              "Poland",
              "Portugal",
              "Puerto-Rico",
              "Scotland",
              "South",
              "Taiwan",
              "Thailand",
              "Trinadad&Tobago",
              "United-States",
              "Vietnam",
              "Yugoslavia"},
             kDemographic),
      Levels("income", {"<=50K", ">50K"}, kFinancial),
  };
}

data::Table ReadAdult(const std::filesystem::path& file) {
  data::Schema schema;
  for (const ModelColumn& column : AdultColumns()) schema.columns.push_back(column.encoding.column);
  data::CsvContents contents =
      data::ReadCsv(data::OpenGzipFile(file), file.string(), schema, data::CsvOptions{});
  data::RequireClean(contents.report);
  return std::move(contents.table);
}

}  // namespace partita::methods::mixture
