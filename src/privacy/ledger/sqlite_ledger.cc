#include "privacy/ledger/sqlite_ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "crypto/signature.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/sqlite.h"

namespace partita::privacy::ledger {
namespace {

// "Part" in ASCII, and the version of the tables below.
constexpr char kApplicationId[] = "1348563572";
constexpr char kSchemaVersion[] = "1";

// In the order of their names, as sqlite_schema keeps them.
constexpr const char* kTables[] = {
    "CREATE TABLE accounts(id INTEGER PRIMARY KEY, name TEXT NOT NULL, pseudonym BLOB NOT NULL) "
    "STRICT",
    "CREATE TABLE entries(account INTEGER NOT NULL REFERENCES accounts(id), sequence INTEGER NOT "
    "NULL, body BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY(account, sequence)) STRICT, WITHOUT "
    "ROWID",
    "CREATE TABLE heads(account INTEGER PRIMARY KEY REFERENCES accounts(id), sequence INTEGER NOT "
    "NULL, hash BLOB NOT NULL) STRICT",
    "CREATE TABLE receipts(pseudonym BLOB NOT NULL, sequence INTEGER NOT NULL, run BLOB NOT NULL, "
    "study BLOB NOT NULL, hash BLOB NOT NULL, owner TEXT NOT NULL, made_by TEXT NOT NULL, made_at "
    "INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY(pseudonym, sequence, run)) STRICT, "
    "WITHOUT "
    "ROWID"};

[[noreturn]] void ThrowDamaged(const std::string& file, const std::string& what) {
  throw Error(ErrorCode::kRefused, fmt::format("the privacy ledger {} is damaged: {}", file, what),
              "let nobody use it, keep the file, and find the newest intact copy");
}

void RequireSetting(Database& database, const char* pragma, const char* expected) {
  const std::string found = database.Pragma(pragma);
  if (found == expected) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("the privacy ledger {}: {} is '{}' instead of '{}'", database.file(),
                          pragma, found, expected),
              "use a file of this version of Partita, on a local disk");
}

// R35: what makes commits durable is set, and read back.
void Configure(Database& database) {
  if (database.Pragma("PRAGMA journal_mode") == "wal") {
    throw Error(ErrorCode::kRefused,
                fmt::format("the privacy ledger {} has a write-ahead log", database.file()),
                "something else changed the file: use a ledger that only Partita writes");
  }
  RequireSetting(database, "PRAGMA journal_mode=DELETE", "delete");
  database.Execute(
      "PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON; PRAGMA mmap_size=0; "
      "PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF;");
  RequireSetting(database, "PRAGMA synchronous", "3");
  RequireSetting(database, "PRAGMA foreign_keys", "1");
}

// The tables are those that Create made, to the letter.
void RequireSchema(Database& database) {
  RequireSetting(database, "PRAGMA application_id", kApplicationId);
  RequireSetting(database, "PRAGMA user_version", kSchemaVersion);
  Statement found = database.Prepare("SELECT sql FROM sqlite_schema ORDER BY name");
  for (const char* table : kTables) {
    if (!found.Step() || found.Text(0) != table)
      ThrowDamaged(database.file(), "its tables are not those of a ledger");
  }
  if (found.Step()) ThrowDamaged(database.file(), "it has tables that a ledger does not have");
}

Digest DigestFrom(ByteView bytes, const std::string& file) {
  Digest digest{};
  if (bytes.size() != digest.size()) ThrowDamaged(file, "a hash has the wrong length");
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

struct StoredReceipt {
  Receipt receipt;
  std::string owner, by;
  int64_t at = 0;
};

Digest DigestOf(const StoredReceipt& stored) {
  return crypto::Sha256()
      .Field("partita ledger witness")
      .Field(EncodeHead(stored.receipt.head))
      .Field(stored.receipt.run_id)
      .Field(stored.receipt.study_file_hash)
      .Field(stored.owner)
      .Field(stored.by)
      .U64(static_cast<uint64_t>(stored.at))
      .Finish();
}

constexpr char kReceiptColumns[] =
    "SELECT pseudonym, sequence, run, study, hash, owner, made_by, made_at, digest FROM receipts";
constexpr char kNewestReceipt[] =
    "SELECT pseudonym, sequence, run, study, hash, owner, made_by, made_at, digest FROM receipts "
    "WHERE pseudonym = ? ORDER BY sequence DESC LIMIT 1";

// From a row of kReceiptColumns.
StoredReceipt ReadReceipt(Statement& row, const std::string& file) {
  StoredReceipt stored;
  stored.receipt.head.pseudonym = DigestFrom(row.Blob(0), file);
  stored.receipt.head.sequence = static_cast<uint64_t>(row.Integer(1));
  stored.receipt.run_id = DigestFrom(row.Blob(2), file);
  stored.receipt.study_file_hash = DigestFrom(row.Blob(3), file);
  stored.receipt.head.hash = DigestFrom(row.Blob(4), file);
  stored.owner = row.Text(5);
  stored.by = row.Text(6);
  stored.at = row.Integer(7);
  if (DigestFrom(row.Blob(8), file) != DigestOf(stored))
    ThrowDamaged(file, "a receipt that was given has changed");
  return stored;
}

// An empty file that only its owner may read, whose name is on the disk.
void MakeFile(const std::filesystem::path& file) {
  const auto fail = [&] {
    throw Error(ErrorCode::kUsage,
                fmt::format("the privacy ledger {} cannot be made: {}", file.string(),
                            std::strerror(errno)),
                "name a new file in a folder that you may write to");
  };
  const int made = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (made < 0) fail();
  ::close(made);
  const std::filesystem::path folder = file.parent_path().empty() ? "." : file.parent_path();
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail();
  const int synced = ::fsync(directory);
  ::close(directory);
  if (synced != 0) fail();
}

void InsertEntry(Database& database, int64_t account, const Entry& entry) {
  const Bytes body = EncodeEntry(entry);
  database.Prepare("INSERT INTO entries VALUES(?, ?, ?, ?)")
      .Bind(1, account)
      .Bind(2, static_cast<int64_t>(entry.sequence))
      .Bind(3, ByteView(body))
      .Bind(4, ByteView(entry.hash))
      .Step();
  database.Prepare("INSERT OR REPLACE INTO heads VALUES(?, ?, ?)")
      .Bind(1, account)
      .Bind(2, static_cast<int64_t>(entry.sequence))
      .Bind(3, ByteView(entry.hash))
      .Step();
}

// A receipt that is given again, for the same run, is stored once.
void InsertReceipt(Database& database, const StoredReceipt& stored) {
  const Digest digest = DigestOf(stored);
  const Receipt& receipt = stored.receipt;
  database.Prepare("INSERT OR IGNORE INTO receipts VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(1, ByteView(receipt.head.pseudonym))
      .Bind(2, static_cast<int64_t>(receipt.head.sequence))
      .Bind(3, ByteView(receipt.run_id))
      .Bind(4, ByteView(receipt.study_file_hash))
      .Bind(5, ByteView(receipt.head.hash))
      .Bind(6, stored.owner)
      .Bind(7, stored.by)
      .Bind(8, stored.at)
      .Bind(9, ByteView(digest))
      .Step();
}

}  // namespace

struct SqliteLedger::Impl {
  struct Account {
    int64_t id = 0;
    AccountState state;
  };

  explicit Impl(const LedgerOptions& options)
      : database(options.file.string(), options.vfs, false, options.patience) {}

  // Work with the file. One that is merely in use is no failure: nothing was read or written.
  template <typename Work>
  std::invoke_result_t<Work> Watch(Work&& work) {
    try {
      return work();
    } catch (const Error& error) {
      broken = broken || error.code() != ErrorCode::kTimeout;
      throw;
    }
  }

  // Runs `call` in a transaction, with everything read that other processes appended. Errors of the
  // file leave nothing known: the object is of no use afterwards.
  template <typename Call>
  auto In(Transaction::Kind kind, Call&& call) {
    if (broken) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("the privacy ledger {} failed before", database.file()),
                  "open it again: what was acknowledged is in it");
    }
    Transaction transaction = Begin(kind);
    Refresh();
    auto result = call();
    Commit(transaction);
    return result;
  }

  Transaction Begin(Transaction::Kind kind) {
    return Watch([&] { return Transaction(database, kind); });
  }

  void Commit(Transaction& transaction) {
    Watch([&] { transaction.Commit(); });
  }

  void Refresh() {
    Watch([&] {
      ReadNewAccounts();
      for (auto& [table, account] : accounts) ReadNewEntries(account);
    });
  }

  void ReadNewAccounts() {
    Statement row =
        database.Prepare("SELECT id, name, pseudonym FROM accounts WHERE id > ? ORDER BY id");
    row.Bind(1, newest_account);
    while (row.Step()) {
      Account account{row.Integer(0), AccountState(DigestFrom(row.Blob(2), database.file()))};
      newest_account = account.id;
      ReadNewEntries(account);
      if (!account.state.opened() || account.state.policy().table != row.Text(1))
        ThrowDamaged(database.file(), "an account has another name than its first entry says");
      if (!accounts.emplace(row.Text(1), std::move(account)).second)
        ThrowDamaged(database.file(), "two accounts have the same name");
    }
  }

  void ReadNewEntries(Account& account) {
    AccountState& state = account.state;
    Statement row = database.Prepare(
        "SELECT sequence, body, hash FROM entries WHERE account = ? AND sequence > ? "
        "ORDER BY sequence");
    row.Bind(1, account.id).Bind(2, static_cast<int64_t>(state.head().sequence));
    while (row.Step()) {
      state.Replay(row.Blob(1), DigestFrom(row.Blob(2), database.file()));
      if (row.Integer(0) != static_cast<int64_t>(state.head().sequence))
        ThrowDamaged(database.file(), "an entry has another number than its place");
    }
    // The number of the last entry is kept a second time: entries missing at the end are noticed.
    Statement head = database.Prepare("SELECT sequence, hash FROM heads WHERE account = ?");
    head.Bind(1, account.id);
    if (!head.Step() || head.Integer(0) != static_cast<int64_t>(state.head().sequence) ||
        DigestFrom(head.Blob(1), database.file()) != state.head().hash) {
      ThrowDamaged(database.file(),
                   fmt::format("the account of table {} does not end where it should",
                               state.policy().table));
    }
  }

  Account& Find(const std::string& table) {
    const auto found = accounts.find(table);
    if (found == accounts.end()) {
      throw Error(ErrorCode::kUsage, fmt::format("table '{}' has no privacy account", table),
                  "let the steward of the table open one with a policy");
    }
    return found->second;
  }

  // In a write transaction. The account's own state learns of the entry at the next call, by
  // reading it like one of another process: so it never holds what is not durable.
  Head Append(const Account& account, const Stamp& stamp, EntryBody body) {
    AccountState next = account.state;
    const Entry entry = next.Append(stamp, std::move(body));
    Watch([&] { InsertEntry(database, account.id, entry); });
    return next.head();
  }

  // A transaction that appends one entry.
  template <typename MakeBody>
  Head Write(const std::string& table, const Stamp& stamp, MakeBody&& make_body) {
    return In(Transaction::Kind::kWrite, [&] {
      const Account& account = Find(table);
      return Append(account, stamp, make_body(account));
    });
  }

  std::vector<Entry> ReadEntries(const Account& account) {
    std::vector<Entry> entries;
    Statement row =
        database.Prepare("SELECT body, hash FROM entries WHERE account = ? ORDER BY sequence");
    row.Bind(1, account.id);
    while (row.Step()) {
      entries.push_back(DecodeEntry(row.Blob(0)));
      entries.back().hash = DigestFrom(row.Blob(1), database.file());
    }
    return entries;
  }

  // The newest that was given for this account of somebody else.
  std::optional<Receipt> LastReceipt(const Pseudonym& pseudonym) {
    return Watch([&]() -> std::optional<Receipt> {
      Statement row = database.Prepare(kNewestReceipt);
      row.Bind(1, ByteView(pseudonym));
      if (!row.Step()) return std::nullopt;
      return ReadReceipt(row, database.file()).receipt;
    });
  }

  Digest HashOfEntry(const Account& account, uint64_t sequence) {
    Statement row = database.Prepare("SELECT hash FROM entries WHERE account = ? AND sequence = ?");
    row.Bind(1, account.id).Bind(2, static_cast<int64_t>(sequence));
    if (!row.Step()) return {};
    return DigestFrom(row.Blob(0), database.file());
  }

  Database database;
  std::map<std::string, Account> accounts;
  int64_t newest_account = 0;
  bool broken = false;
};

void SqliteLedger::Create(const LedgerOptions& options) {
  if (options.vfs.empty()) MakeFile(options.file);
  Database database(options.file.string(), options.vfs, !options.vfs.empty(), options.patience);
  Configure(database);
  Transaction transaction(database, Transaction::Kind::kWrite);
  for (const char* table : kTables) database.Execute(table);
  database.Execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId,
                               kSchemaVersion)
                       .c_str());
  transaction.Commit();
}

SqliteLedger::SqliteLedger(const LedgerOptions& options) : impl_(std::make_unique<Impl>(options)) {
  Configure(impl_->database);
  Transaction transaction(impl_->database, Transaction::Kind::kRead);
  RequireSchema(impl_->database);
  impl_->Refresh();
  transaction.Commit();
}

SqliteLedger::~SqliteLedger() = default;
SqliteLedger::SqliteLedger(SqliteLedger&&) noexcept = default;
SqliteLedger& SqliteLedger::operator=(SqliteLedger&&) noexcept = default;

Head SqliteLedger::OpenAccount(const Policy& policy, crypto::RandomSource& random,
                               const Stamp& stamp) {
  CheckPolicy(policy);
  Opened opened;
  opened.policy = policy;
  opened.outside = DesignFilter(policy.outside);
  if (policy.insider.has_value()) opened.insider = DesignFilter(*policy.insider);
  return impl_->In(Transaction::Kind::kWrite, [&] {
    if (impl_->accounts.contains(policy.table)) {
      throw Error(ErrorCode::kUsage, fmt::format("table {} has an account already", policy.table),
                  "change its policy instead");
    }
    Pseudonym pseudonym{};
    random.Fill(pseudonym);
    const Impl::Account account{impl_->newest_account + 1, AccountState(pseudonym)};
    impl_->Watch([&] {
      impl_->database.Prepare("INSERT INTO accounts VALUES(?, ?, ?)")
          .Bind(1, account.id)
          .Bind(2, policy.table)
          .Bind(3, ByteView(pseudonym))
          .Step();
    });
    return impl_->Append(account, stamp, std::move(opened));
  });
}

Head SqliteLedger::ChangePolicy(const Policy& policy, const std::string& why, const Stamp& stamp) {
  return impl_->Write(policy.table, stamp, [&](const Impl::Account& account) {
    return PlanPolicyChange(policy, impl_->ReadEntries(account), why);
  });
}

Reservation SqliteLedger::Reserve(const ReservationRequest& request, const Stamp& stamp) {
  const Head head = impl_->Write(request.table, stamp, [&](const Impl::Account& account) {
    return account.state.Price(request.run_id, request.study_file_hash, request.study,
                               request.charges, request.exact);
  });
  return {head.sequence, head};
}

Head SqliteLedger::HeadOf(const std::string& table) {
  return impl_->In(Transaction::Kind::kRead, [&] { return impl_->Find(table).state.head(); });
}

Head SqliteLedger::Countersign(const std::string& table, uint64_t reservation,
                               const Countersignature& countersignature, const Stamp& stamp) {
  return impl_->Write(table, stamp, [&](const Impl::Account& account) {
    const Countersignature& shown = countersignature;
    const auto open = account.state.reservations().find(reservation);
    const auto certificate = crypto::DecodeCertificate(shown.certificate);
    const bool good =
        open != account.state.reservations().end() && certificate != nullptr &&
        shown.head.pseudonym == account.state.head().pseudonym &&
        shown.head.hash == impl_->HashOfEntry(account, shown.head.sequence) &&
        VerifyReceipt(*certificate, {shown.head, open->second.run_id, open->second.study_file_hash},
                      shown.signature);
    if (!good) {
      throw Error(
          ErrorCode::kRefused,
          fmt::format("the receipt of {} for reservation {} of table {} is not one for this "
                      "run and this ledger",
                      shown.peer, reservation, table),
          "nothing was opened; let all parties use the same version of Partita");
    }
    return Countersigned{reservation, shown.peer, shown.head.sequence, shown.certificate,
                         shown.signature};
  });
}

Head SqliteLedger::Spend(const std::string& table, uint64_t reservation, const Stamp& stamp) {
  return impl_->Write(table, stamp, [&](const Impl::Account&) { return Spent{reservation}; });
}

Head SqliteLedger::Refund(const std::string& table, uint64_t reservation,
                          const NothingSent& nothing_sent, const Stamp& stamp) {
  return impl_->Write(table, stamp, [&](const Impl::Account&) {
    return Refunded{reservation, nothing_sent.why};
  });
}

bool SqliteLedger::Witness(const Receipt& receipt, const std::string& owner, const Stamp& stamp) {
  return impl_->In(Transaction::Kind::kWrite, [&] {
    const StoredReceipt stored{receipt, owner, stamp.by, stamp.at};
    const std::optional<Receipt> last = impl_->LastReceipt(receipt.head.pseudonym);
    CheckShownHead(last, receipt, owner);
    impl_->Watch([&] { InsertReceipt(impl_->database, stored); });
    return !last.has_value();
  });
}

std::vector<std::string> SqliteLedger::Tables() {
  return impl_->In(Transaction::Kind::kRead, [&] {
    std::vector<std::string> tables;
    for (const auto& [table, account] : impl_->accounts) tables.push_back(table);
    return tables;
  });
}

bool SqliteLedger::HasAccount(const std::string& table) {
  return impl_->In(Transaction::Kind::kRead, [&] { return impl_->accounts.contains(table); });
}

Standing SqliteLedger::StandingOf(const std::string& table) {
  return impl_->In(Transaction::Kind::kRead, [&] {
    const AccountState& state = impl_->Find(table).state;
    return Standing{state.policy(),        state.outside(),        state.insider(),
                    state.spent(),         state.reserved(),       state.head(),
                    state.studies_spent(), state.policy_changes(), state.reservations()};
  });
}

std::vector<Entry> SqliteLedger::Entries(const std::string& table) {
  return impl_->In(Transaction::Kind::kRead,
                   [&] { return impl_->ReadEntries(impl_->Find(table)); });
}

Reserved SqliteLedger::Price(const ReservationRequest& request) {
  return impl_->In(Transaction::Kind::kRead, [&] {
    const AccountState& state = impl_->Find(request.table).state;
    Reserved reserved = state.Price(request.run_id, request.study_file_hash, request.study,
                                    request.charges, request.exact);
    state.Check(reserved);
    return reserved;
  });
}

void SqliteLedger::Verify() {
  impl_->In(Transaction::Kind::kRead, [&] {
    RequireSetting(impl_->database, "PRAGMA integrity_check", "ok");
    if (!impl_->database.Pragma("PRAGMA foreign_key_check").empty())
      ThrowDamaged(impl_->database.file(), "entries belong to no account");
    for (const auto& [table, account] : impl_->accounts)
      VerifyEntries(account.state.head().pseudonym, impl_->ReadEntries(account));
    Statement row = impl_->database.Prepare(kReceiptColumns);
    while (row.Step()) ReadReceipt(row, impl_->database.file());
    return true;
  });
}

}  // namespace partita::privacy::ledger
