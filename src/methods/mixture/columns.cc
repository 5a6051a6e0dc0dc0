#include "methods/mixture/columns.h"

#include "base/error.h"

namespace partita::methods::mixture {
namespace {

using data::EncodingKind;
using stats::mixture::Family;
using stats::mixture::Feature;

Feature FeatureOf(const ModelColumn& column) {
  data::CheckEncoding(column.encoding);
  const data::ColumnSchema& schema = column.encoding.column;
  switch (column.encoding.kind) {
    case EncodingKind::kLevels:
    case EncodingKind::kWhole:
    case EncodingKind::kBins:
      return {schema.name, Family::kCategorical, data::NumLevels(column.encoding), 1, column.party};
    case EncodingKind::kIndicator:
      return {schema.name, Family::kBernoulli, 0, 1, column.party};
    case EncodingKind::kUnit:
      return {schema.name, Family::kBeta, 0, 1, column.party};
    case EncodingKind::kStandard:
      return {schema.name, Family::kGaussian, 0, 1, column.party};
    case EncodingKind::kCount:
      return {schema.name, Family::kPoisson, 0, (schema.upper - schema.lower) / 10, column.party};
  }
  throw Error(ErrorCode::kInternal, "unknown encoding");
}

}  // namespace

stats::mixture::Layout ModelLayout(const std::vector<ModelColumn>& columns) {
  std::vector<Feature> features;
  for (const ModelColumn& column : columns) features.push_back(FeatureOf(column));
  return stats::mixture::MakeLayout(std::move(features));
}

std::vector<std::vector<double>> EncodeValues(const std::vector<ModelColumn>& columns,
                                              const data::Table& table) {
  std::vector<std::vector<double>> values;
  for (const ModelColumn& column : columns) values.push_back(data::Encode(column.encoding, table));
  return values;
}

stats::mixture::Rows EncodeRows(const std::vector<ModelColumn>& columns,
                                const stats::mixture::Layout& layout, const data::Table& table) {
  return stats::mixture::MakeRows(layout, EncodeValues(columns, table));
}

data::Table DecodeTable(const std::vector<ModelColumn>& columns,
                        const std::vector<std::vector<double>>& values,
                        crypto::RandomSource& source) {
  data::Table table;
  table.num_rows = values.empty() ? 0 : values.front().size();
  for (size_t f = 0; f < columns.size(); ++f)
    table.columns.push_back(data::Decode(columns[f].encoding, values[f], source));
  return table;
}

}  // namespace partita::methods::mixture
