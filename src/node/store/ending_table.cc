#include "node/store/ending_table.h"

#include "base/error.h"
#include "node/store/fields.h"

namespace partita::node {
namespace {

// Columns: study, ended, kept.
OverStudy EndedIn(SqlRows& row) {
  const int64_t kept = row.Integer(2);
  if (kept < 0 || kept > static_cast<int64_t>(Kept::kNumber))
    throw Error(ErrorCode::kBadInput,
                "the state of the node says what is kept of a study in no word",
                "Restore the node from its backup.");
  return {FixedIn<32>(row, 0), row.Integer(1), static_cast<Kept>(kept)};
}

}  // namespace

void PutEnding(Sql& sql, const StudyId& study, int64_t ended) {
  sql.Do("INSERT INTO ending VALUES ($1, $2, 0) ON CONFLICT (study) DO NOTHING",
         {ByteView(study), ended});
}

void KeepLess(Sql& sql, const StudyId& study, Kept kept) {
  const std::optional<OverStudy> before = ReadEnding(sql, study);
  if (!before || kept <= before->kept)
    throw Error(ErrorCode::kInternal, "a study that goes on, or is gone, is to be kept no longer");
  sql.Do("UPDATE ending SET kept = $1 WHERE study = $2",
         {static_cast<int64_t>(kept), ByteView(study)});
  if (kept != Kept::kNumber) return;
  sql.Do("DELETE FROM study WHERE id = $1 AND is_open = 0", {ByteView(study)});
  // The names stay: none of these messages is taken again.
  sql.Do("UPDATE received SET message = $1 WHERE study = $2", {ByteView(), ByteView(study)});
}

std::optional<OverStudy> ReadEnding(Sql& sql, const StudyId& study) {
  const auto find =
      sql.Query("SELECT study, ended, kept FROM ending WHERE study = $1", {ByteView(study)});
  if (!find->Step()) return std::nullopt;
  return EndedIn(*find);
}

std::vector<OverStudy> ReadEndings(Sql& sql) {
  std::vector<OverStudy> ended;
  const auto find = sql.Query("SELECT study, ended, kept FROM ending ORDER BY ended, study");
  while (find->Step()) ended.push_back(EndedIn(*find));
  return ended;
}

}  // namespace partita::node
