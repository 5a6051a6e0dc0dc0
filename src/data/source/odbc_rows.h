// The rows of a query in any database that has a driver for unixODBC.
//
// One statement, prepared and asked once, in a transaction that is never committed, on a connection that is
// asked to be for reading only. Which server a name stands for, by which driver and how the connection is
// protected, says odbc.ini of the machine. Whether the role may write is not known here: ODBC does not tell.
#pragma once

#include <memory>

#include "data/source/csv_rows.h"
#include "data/source/source_file.h"

namespace partita::data {

// Columns are whole and decimal numbers, double precision (as the shortest text that gives it back),
// dates, texts and bits ("0" and "1"), which become texts; others are refused by name (kBadData), four-byte
// floats among them, whose decimal digits a query must say; a decimal number with another mark than a
// point, or a text that is not well formed, too. Throws kUnreachable if the database does not answer or the
// query takes longer than it may (drivers that know no limit are looked at between rows), kBadInput for what it
// does not understand, and kUsage where there is no unixODBC.
std::unique_ptr<TextRows> OpenOdbc(const SourceFile& source);

}  // namespace partita::data
