#include "cli/sums/regression_row.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::cli {

namespace regression = sums::regression;

void AddTableFormat(CLI::App& command, TableFormat& format) {
  command.add_option("--separator", format.separator, "Between the fields of the table")
      ->check(CLI::IsMember({",", ";", "tab"}))
      ->capture_default_str();
  command.add_option("--decimal", format.decimal, "The decimal mark of the table")
      ->check(CLI::IsMember({".", ","}))
      ->capture_default_str();
}

data::CsvContents ReadTable(const std::string& file, const TableFormat& format,
                            const data::Schema& schema) {
  data::CsvOptions options;
  options.separator = format.separator == "tab" ? '\t' : format.separator[0];
  options.decimal = format.decimal[0];
  return data::ReadCsvFile(file, schema, options);
}

void RequireRegression(const sums::CollectionFile& collection) {
  if (collection.regression) return;
  throw Error(ErrorCode::kBadInput, collection.file_name + " has no [regression]",
              "add [regression] with an outcome and predictors, and [[variable]] for each");
}

sums::CollectionFile LoadRegression(const std::string& path) {
  sums::CollectionFile collection = sums::LoadCollectionFile(path);
  RequireRegression(collection);
  return collection;
}

EncodedRow EncodeRowOfTable(const sums::CollectionFile& collection, const RowOfTable& source) {
  RequireRegression(collection);
  const regression::Spec& spec = *collection.regression;
  const stats::blr::Design design = regression::DesignOf(spec);
  data::CsvContents csv = ReadTable(source.file, source.format, spec.variables);
  const regression::Rows rows =
      regression::TakeRows(spec, design, std::move(csv.table), csv.report);
  if (source.row < 1 || source.row > rows.count) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} has {} rows, and no row {}", source.file, rows.count, source.row),
                "rows count from 1");
  }
  EncodedRow encoded;
  encoded.row = regression::OneRow(rows, source.row - 1, spec, design);
  encoded.vector = regression::EncodeRow(spec, design, encoded.row.values);
  return encoded;
}

}  // namespace partita::cli
