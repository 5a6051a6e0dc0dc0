// A database that is asked for sums (sum_query.h) and for no row, or whose rows pass and are added up here
// (passing_sums.h).
//
// All that is asked of one source is of one snapshot, in a transaction that only reads (postgres_session.h,
// sqlite_rows.h). Before anything is asked the engine adds up awkward numbers and is compared with this program
// (sum_self_test.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "data/source/source_file.h"
#include "data/source/sum_statement.h"

namespace partita::data {

// The columns of the one row that a statement gives.
using AskStatement = std::function<std::vector<Int128>(const SqlStatement& statement)>;

using CheckAnswer = std::function<void(const SumAnswer& answer)>;  // throws; may be empty

// A sum as an engine writes it, which may have more than 64 bits. Throws kBadData for anything else.
Int128 WholeSum(const std::string& text, const std::string& source);

SumAnswer AskSums(const SqlDialect& dialect, const SumQuery& query, const SqlRows& rows,
                  const AskStatement& ask);

class SumSource {
 public:
  virtual ~SumSource() = default;
  virtual std::string engine() const = 0;  // with its version: "PostgreSQL 15.8"
  // Throws kBadData for a column that the source's query does not have, or of a type that cannot be what the
  // column is; else as OpenTable.
  virtual SumAnswer Ask(const SumQuery& query) = 0;
  // The answers to all of these, the first of which is looked at first. Rows that pass do so once.
  virtual std::vector<SumAnswer> AskAll(const std::vector<SumQuery>& queries,
                                        const CheckAnswer& check_first);
};

// Throws as OpenTable; kRefused for an engine that adds up otherwise; what `progress`, which outlives what is returned, throws where
// rows pass.
std::unique_ptr<SumSource> OpenSums(const SourceFile& source, Progress* progress = nullptr);

}  // namespace partita::data
