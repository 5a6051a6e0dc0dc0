#include "node/store/ending_table.h"

#include <algorithm>

#include "base/error.h"
#include "node/study/codec.h"
#include "node/study/study.h"

namespace partita::node {
namespace {

using sqlite::Database;
using sqlite::Statement;

constexpr char kEndingTables[] = R"(
CREATE TABLE ending (
  study BLOB PRIMARY KEY, ended INTEGER NOT NULL, kept INTEGER NOT NULL) STRICT;
CREATE INDEX received_study ON received (study);
)";

StudyId StudyIn(Statement& row, int column) {
  const ByteView bytes = row.Blob(column);
  StudyId id{};
  if (bytes.size() != id.size())
    throw Error(ErrorCode::kBadInput, "the state of the node holds a field of a wrong length",
                "Restore the node from its backup.");
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

// Columns: study, ended, kept.
OverStudy EndedIn(Statement& row) {
  const int64_t kept = row.Integer(2);
  if (kept < 0 || kept > static_cast<int64_t>(Kept::kNumber))
    throw Error(ErrorCode::kBadInput,
                "the state of the node says what is kept of a study in no word",
                "Restore the node from its backup.");
  return {StudyIn(row, 0), row.Integer(1), static_cast<Kept>(kept)};
}

}  // namespace

void MakeEndingTable(Database& database) { database.Execute(kEndingTables); }

void FillEndingTable(Database& database) {
  Statement over(database, "SELECT id, state FROM study WHERE is_open = 0");
  while (over.Step()) {
    int64_t expires = 0;
    try {
      expires = DecodeStudy(over.Blob(1)).expires;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      continue;
    }
    PutEnding(database, StudyIn(over, 0), expires + kClosingSeconds);
  }
}

void PutEnding(Database& database, const StudyId& study, int64_t ended) {
  Statement put(database, "INSERT OR IGNORE INTO ending VALUES (?, ?, 0)");
  put.Bind(1, ByteView(study)).Bind(2, ended).Step();
}

void KeepLess(Database& database, const StudyId& study, Kept kept) {
  const std::optional<OverStudy> before = ReadEnding(database, study);
  if (!before || kept <= before->kept)
    throw Error(ErrorCode::kInternal, "a study that goes on, or is gone, is to be kept no longer");
  Statement set(database, "UPDATE ending SET kept = ? WHERE study = ?");
  set.Bind(1, static_cast<int64_t>(kept)).Bind(2, ByteView(study)).Step();
  if (kept != Kept::kNumber) return;
  Statement state(database, "DELETE FROM study WHERE id = ? AND is_open = 0");
  state.Bind(1, ByteView(study)).Step();
  // The names stay: none of these messages is taken again.
  Statement messages(database, "UPDATE received SET message = zeroblob(0) WHERE study = ?");
  messages.Bind(1, ByteView(study)).Step();
}

std::optional<OverStudy> ReadEnding(const Database& database, const StudyId& study) {
  Statement find(database, "SELECT study, ended, kept FROM ending WHERE study = ?");
  if (!find.Bind(1, ByteView(study)).Step()) return std::nullopt;
  return EndedIn(find);
}

std::vector<OverStudy> ReadEndings(const Database& database) {
  std::vector<OverStudy> ended;
  Statement find(database, "SELECT study, ended, kept FROM ending ORDER BY ended, study");
  while (find.Step()) ended.push_back(EndedIn(find));
  return ended;
}

}  // namespace partita::node
