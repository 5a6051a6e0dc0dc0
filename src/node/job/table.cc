#include "node/job/table.h"

#include <algorithm>

#include "base/error.h"
#include "base/file_in_pieces.h"
#include "data/source/freeze.h"
#include "data/source/open_table.h"
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

}  // namespace

StudyTable TableOf(const StudyFolder& folder, const JobTable& table) {
  return {data::IsDatabase(table.data) ? folder.File(kFrozenRows) : table.data,
          run::RowSetsPath(table.data)};
}

void FreezeTable(const StudyFolder& folder, const Prepared& prepared, const JobTable& table) {
  if (!data::IsDatabase(table.data)) return;
  RefuseMatched(prepared);
  const std::filesystem::path frozen = folder.File(kFrozenRows);
  if (std::filesystem::exists(frozen)) return;
  const data::OpenedTable rows = data::OpenTable(table.data);
  data::FrozenTable now =
      data::Freeze(rows.bytes, table.data.string(),
                   run::TableColumns(*prepared.study, prepared.party), {}, folder.path());
  WriteInPiecesAtomically(frozen.string(), [&](const PieceWriter& write) { now.Write(write); });
}

}  // namespace partita::node
