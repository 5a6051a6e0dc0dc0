#include "node/store/copy_tables.h"

#include <string>
#include <string_view>

namespace partita::node {
namespace {

struct CopiedTable {
  std::string name;
  std::string columns;
  std::string_view kinds;  // of each column: i(nteger), b(lob), t(ext)
  std::string order;
};

// Rows whose order says something get new numbers in it.
const CopiedTable kCopiedTables[] = {
    {"node", "id, incarnation, next_number, stopped, restored", "ibiii", "id"},
    {"study", "id, is_open, state", "bib", "rowid"},
    {"outbox", "number, receiver, study, useful, message", "itbib", "number"},
    {"received", "name, sender, incarnation, number, study, message", "btbbbb", "name"},
    {"taken", "sender, day, bytes", "tii", "sender, day"},
    {"body", "digest, study, bytes", "bbb", "digest, study"},
    {"ending", "study, ended, kept", "bii", "study"},
    {"audit", "number, study, actor, entry", "ibtb", "number"},
    {"audit_head", "id, number, digest", "iib", "id"},
    {"audit_day", "number, day, entry, digest", "iiib", "number"},
    {"peer_log", "party, number, day, digest, incarnation, message_number, departed_day", "tiibbii",
     "party"},
    {"peer_day", "party, number, digest, message", "tibb", "party, number"},
    {"log_fault", "party, departs, had, time, before, message", "tiiibb", "id"},
    {"log_receipt",
     "party, head, number, digest, departs, had, incarnation, message_number, message, time, "
     "fault_day",
     "tbibiibibii", "party"},
};

SqlValue ValueIn(SqlRows& row, int column, char kind) {
  if (kind == 'i') return row.Integer(column);
  if (kind == 't') return row.Text(column);
  return row.Blob(column);
}

}  // namespace

void CopyTables(Sql& from, Sql& to) {
  // What making the tables put there.
  for (const char* of_one_row : {"node", "audit_head"})
    to.Do(std::string("DELETE FROM ") + of_one_row);
  for (const CopiedTable& table : kCopiedTables) {
    std::string put = "INSERT INTO " + table.name + " (" + table.columns + ") VALUES (";
    for (size_t column = 0; column < table.kinds.size(); ++column)
      put += (column == 0 ? "$" : ", $") + std::to_string(column + 1);
    put += ")";
    const auto rows =
        from.Scan("SELECT " + table.columns + " FROM " + table.name + " ORDER BY " + table.order);
    while (rows->Step()) {
      std::vector<SqlValue> values;
      for (size_t column = 0; column < table.kinds.size(); ++column)
        values.push_back(ValueIn(*rows, static_cast<int>(column), table.kinds[column]));
      to.Do(put, values);
    }
  }
}

}  // namespace partita::node
