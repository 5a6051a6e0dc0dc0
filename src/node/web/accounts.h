// Who may log in to the pages of a node: names, roles and hashed passwords, in an SQLite file of the web
// process' own (mode 0600). The first account is made with a code that `partita node setup-code` writes
// here, hashed.
//
// Any thread may call, and another process at the same time (setup-code). Checking and setting passwords
// takes 64 MiB and some tenths of a second: the caller bounds how many do it at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/sqlite.h"
#include "crypto/random.h"
#include "node/web/role.h"

namespace partita::node::web {

inline constexpr size_t kMinPassword = 12;  // bytes
inline constexpr size_t kMaxPassword = 256;
inline constexpr int64_t kSetUpCodeSeconds = 3600;
inline constexpr int64_t kBrowserSeconds = int64_t{180} * 86'400;
inline constexpr size_t kMostAccounts = 1000;

struct Account {
  std::string name;
  Role role = Role::kAuditor;
  int64_t created = 0;
  int64_t last_login = 0;  // 0: never

  bool operator==(const Account&) const = default;
};

// 1 to 32 small letters, digits, '.', '-' and '_', a letter first.
bool IsAccountName(std::string_view name);

class AccountStore {
 public:
  // Makes the file if it is not there. Throws kStorage, kBadInput for another file.
  AccountStore(const std::filesystem::path& file, crypto::RandomSource& random);

  bool IsEmpty() const;
  std::vector<Account> List() const;  // by name
  std::optional<Account> Find(const std::string& name) const;

  // Throws kUsage for a name or password that is none, kRefused for a name that is taken.
  void Add(const std::string& name, Role role, const std::string& password, int64_t now);
  // Whether it is the account's password. An account that is not there takes as long.
  bool Check(const std::string& name, const std::string& password) const;
  // Changes with every password that is set, and says nothing about it; empty: there is no such account. Who
  // looks at it before Check and after a session is open knows that no password was set in between.
  std::string PasswordMark(const std::string& name) const;
  void NoteLogin(const std::string& name, int64_t now);
  // A browser that logged in: a token by which it is known again for 180 days. At most 16 an account; all are
  // forgotten with the password.
  std::string RememberBrowser(const std::string& name, int64_t now);
  void ForgetBrowsers(const std::string& name);
  bool KnowsBrowser(const std::string& name, const std::string& token, int64_t now) const;
  // Throws kUsage as Add, and if there is no such account.
  void SetPassword(const std::string& name, const std::string& password);
  // Throws kUsage if there is no such account, kRefused for the last that may make accounts.
  void Remove(const std::string& name);

  // A code for the first account, once, within an hour; the one before is void. Throws kRefused if there
  // is an account.
  std::string MakeSetUpCode(int64_t now);
  // Uses the code up if it is right and not too old, and makes the account. Throws kRefused else, and as
  // Add, before the code is used up.
  void AddFirst(const std::string& code, const std::string& name, Role role,
                const std::string& password, int64_t now);

 private:
  void Insert(const std::string& name, Role role, const std::string& hash, int64_t now);

  crypto::RandomSource& random_;
  mutable std::mutex mutex_;
  mutable sqlite::Database database_;
  std::string nobody_;  // a hash of no account's password
};

}  // namespace partita::node::web
