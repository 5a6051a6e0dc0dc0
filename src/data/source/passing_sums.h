// Sums of rows in PostgreSQL that this program adds up itself (sum_query.h): for tables that are too large to copy, whose
// rows may leave the database and are not to stay anywhere.
//
// Rows      pass once, in binary, however much is asked; of one snapshot (postgres_session.h). Some thousand are in
//           memory at a time, besides the sums.
// The same  numbers as the database's own sums (sum_source.h), but that a date without end counts as out of bounds.
// Speed     What the server takes to send the rows, some 1 us each of 11 doubles; adding up is faster
//           (docs/benchmarks.md, "Sums in databases").
#pragma once

#include <memory>

#include "data/source/sum_source.h"

namespace partita::data {

// Throws as OpenSums does. progress: rows, which are their owner's alone to see, of as many as the server expects; must
// outlive what is returned.
std::unique_ptr<SumSource> OpenPassingSums(const SourceFile& source, Progress& progress);

}  // namespace partita::data
