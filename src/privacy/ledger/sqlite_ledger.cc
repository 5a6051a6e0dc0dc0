#include "privacy/ledger/sqlite_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "crypto/signature.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/journal.h"
#include "privacy/ledger/ledger_file.h"
#include "privacy/ledger/seen_heads.h"

namespace partita::privacy::ledger {

struct SqliteLedger::Impl {
  struct Account {
    int64_t id = 0;
    AccountState state;
    std::vector<Digest> hashes = {};  // of its entries, by number - 1

    Digest HashAt(uint64_t sequence) const {
      return sequence >= 1 && sequence <= hashes.size() ? hashes[sequence - 1] : Digest{};
    }
  };

  explicit Impl(const LedgerOptions& options)
      : database(options.file.string(), OpenOptions(options, false)),
        keeps_seen(options.vfs.empty()),
        seen(options.file) {}

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
  auto In(sqlite::Transaction::Kind kind, Call&& call) {
    if (broken) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("the privacy ledger {} failed before", database.file()),
                  "open it again: what was acknowledged is in it");
    }
    sqlite::Transaction transaction = Begin(kind);
    Refresh();
    appended.clear();
    auto result = call();
    Commit(transaction);
    if (keeps_seen && !appended.empty()) seen.Append(appended);
    return result;
  }

  sqlite::Transaction Begin(sqlite::Transaction::Kind kind) {
    return Watch([&] { return sqlite::Transaction(database, kind); });
  }

  void Commit(sqlite::Transaction& transaction) {
    Watch([&] { transaction.Commit(); });
  }

  void Refresh() {
    Watch([&] {
      ReadNewRows(journal);
      ReadNewAccounts();
      for (auto& [table, account] : accounts) ReadNewEntries(account);
      if (accounts.size() != journal.accounts().size())
        ThrowDamaged(database.file(), "an account is missing that its journal names");
    });
  }

  // Into `known`, which holds what was read before.
  void ReadNewRows(Journal& known) {
    sqlite::Statement row =
        database.Prepare("SELECT number, body, hash FROM journal WHERE number > ? ORDER BY number");
    row.Bind(1, static_cast<int64_t>(known.head().sequence));
    while (row.Step()) {
      known.Replay(row.Blob(1), DigestFrom(row.Blob(2), database.file()));
      if (row.Integer(0) != static_cast<int64_t>(known.head().sequence))
        ThrowDamaged(database.file(), "a row of its journal has another number than its place");
    }
    // The last number is kept a second time, as that of every account is.
    sqlite::Statement head = database.Prepare("SELECT id, number, hash FROM journal_head");
    if (!head.Step() || head.Integer(0) != 1 ||
        head.Integer(1) != static_cast<int64_t>(known.head().sequence) ||
        DigestFrom(head.Blob(2), database.file()) != known.head().hash || head.Step())
      ThrowDamaged(database.file(), "its journal does not end where it should");
  }

  void ReadNewAccounts() {
    sqlite::Statement row =
        database.Prepare("SELECT id, name, pseudonym FROM accounts WHERE id > ? ORDER BY id");
    row.Bind(1, newest_account);
    while (row.Step()) {
      Account account{row.Integer(0), AccountState(DigestFrom(row.Blob(2), database.file()))};
      newest_account = account.id;
      ReadNewEntries(account);
      if (!account.state.opened() || account.state.policy().table != row.Text(1))
        ThrowDamaged(database.file(), "an account has another name than its first entry says");
      const auto named = journal.accounts().find(row.Text(1));
      if (named == journal.accounts().end() || named->second != account.state.head().pseudonym)
        ThrowDamaged(database.file(), "an account is not the one that its journal names");
      if (!accounts.emplace(row.Text(1), std::move(account)).second)
        ThrowDamaged(database.file(), "two accounts have the same name");
    }
  }

  void ReadNewEntries(Account& account) {
    AccountState& state = account.state;
    sqlite::Statement row = database.Prepare(
        "SELECT sequence, body, hash FROM entries WHERE account = ? AND sequence > ? "
        "ORDER BY sequence");
    row.Bind(1, account.id).Bind(2, static_cast<int64_t>(state.head().sequence));
    while (row.Step()) {
      state.Replay(row.Blob(1), DigestFrom(row.Blob(2), database.file()));
      account.hashes.push_back(state.head().hash);
      if (row.Integer(0) != static_cast<int64_t>(state.head().sequence))
        ThrowDamaged(database.file(), "an entry has another number than its place");
      if (state.mark() && !journal.Holds(*state.mark()))
        ThrowDamaged(database.file(), "rows of its journal are missing that an entry names");
    }
    // The number of the last entry is kept a second time: entries missing at the end are noticed.
    sqlite::Statement head = database.Prepare("SELECT sequence, hash FROM heads WHERE account = ?");
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
  Head Append(const Account& account, const Stamp& stamp, EntryBody body, const JournalMark& mark) {
    AccountState next = account.state;
    const Entry entry = next.Append(stamp, std::move(body), mark);
    Watch([&] { InsertEntry(database, account.id, entry); });
    appended.push_back(next.head());
    return next.head();
  }

  // In a write transaction, at most once. Returns the place of the new row.
  JournalMark AppendRow(const Stamp& stamp, JournalBody body) {
    const JournalRow row = journal.Next(stamp, std::move(body));
    Watch([&] { InsertJournalRow(database, row); });
    appended.push_back({journal.head().pseudonym, row.number, row.hash});
    return {row.number, row.hash};
  }

  // A transaction that appends one entry.
  template <typename MakeBody>
  Head Write(const std::string& table, const Stamp& stamp, MakeBody&& make_body) {
    return In(sqlite::Transaction::Kind::kWrite, [&] {
      const Account& account = Find(table);
      return Append(account, stamp, make_body(account), journal.mark());
    });
  }

  std::vector<Entry> ReadEntries(const Account& account) {
    std::vector<Entry> entries;
    sqlite::Statement row =
        database.Prepare("SELECT body, hash FROM entries WHERE account = ? ORDER BY sequence");
    row.Bind(1, account.id);
    while (row.Step()) {
      entries.push_back(DecodeEntry(row.Blob(0)));
      entries.back().hash = DigestFrom(row.Blob(1), database.file());
    }
    return entries;
  }

  // In a read transaction, from the disk alone.
  void Verify() {
    RequireSetting(database, "PRAGMA integrity_check", "ok");
    if (!database.Pragma("PRAGMA foreign_key_check").empty())
      ThrowDamaged(database.file(), "entries belong to no account");
    Journal whole;
    ReadNewRows(whole);
    for (const auto& [table, account] : accounts) {
      const std::vector<Entry> entries = ReadEntries(account);
      VerifyEntries(account.state.head().pseudonym, entries);
      if (entries.empty() || entries.back().hash != account.state.head().hash)
        ThrowDamaged(database.file(), "an account does not end where it should");
      for (const Entry& entry : entries) {
        if (entry.mark && !whole.Holds(*entry.mark))
          ThrowDamaged(database.file(), "rows of its journal are missing that an entry names");
      }
    }
  }

  bool Holds(const Head& head) const {
    if (head.pseudonym == journal.head().pseudonym)
      return journal.Holds({head.sequence, head.hash});
    for (const auto& [table, account] : accounts) {
      if (account.state.head().pseudonym == head.pseudonym)
        return account.HashAt(head.sequence) == head.hash;
    }
    return false;
  }

  // heads: as this host saw them before the ledger was read.
  void RequireSeen(const std::vector<Head>& heads) const {
    for (const Head& head : heads) {
      if (Holds(head)) continue;
      throw Error(
          ErrorCode::kRefused,
          fmt::format("the privacy ledger {} lacks entries that it had on this host: it was "
                      "put back from an old copy",
                      database.file()),
          fmt::format("find the newest copy; if it is lost, count what was spent since, "
                      "start a new account, and remove {}",
                      seen.file().string()));
    }
  }

  std::vector<Head> AllHeads() const {
    std::vector<Head> heads = {journal.head()};
    for (const auto& [table, account] : accounts) heads.push_back(account.state.head());
    return heads;
  }

  // Whether this host has seen all that is there. A ledger that has only begun has nothing to miss.
  bool IsSeen() const {
    const std::vector<Head> lines = seen.Read();
    const std::vector<Head> heads = AllHeads();
    return std::all_of(heads.begin(), heads.end(), [&](const Head& head) {
      const bool begun = head.pseudonym == journal.head().pseudonym && head.sequence == 1;
      return begun || std::find(lines.begin(), lines.end(), head) != lines.end();
    });
  }

  sqlite::Database database;
  bool keeps_seen;  // not on a file system of a test's own
  SeenHeads seen;
  std::vector<Head> appended;  // by the call that is under way
  Journal journal;
  std::map<std::string, Account> accounts;
  int64_t newest_account = 0;
  bool broken = false;
};

bool SqliteLedger::CreateUnlessThere(const LedgerOptions& options) {
  return MakeLedgerFile(options);
}

void SqliteLedger::Create(const LedgerOptions& options) {
  if (CreateUnlessThere(options)) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("the privacy ledger {} cannot be made: it exists", options.file.string()),
              "name a new file");
}

void SqliteLedger::Upgrade(const LedgerOptions& options, const Stamp& stamp) {
  Impl impl(options);
  Configure(impl.database);
  sqlite::Transaction transaction(impl.database, sqlite::Transaction::Kind::kWrite);
  TakeOver(impl.database, stamp);
  impl.Refresh();
  impl.Verify();
  transaction.Commit();
  impl.seen.Append(impl.AllHeads());
}

SqliteLedger::SqliteLedger(const LedgerOptions& options) : impl_(std::make_unique<Impl>(options)) {
  const std::vector<Head> seen = impl_->keeps_seen ? impl_->seen.Read() : std::vector<Head>();
  Configure(impl_->database);
  sqlite::Transaction transaction(impl_->database, sqlite::Transaction::Kind::kRead);
  RequireSchema(impl_->database);
  impl_->Refresh();
  transaction.Commit();
  impl_->RequireSeen(seen);
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
  return impl_->In(sqlite::Transaction::Kind::kWrite, [&] {
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
    const JournalMark mark = impl_->AppendRow(stamp, AccountMade{policy.table, pseudonym});
    return impl_->Append(account, stamp, std::move(opened), mark);
  });
}

Head SqliteLedger::ChangePolicy(const Policy& policy, const std::string& why, const Stamp& stamp) {
  return impl_->Write(policy.table, stamp, [&](const Impl::Account& account) {
    return PlanPolicyChange(policy, impl_->ReadEntries(account), why);
  });
}

Reservation SqliteLedger::Reserve(const ReservationRequest& request, const Stamp& stamp) {
  const Head head = impl_->Write(request.table, stamp, [&](const Impl::Account& account) {
    return account.state.Price(request.run_id, request.agreement_hash, request.study,
                               request.charges, request.exact);
  });
  return {head.sequence, head};
}

Head SqliteLedger::HeadOf(const std::string& table) {
  return impl_->In(sqlite::Transaction::Kind::kRead,
                   [&] { return impl_->Find(table).state.head(); });
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
        shown.head.hash == account.HashAt(shown.head.sequence) &&
        VerifyReceipt(*certificate, {shown.head, open->second.run_id, open->second.agreement_hash},
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

Head SqliteLedger::Spend(const std::string& table, uint64_t reservation, const Stamp& stamp,
                         const std::optional<Used>& use) {
  return impl_->In(sqlite::Transaction::Kind::kWrite, [&] {
    const Impl::Account& account = impl_->Find(table);
    const JournalMark mark = use ? impl_->AppendRow(stamp, *use) : impl_->journal.mark();
    return impl_->Append(account, stamp, Spent{reservation}, mark);
  });
}

Head SqliteLedger::Refund(const std::string& table, uint64_t reservation,
                          const NothingSent& nothing_sent, const Stamp& stamp) {
  return impl_->Write(table, stamp, [&](const Impl::Account&) {
    return Refunded{reservation, nothing_sent.why};
  });
}

bool SqliteLedger::Witness(const Receipt& receipt, const std::string& owner, const Stamp& stamp) {
  return impl_->In(sqlite::Transaction::Kind::kWrite, [&] {
    const std::optional<Receipt> last = impl_->journal.LastReceipt(receipt.head.pseudonym);
    // One that is given again, for the same run and by the same party, is stored once.
    if (last != receipt || !impl_->journal.IsNewestShownBy(owner, receipt.head))
      impl_->AppendRow(stamp, Witnessed{receipt, owner});
    return !last.has_value();
  });
}

void SqliteLedger::Use(const Used& use, const Stamp& stamp) {
  impl_->In(sqlite::Transaction::Kind::kWrite, [&] { return impl_->AppendRow(stamp, use); });
}

Head SqliteLedger::JournalHead() {
  return impl_->In(sqlite::Transaction::Kind::kRead, [&] { return impl_->journal.head(); });
}

std::optional<Receipt> SqliteLedger::LastReceipt(const Pseudonym& pseudonym) {
  return impl_->In(sqlite::Transaction::Kind::kRead,
                   [&] { return impl_->journal.LastReceipt(pseudonym); });
}

std::vector<ShownHead> SqliteLedger::NewestShownBy(const std::string& owner) {
  return impl_->In(sqlite::Transaction::Kind::kRead,
                   [&] { return impl_->journal.NewestShownBy(owner); });
}

bool SqliteLedger::JournalHolds(const JournalMark& mark) {
  return impl_->In(sqlite::Transaction::Kind::kRead, [&] { return impl_->journal.Holds(mark); });
}

std::vector<Digest> SqliteLedger::RunsOf(const Digest& approval) {
  return impl_->In(sqlite::Transaction::Kind::kRead,
                   [&] { return impl_->journal.RunsOf(approval); });
}

JournalSummary SqliteLedger::Summary() {
  return impl_->In(sqlite::Transaction::Kind::kRead, [&] {
    const Journal& journal = impl_->journal;
    return JournalSummary{journal.head().sequence, journal.receipts(), journal.taken_over(),
                          journal.since(), impl_->IsSeen()};
  });
}

std::vector<std::string> SqliteLedger::Tables() {
  return impl_->In(sqlite::Transaction::Kind::kRead, [&] {
    std::vector<std::string> tables;
    for (const auto& [table, account] : impl_->accounts) tables.push_back(table);
    return tables;
  });
}

bool SqliteLedger::HasAccount(const std::string& table) {
  return impl_->In(sqlite::Transaction::Kind::kRead,
                   [&] { return impl_->accounts.contains(table); });
}

Standing SqliteLedger::StandingOf(const std::string& table) {
  return impl_->In(sqlite::Transaction::Kind::kRead, [&] {
    const AccountState& state = impl_->Find(table).state;
    return Standing{state.policy(),        state.outside(),        state.insider(),
                    state.spent(),         state.reserved(),       state.head(),
                    state.studies_spent(), state.policy_changes(), state.reservations()};
  });
}

std::vector<Entry> SqliteLedger::Entries(const std::string& table) {
  return impl_->In(sqlite::Transaction::Kind::kRead,
                   [&] { return impl_->ReadEntries(impl_->Find(table)); });
}

Reserved SqliteLedger::Price(const ReservationRequest& request) {
  return impl_->In(sqlite::Transaction::Kind::kRead, [&] {
    const AccountState& state = impl_->Find(request.table).state;
    Reserved reserved = state.Price(request.run_id, request.agreement_hash, request.study,
                                    request.charges, request.exact);
    state.Check(reserved);
    return reserved;
  });
}

void SqliteLedger::Verify() {
  impl_->In(sqlite::Transaction::Kind::kRead, [&] {
    impl_->Verify();
    return true;
  });
}

}  // namespace partita::privacy::ledger
