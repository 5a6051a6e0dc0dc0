#include "sums/spool/sqlite_spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"

namespace partita::sums {
namespace {

// "PDCA", so that no other program's database passes for a spool; and the version of the tables.
constexpr int64_t kApplicationId = 0x50444341;
constexpr int64_t kStoreVersion = 1;

constexpr auto kWrite = sqlite::Transaction::Kind::kWrite;

constexpr char kSchema[] = R"(
CREATE TABLE round (
  id INTEGER PRIMARY KEY, study BLOB NOT NULL, epoch BLOB NOT NULL, frozen INTEGER NOT NULL,
  closing BLOB, publication BLOB, UNIQUE (study, epoch)) STRICT;
CREATE TABLE share (
  round INTEGER NOT NULL, client BLOB NOT NULL, upload BLOB NOT NULL, request BLOB NOT NULL,
  share BLOB NOT NULL, UNIQUE (round, client)) STRICT;
)";

Error SpoolFailure(const std::string& /*file*/, int result_code, const std::string& reason) {
  const std::string message = "the upload store failed: " + reason;
  switch (result_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kUnreachable, message, "Another process uses this store; stop it."};
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return {ErrorCode::kBadInput, message, "Use the file that this compute node made."};
    default:
      return {ErrorCode::kUnreachable, message,
              "Check the disk and start again; what was acknowledged is in the store."};
  }
}

void RequireSetting(const sqlite::Database& database, const char* pragma, const char* expected) {
  if (database.Pragma(pragma) == expected) return;
  throw Error(ErrorCode::kUnreachable,
              fmt::format("the upload store does not take the setting {}", pragma),
              "Check the disk and start again; what was acknowledged is in the store.");
}

void Configure(sqlite::Database& database) {
  RequireSetting(database, "PRAGMA locking_mode = EXCLUSIVE", "exclusive");
  RequireSetting(database, "PRAGMA journal_mode = DELETE", "delete");
  database.Execute("PRAGMA synchronous = EXTRA");
  database.Execute("PRAGMA cell_size_check = ON");
  database.Execute("PRAGMA trusted_schema = OFF");
  RequireSetting(database, "PRAGMA synchronous", "3");
}

void MakeTables(sqlite::Database& database) {
  const std::string application = database.Pragma("PRAGMA application_id");
  const std::string version = database.Pragma("PRAGMA user_version");
  if (application == std::to_string(kApplicationId) && version == std::to_string(kStoreVersion))
    return;
  if (application != "0" || version != "0" ||
      database.Pragma("SELECT count(*) FROM sqlite_schema") != "0") {
    throw Error(ErrorCode::kBadInput, "the file is not an upload store of this version of Partita",
                "Name a new file, or the one that this compute node made.");
  }
  database.Execute(kSchema);
  database.Execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  database.Execute(fmt::format("PRAGMA user_version = {}", kStoreVersion).c_str());
}

// As a blob: 64-bit epochs do not fit SQLite's signed integers.
int64_t OpenRound(sqlite::Database& database, const StudyHash& study, uint64_t epoch) {
  const std::array<uint8_t, 8> epoch_bytes = EpochBytes(epoch);
  sqlite::Statement insert(
      database, "INSERT INTO round (study, epoch, frozen) VALUES (?, ?, 0) ON CONFLICT DO NOTHING");
  insert.Bind(1, study).Bind(2, epoch_bytes).Step();
  sqlite::Statement select(database, "SELECT id FROM round WHERE study = ? AND epoch = ?");
  select.Bind(1, study).Bind(2, epoch_bytes);
  if (!select.Step()) throw Error(ErrorCode::kInternal, "the upload store lost a round");
  return select.Integer(0);
}

template <size_t kSize>
std::array<uint8_t, kSize> FixedBlob(sqlite::Statement& statement, int column) {
  const ByteView blob = statement.Blob(column);
  if (blob.size() != kSize) {
    throw Error(ErrorCode::kBadInput, "the upload store holds a field of a wrong length");
  }
  std::array<uint8_t, kSize> out{};
  std::copy(blob.begin(), blob.end(), out.begin());
  return out;
}

// A new store is its owner's alone; SQLite gives its journals the same rights. What cannot be made
// here, SQLite explains when it opens it. Only where SQLite's files are the system's.
std::string MadePrivate(const std::filesystem::path& file) {
  if (std::string_view(sqlite3_vfs_find(nullptr)->zName) != "unix") return file.string();
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  return file.string();
}

Bytes Copy(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

class SqliteSpool::Statements {
 public:
  explicit Statements(sqlite::Database& database)
      : frozen(database, "SELECT frozen FROM round WHERE id = ?"),
        freeze(database, "UPDATE round SET frozen = 1 WHERE id = ?"),
        find(database, "SELECT request FROM share WHERE round = ? AND client = ?"),
        insert(database,
               "INSERT INTO share (round, client, upload, request, share) VALUES (?, ?, ?, ?, ?)"),
        accepted(database, "SELECT client, upload FROM share WHERE round = ? ORDER BY client"),
        page(database,
             "SELECT client, upload, request, share FROM share WHERE round = ? AND client > ? "
             "ORDER BY client"),
        closing(database, "SELECT closing FROM round WHERE id = ?"),
        set_closing(database, "UPDATE round SET closing = ? WHERE id = ?"),
        publication(database, "SELECT publication FROM round WHERE id = ?"),
        set_publication(database, "UPDATE round SET publication = ? WHERE id = ?") {}

  bool IsFrozen(int64_t round) {
    sqlite::Use use(frozen);
    if (!use->Bind(1, round).Step()) throw Error(ErrorCode::kInternal, "the upload round is gone");
    return use->Integer(0) != 0;
  }

  // A blob of the round, if it is set.
  static std::optional<Bytes> Read(sqlite::Statement& statement, int64_t round) {
    sqlite::Use use(statement);
    if (!use->Bind(1, round).Step() || use->IsNull(0)) return std::nullopt;
    return Copy(use->Blob(0));
  }

  static void Write(sqlite::Statement& statement, int64_t round, ByteView bytes) {
    sqlite::Use use(statement);
    use->Bind(1, bytes).Bind(2, round).Step();
  }

  PutResult PutOne(int64_t round, bool is_frozen, const StoredShare& share) {
    {
      sqlite::Use use(find);
      if (use->Bind(1, round).Bind(2, share.client).Step()) {
        return std::ranges::equal(use->Blob(0), share.request) ? PutResult::kIdentical
                                                               : PutResult::kDifferent;
      }
    }
    if (is_frozen) return PutResult::kFrozen;
    sqlite::Use use(insert);
    use->Bind(1, round).Bind(2, share.client).Bind(3, share.upload).Bind(4, share.request);
    use->Bind(5, share.share).Step();
    return PutResult::kStored;
  }

  sqlite::Statement frozen, freeze, find, insert, accepted, page, closing, set_closing, publication,
      set_publication;
};

SqliteSpool::SqliteSpool(const std::filesystem::path& file, const StudyHash& study, uint64_t epoch)
    : database_(MadePrivate(file), {.fail = SpoolFailure, .create = true}) {
  Configure(database_);
  sqlite::Transaction transaction(database_, kWrite);
  MakeTables(database_);
  round_ = OpenRound(database_, study, epoch);
  transaction.Commit();
  statements_ = std::make_unique<Statements>(database_);
}

SqliteSpool::~SqliteSpool() = default;

std::vector<PutResult> SqliteSpool::Put(std::span<const StoredShare> shares) {
  const std::lock_guard lock(mutex_);
  std::vector<PutResult> results;
  results.reserve(shares.size());
  sqlite::Transaction transaction(database_, kWrite);
  const bool is_frozen = statements_->IsFrozen(round_);
  for (const StoredShare& share : shares) {
    results.push_back(statements_->PutOne(round_, is_frozen, share));
  }
  transaction.Commit();
  return results;
}

void SqliteSpool::Freeze() {
  const std::lock_guard lock(mutex_);
  sqlite::Transaction transaction(database_, kWrite);
  sqlite::Use(statements_->freeze)->Bind(1, round_).Step();
  transaction.Commit();
}

bool SqliteSpool::frozen() {
  const std::lock_guard lock(mutex_);
  return statements_->IsFrozen(round_);
}

AcceptedSet SqliteSpool::Accepted() {
  const std::lock_guard lock(mutex_);
  sqlite::Statement& select = statements_->accepted;
  sqlite::Use use(select);
  AcceptedSet set;
  use->Bind(1, round_);
  while (use->Step()) set.push_back({FixedBlob<16>(select, 0), FixedBlob<32>(select, 1)});
  return set;
}

std::vector<StoredShare> SqliteSpool::Shares(const std::optional<ClientId>& after,
                                             size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  sqlite::Statement& select = statements_->page;
  sqlite::Use use(select);
  use->Bind(1, round_);
  // An empty blob sorts before every client.
  use->Bind(2, after ? ByteView(*after) : ByteView());
  std::vector<StoredShare> shares;
  size_t bytes = 0;
  while ((shares.empty() || bytes < max_bytes) && use->Step()) {
    const ByteView share = use->Blob(3);
    bytes += sizeof(StoredShare) + share.size();
    if (!shares.empty() && bytes > max_bytes) break;
    shares.push_back({FixedBlob<16>(select, 0), FixedBlob<32>(select, 1), FixedBlob<32>(select, 2),
                      Copy(share)});
  }
  return shares;
}

void SqliteSpool::RecordClosing(ByteView closing) {
  const std::lock_guard lock(mutex_);
  sqlite::Transaction transaction(database_, kWrite);
  if (!statements_->IsFrozen(round_)) {
    throw Error(ErrorCode::kRefused, "a round that still takes uploads cannot be closed");
  }
  const std::optional<Bytes> earlier = Statements::Read(statements_->closing, round_);
  if (earlier && !std::ranges::equal(*earlier, closing)) {
    throw Error(ErrorCode::kRefused, "this round was closed with another set of uploads",
                "A round is opened once; start a new epoch.");
  }
  if (earlier) return;
  Statements::Write(statements_->set_closing, round_, closing);
  transaction.Commit();
}

std::optional<Bytes> SqliteSpool::closing() {
  const std::lock_guard lock(mutex_);
  return Statements::Read(statements_->closing, round_);
}

Bytes SqliteSpool::RecordPublication(ByteView publication) {
  const std::lock_guard lock(mutex_);
  sqlite::Transaction transaction(database_, kWrite);
  if (!Statements::Read(statements_->closing, round_)) {
    throw Error(ErrorCode::kRefused, "a round that is not closed cannot be opened");
  }
  if (std::optional<Bytes> earlier = Statements::Read(statements_->publication, round_)) {
    return std::move(*earlier);
  }
  Statements::Write(statements_->set_publication, round_, publication);
  transaction.Commit();
  return Copy(publication);
}

std::optional<Bytes> SqliteSpool::publication() {
  const std::lock_guard lock(mutex_);
  return Statements::Read(statements_->publication, round_);
}

}  // namespace partita::sums
