// The rows of a query in PostgreSQL, as the server writes them in CSV (COPY ... TO STDOUT).
//
// One transaction, read only, at isolation level REPEATABLE READ; the search path is pg_catalog, so
// queries name schemas; floating point numbers come in the fewest digits that give them back, dates
// in ISO 8601. Columns are whole and decimal numbers, double precision, dates, texts, booleans ("t"
// and "f") and enumerations; others are refused with their type, real among them: 1.1 is
// 1.10000002384185791015625 there, and a query says which of the two it means.
#pragma once

#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/source/source_file.h"

namespace partita::data {

// Throws kUnreachable if the server does not answer or ends the query, kBadInput for what it does not
// understand, kRefused if the role may write to any table: SELECT is all that it takes. Of what the
// server says its main message is told, never the details, which quote rows.
ByteSource OpenPostgres(const SourceFile& source);

// The names of the query's columns, of which no row is asked for. Throws as OpenPostgres does.
std::vector<std::string> PostgresColumns(const SourceFile& source);

}  // namespace partita::data
