// Sums by any engine behind unixODBC that passes the self-test (sum_self_test.h), in a transaction that sees one moment
// and is never committed. Whether the role may write ODBC does not tell, nor how the connection is protected.
#pragma once

#include <memory>

#include "data/source/source_file.h"
#include "data/source/sum_source.h"

namespace partita::data {

// Throws as OpenSums; kRefused for an engine or driver whose transactions do not see one moment.
std::unique_ptr<SumSource> OpenOdbcSums(const SourceFile& source);
// The same by a dialect of choice, whose values are bound in the order of the text.
std::unique_ptr<SumSource> OpenOdbcSums(const SourceFile& source, const SqlDialect& dialect);

}  // namespace partita::data
