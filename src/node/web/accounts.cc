#include "node/web/accounts.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/hash.h"
#include "crypto/password.h"
#include "node/parties/base32.h"

namespace partita::node::web {
namespace {

// "PWEB"
constexpr int64_t kAccountsApplication = 0x50574542;
constexpr int64_t kAccountsVersion = 1;
constexpr std::chrono::milliseconds kAccountsPatience{5000};
constexpr size_t kSetUpCodeBytes = 10;
constexpr int64_t kMostBrowsers = 16;

using sqlite::Statement;
using sqlite::Transaction;

constexpr char kAccountTables[] = R"(
CREATE TABLE account (
  name TEXT PRIMARY KEY, role INTEGER NOT NULL, password TEXT NOT NULL, created INTEGER NOT NULL,
  last_login INTEGER NOT NULL) STRICT;
CREATE TABLE browser (
  token BLOB PRIMARY KEY, account TEXT NOT NULL REFERENCES account ON DELETE CASCADE,
  until INTEGER NOT NULL) STRICT;
CREATE TABLE set_up (
  id INTEGER PRIMARY KEY CHECK (id = 1), code BLOB NOT NULL, until INTEGER NOT NULL) STRICT;
)";

Error AccountsFailure(const std::string& /*file*/, int result_code, const std::string& reason) {
  const std::string message = "the accounts cannot be read or written: " + reason;
  const int kind = result_code & 0xff;
  if (kind == SQLITE_NOTADB || kind == SQLITE_CORRUPT) {
    return {ErrorCode::kBadInput, message,
            "Move the file of the accounts away, and set up the first one again."};
  }
  return {ErrorCode::kStorage, message, "Check the disk, and who owns the folder."};
}

std::string MadeForOwner(const std::filesystem::path& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  return file.string();
}

void MakeAccountTables(sqlite::Database& database) {
  Transaction transaction(database, Transaction::Kind::kWrite);
  const std::string application = database.Pragma("PRAGMA application_id");
  const std::string version = database.Pragma("PRAGMA user_version");
  if (application == std::to_string(kAccountsApplication) &&
      version == std::to_string(kAccountsVersion))
    return;
  if (application != "0" || version != "0" ||
      database.Pragma("SELECT count(*) FROM sqlite_schema") != "0") {
    throw Error(ErrorCode::kBadInput, "the file does not hold accounts of this version",
                "Name another folder for what the pages keep.");
  }
  database.Execute(kAccountTables);
  database.Execute(("PRAGMA application_id = " + std::to_string(kAccountsApplication)).c_str());
  database.Execute(("PRAGMA user_version = " + std::to_string(kAccountsVersion)).c_str());
  transaction.Commit();
}

// Without what people put in between, in small letters.
std::string PlainCode(const std::string& code) {
  std::string plain;
  for (const char letter : code) {
    if (letter == '-' || letter == ' ') continue;
    plain += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return plain;
}

crypto::Digest CodeDigest(const std::string& code) {
  crypto::Sha256 hash;
  return hash.Field("partita node setup code 1").Field(PlainCode(code)).Finish();
}

crypto::Digest BrowserDigest(const std::string& token) {
  crypto::Sha256 hash;
  return hash.Field("partita node browser 1").Field(token).Finish();
}

void RequireAccountName(const std::string& name) {
  if (IsAccountName(name)) return;
  throw Error(ErrorCode::kUsage, "this is no name of an account",
              "Use 1 to 32 small letters, digits, '.', '-' and '_', a letter first.");
}

void RequirePassword(const std::string& password) {
  if (password.size() >= kMinPassword && password.size() <= kMaxPassword) return;
  throw Error(ErrorCode::kUsage, "a password has 12 to 256 bytes",
              "Take several words that nobody expects together.");
}

Account RowOf(Statement& row) {
  return {row.Text(0), static_cast<Role>(row.Integer(1)), row.Integer(2), row.Integer(3)};
}

bool MakesAccounts(Role role) { return role == Role::kSteward || role == Role::kOperator; }

}  // namespace

bool IsAccountName(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= 32 && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
         });
}

AccountStore::AccountStore(const std::filesystem::path& file, crypto::RandomSource& random)
    : random_(random),
      database_(MadeForOwner(file),
                {.fail = AccountsFailure, .create = true, .patience = kAccountsPatience}) {
  database_.Execute("PRAGMA synchronous = EXTRA");
  database_.Execute("PRAGMA trusted_schema = OFF");
  database_.Execute("PRAGMA foreign_keys = ON");
  MakeAccountTables(database_);
  Bytes password(32);
  random_.Fill(password);
  nobody_ = crypto::HashPassword({reinterpret_cast<const char*>(password.data()), password.size()});
}

bool AccountStore::IsEmpty() const {
  const std::lock_guard lock(mutex_);
  Statement any(database_, "SELECT 1 FROM account LIMIT 1");
  return !any.Step();
}

std::vector<Account> AccountStore::List() const {
  const std::lock_guard lock(mutex_);
  Statement all(database_, "SELECT name, role, created, last_login FROM account ORDER BY name");
  std::vector<Account> accounts;
  while (all.Step()) accounts.push_back(RowOf(all));
  return accounts;
}

std::optional<Account> AccountStore::Find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  Statement find(database_, "SELECT name, role, created, last_login FROM account WHERE name = ?");
  if (!find.Bind(1, name).Step()) return std::nullopt;
  return RowOf(find);
}

void AccountStore::Insert(const std::string& name, Role role, const std::string& hash,
                          int64_t now) {
  Statement count(database_, "SELECT count(*) FROM account");
  if (count.Step() && count.Integer(0) >= static_cast<int64_t>(kMostAccounts))
    throw Error(ErrorCode::kRefused, "there are too many accounts", "Delete some.");
  Statement find(database_, "SELECT 1 FROM account WHERE name = ?");
  if (find.Bind(1, name).Step())
    throw Error(ErrorCode::kRefused, "an account has this name already", "Choose another name.");
  Statement put(database_, "INSERT INTO account VALUES (?, ?, ?, ?, 0)");
  put.Bind(1, name).Bind(2, static_cast<int64_t>(role)).Bind(3, hash).Bind(4, now).Step();
}

void AccountStore::Add(const std::string& name, Role role, const std::string& password,
                       int64_t now) {
  RequireAccountName(name);
  RequirePassword(password);
  const std::string hash = crypto::HashPassword(password);
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_, Transaction::Kind::kWrite);
  Insert(name, role, hash, now);
  transaction.Commit();
}

bool AccountStore::Check(const std::string& name, const std::string& password) const {
  std::string hash = nobody_;
  {
    const std::lock_guard lock(mutex_);
    Statement find(database_, "SELECT password FROM account WHERE name = ?");
    if (find.Bind(1, name).Step()) hash = find.Text(0);
  }
  return crypto::IsPasswordOf(password, hash);
}

std::string AccountStore::PasswordMark(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  Statement find(database_, "SELECT password FROM account WHERE name = ?");
  if (!find.Bind(1, name).Step()) return "";
  crypto::Sha256 hash;
  return ToHex(hash.Field("partita node password mark 1").Field(find.Text(0)).Finish());
}

void AccountStore::NoteLogin(const std::string& name, int64_t now) {
  const std::lock_guard lock(mutex_);
  Statement note(database_, "UPDATE account SET last_login = ? WHERE name = ?");
  note.Bind(1, now).Bind(2, name).Step();
}

std::string AccountStore::RememberBrowser(const std::string& name, int64_t now) {
  Bytes bytes(32);
  const std::lock_guard lock(mutex_);
  random_.Fill(bytes);
  std::string token = ToHex(bytes);
  const crypto::Digest digest = BrowserDigest(token);
  Transaction transaction(database_, Transaction::Kind::kWrite);
  Statement put(database_, "INSERT INTO browser VALUES (?, ?, ?)");
  put.Bind(1, ByteView(digest)).Bind(2, name).Bind(3, now + kBrowserSeconds).Step();
  Statement trim(database_,
                 "DELETE FROM browser WHERE until <= ? OR (account = ? AND token NOT IN "
                 "(SELECT token FROM browser WHERE account = ? ORDER BY until DESC, rowid DESC "
                 "LIMIT ?))");
  trim.Bind(1, now).Bind(2, name).Bind(3, name).Bind(4, kMostBrowsers).Step();
  transaction.Commit();
  return token;
}

void AccountStore::ForgetBrowsers(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Statement forget(database_, "DELETE FROM browser WHERE account = ?");
  forget.Bind(1, name).Step();
}

bool AccountStore::KnowsBrowser(const std::string& name, const std::string& token,
                                int64_t now) const {
  const crypto::Digest digest = BrowserDigest(token);
  const std::lock_guard lock(mutex_);
  Statement find(database_, "SELECT 1 FROM browser WHERE token = ? AND account = ? AND until > ?");
  return find.Bind(1, ByteView(digest)).Bind(2, name).Bind(3, now).Step();
}

void AccountStore::SetPassword(const std::string& name, const std::string& password) {
  RequirePassword(password);
  const std::string hash = crypto::HashPassword(password);
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_, Transaction::Kind::kWrite);
  Statement set(database_, "UPDATE account SET password = ? WHERE name = ? RETURNING 1");
  if (!set.Bind(1, hash).Bind(2, name).Step())
    throw Error(ErrorCode::kUsage, "there is no such account", "Look at the list of accounts.");
  set.Step();
  Statement forget(database_, "DELETE FROM browser WHERE account = ?");
  forget.Bind(1, name).Step();
  transaction.Commit();
}

void AccountStore::Remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_, Transaction::Kind::kWrite);
  Statement all(database_, "SELECT name, role FROM account");
  bool is_there = false, another_makes = false, makes = false;
  while (all.Step()) {
    const bool one_that_makes = MakesAccounts(static_cast<Role>(all.Integer(1)));
    if (all.Text(0) == name) {
      is_there = true;
      makes = one_that_makes;
    } else {
      another_makes = another_makes || one_that_makes;
    }
  }
  if (!is_there)
    throw Error(ErrorCode::kUsage, "there is no such account", "Look at the list of accounts.");
  if (makes && !another_makes) {
    throw Error(ErrorCode::kRefused, "this is the last account that may make others",
                "Make another steward or operator first.");
  }
  Statement remove(database_, "DELETE FROM account WHERE name = ?");
  remove.Bind(1, name).Step();
  transaction.Commit();
}

std::string AccountStore::MakeSetUpCode(int64_t now) {
  Bytes bytes(kSetUpCodeBytes);
  random_.Fill(bytes);
  const std::string letters = ToBase32(bytes);
  std::string code;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (i > 0 && i % 4 == 0) code += '-';
    code += letters[i];
  }
  const crypto::Digest digest = CodeDigest(code);
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_, Transaction::Kind::kWrite);
  if (database_.Pragma("SELECT count(*) FROM account") != "0") {
    throw Error(ErrorCode::kRefused, "there is an account already",
                "A steward or operator makes others, in the page Accounts.");
  }
  Statement put(database_, "INSERT OR REPLACE INTO set_up VALUES (1, ?, ?)");
  put.Bind(1, ByteView(digest)).Bind(2, now + kSetUpCodeSeconds).Step();
  transaction.Commit();
  return code;
}

void AccountStore::AddFirst(const std::string& code, const std::string& name, Role role,
                            const std::string& password, int64_t now) {
  RequireAccountName(name);
  RequirePassword(password);
  const std::string hash = crypto::HashPassword(password);
  const crypto::Digest digest = CodeDigest(code);
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_, Transaction::Kind::kWrite);
  Statement use(database_, "DELETE FROM set_up WHERE code = ? AND until > ? RETURNING 1");
  const bool is_right = use.Bind(1, ByteView(digest)).Bind(2, now).Step();
  if (!is_right || database_.Pragma("SELECT count(*) FROM account") != "0") {
    throw Error(ErrorCode::kRefused, "this set-up code is wrong, used or too old",
                "Make a new one: partita node setup-code");
  }
  use.Step();
  Insert(name, role, hash, now);
  transaction.Commit();
}

}  // namespace partita::node::web
