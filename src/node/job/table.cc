#include "node/job/table.h"

#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file_in_pieces.h"
#include "crypto/hash.h"
#include "data/source/freeze.h"
#include "data/source/open_table.h"
#include "run/party/pushed_sums.h"
#include "run/party/row_sets.h"
#include "run/party/table_columns.h"

namespace partita::node {
namespace {

void RefuseMatched(const Prepared& prepared) {
  const data::Partition& partition = prepared.study->partition;
  const std::vector<size_t> held = partition.BlocksOf(prepared.party);
  const bool is_matched = std::any_of(
      held.begin(), held.end(), [&](size_t block) { return partition.blocks[block].matched; });
  if (!is_matched) return;
  throw Error(
      ErrorCode::kRefused,
      "the study is of rows that match, and its table here is a database, whose rows have no "
      "order",
      "Freeze the rows ('partita data freeze'), match on that file, and name it in node.toml.");
}

// The folder discards whatever begins so.
std::string FrozenName(const JobTable& table) {
  return std::string(kFrozenRows) + (data::GivesOnlySums(table.data) ? ".sums" : "");
}

// Whatever a name holds, it makes a file's name.
std::filesystem::path RecordByName(const std::filesystem::path& studies, const std::string& name) {
  return studies / ("rows-" + ToHex(crypto::Sha256Of(AsBytes(name))) + ".row-sets");
}

// That beside the file only where there is one or can be one: a table in a folder of others has the one by its name.
std::vector<std::filesystem::path> RecordsOf(const std::string& data,
                                             const std::filesystem::path& by_name) {
  const std::filesystem::path beside = run::RowSetsPath(data);
  const std::filesystem::path folder =
      beside.has_parent_path() ? beside.parent_path() : std::filesystem::path(".");
  const bool is_usable =
      std::filesystem::exists(beside) || ::access(folder.c_str(), W_OK | X_OK) == 0;
  return is_usable ? std::vector{beside, by_name} : std::vector{by_name};
}

// Of a database that no rows leave.
std::string SumsOf(const Prepared& prepared, const JobTable& table) {
  const run::FormedSums formed =
      run::FormSums(*prepared.study, prepared.party, table.data, run::SumSetsPath(table.data));
  return data::SumFileText(formed.query, formed.sums);
}

}  // namespace

StudyTable TableOf(const StudyFolder& folder, const JobTable& table) {
  return {data::IsDatabase(table.data) ? folder.File(FrozenName(table)) : table.data,
          RecordsOf(table.data, RecordByName(folder.path().parent_path(), folder.Table()))};
}

bool WasServedExactly(const std::filesystem::path& studies, const std::string& name,
                      const std::filesystem::path& data) {
  if (std::filesystem::exists(RecordByName(studies, name))) return true;
  try {
    return std::filesystem::exists(run::RowSetsPath(data)) ||
           std::filesystem::exists(run::SumSetsPath(data));
  } catch (const Error&) {
    return false;  // a source file that cannot be read names no file to look beside
  }
}

void FreezeTable(const StudyFolder& folder, const Prepared& prepared, const JobTable& table) {
  if (!data::IsDatabase(table.data)) return;
  RefuseMatched(prepared);
  run::RequireOneRecord(table.data, data::GivesOnlySums(table.data));
  const std::filesystem::path frozen = folder.File(FrozenName(table));
  if (std::filesystem::exists(frozen)) return;
  if (data::GivesOnlySums(table.data)) {
    const std::string sums = SumsOf(prepared, table);
    return WriteInPiecesAtomically(frozen.string(), [&](const PieceWriter& write) { write(sums); });
  }
  const data::OpenedTable rows = data::OpenTable(table.data);
  data::FrozenTable now =
      data::Freeze(rows.bytes, table.data.string(),
                   run::TableColumns(*prepared.study, prepared.party), {}, folder.path());
  WriteInPiecesAtomically(frozen.string(), [&](const PieceWriter& write) { now.Write(write); });
}

}  // namespace partita::node
