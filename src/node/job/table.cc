#include "node/job/table.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file_in_pieces.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/hash.h"
#include "data/source/freeze.h"
#include "data/source/open_table.h"
#include "run/party/pushed_sums.h"
#include "run/party/row_sets.h"
#include "run/party/table_columns.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

const std::string kEditionOfRows = std::string(kFrozenRows) + ".edition";

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
fs::path RecordByName(const fs::path& studies, const std::string& name) {
  return studies / ("rows-" + ToHex(crypto::Sha256Of(AsBytes(name))) + ".row-sets");
}

// That beside the file only where there is one or can be one: a table in a folder of others has the one by its name.
std::vector<fs::path> RecordsOf(const std::string& data, const fs::path& by_name) {
  const fs::path beside = run::RowSetsPath(data);
  const fs::path folder = beside.has_parent_path() ? beside.parent_path() : fs::path(".");
  const bool is_usable = fs::exists(beside) || ::access(folder.c_str(), W_OK | X_OK) == 0;
  return is_usable ? std::vector{beside, by_name} : std::vector{by_name};
}

// Of a database that no rows leave.
std::string SumsOf(const Prepared& prepared, const JobTable& table) {
  const run::FormedSums formed =
      run::FormSums(*prepared.study, prepared.party, table.data, run::SumSetsPath(table.data));
  return data::SumFileText(formed.query, formed.sums);
}

// Under a second name; copied where the disk has no second names. What is written into the folder after it makes it
// durable.
void LinkOrCopy(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::create_hard_link(from, to, failed);
  if (!failed) return;
  const data::ByteSource bytes = data::OpenFile(from);
  std::array<uint8_t, 1 << 16> piece{};
  WriteInPiecesAtomically(to.string(), [&](const PieceWriter& write) {
    while (const size_t size = bytes(piece))
      write({reinterpret_cast<const char*>(piece.data()), size});
  });
}

// The edition's file itself, under a second name: its bytes stay on the disk until no study needs them.
void TakeEdition(const StudyFolder& folder, const Prepared& prepared,
                 const run::EditionTable& editions) {
  crypto::SystemRandom random;
  run::UseEdition(editions, run::UseOf(*prepared.study, prepared.party), NowUtc(), random,
                  [&](const fs::path& extract, const run::Edition& edition) {
                    // First: rows without it would be taken for those of no edition.
                    WriteFileAtomically(folder.File(kEditionOfRows).string(),
                                        run::EditionText(edition));
                    LinkOrCopy(extract, folder.File(kFrozenRows));
                  });
}

}  // namespace

run::EditionTable EditionsOf(const fs::path& studies, const std::string& name,
                             const fs::path& data) {
  return {data, studies / ("edition-" + ToHex(crypto::Sha256Of(AsBytes(name))))};
}

std::string FrozenEdition(const StudyFolder& folder) {
  const fs::path file = folder.File(kEditionOfRows);
  return fs::exists(file) ? ReadFile(file, 4096, "the edition of frozen rows") : "";
}

StudyTable TableOf(const StudyFolder& folder, const JobTable& table) {
  return {data::MayChange(table.data) ? folder.File(FrozenName(table)) : table.data,
          RecordsOf(table.data, RecordByName(folder.path().parent_path(), folder.Table()))};
}

bool WasServedExactly(const fs::path& studies, const std::string& name, const fs::path& data) {
  if (fs::exists(RecordByName(studies, name))) return true;
  try {
    return fs::exists(run::RowSetsPath(data)) || fs::exists(run::SumSetsPath(data));
  } catch (const Error&) {
    return false;  // a source file that cannot be read names no file to look beside
  }
}

void FreezeTable(const StudyFolder& folder, const Prepared& prepared, const JobTable& table) {
  if (!data::MayChange(table.data)) return;
  RefuseMatched(prepared);
  const run::EditionTable editions =
      EditionsOf(folder.path().parent_path(), folder.Table(), table.data);
  run::RequireOneRecord(table.data, data::GivesOnlySums(table.data), editions.record);
  const fs::path frozen = folder.File(FrozenName(table));
  if (fs::exists(frozen)) return;
  if (data::GivesOnlySums(table.data)) {
    const std::string sums = SumsOf(prepared, table);
    return WriteInPiecesAtomically(frozen.string(), [&](const PieceWriter& write) { write(sums); });
  }
  if (run::NeedsEdition(*prepared.study, table.data))
    return TakeEdition(folder, prepared, editions);
  const data::OpenedTable rows = data::OpenTable(table.data);
  data::FrozenTable now = data::Freeze(rows.bytes, table.data.string(),
                                       run::TableColumns(*prepared.study, prepared.party),
                                       data::WithDialect({}, rows.dialect), folder.path(),
                                       data::kFreezeMemory, run::WithdrawnRows(editions));
  WriteInPiecesAtomically(frozen.string(), [&](const PieceWriter& write) { now.Write(write); });
}

ThawedStudies EndFrozenStudies(const JobSettings& settings, const std::string& name) {
  ThawedStudies thawed;
  std::vector<StudyId> studies;
  for (const fs::directory_entry& entry : fs::directory_iterator(settings.studies)) {
    const std::string name_of = entry.path().filename().string();
    StudyId id{};
    if (!entry.is_directory() || name_of.size() != 2 * id.size()) continue;
    const Bytes bytes = FromHex(name_of);
    std::copy(bytes.begin(), bytes.end(), id.begin());
    studies.push_back(id);
  }
  std::sort(studies.begin(), studies.end());
  for (const StudyId& id : studies) {
    StudyFolder folder(settings, id);
    if (folder.Table() != name) continue;
    if (!folder.TryLock()) {
      thawed.running.push_back(ToHex(id));
    } else if (!fs::exists(folder.File(kFrozenRows))) {
      continue;
    } else if (folder.Attempt().opened) {
      thawed.opened.push_back(ToHex(id));
    } else {
      folder.NoteProblem("the steward thawed its table: its rows here are deleted");
      folder.Discard();
      thawed.ended.push_back(ToHex(id));
    }
  }
  return thawed;
}

}  // namespace partita::node
