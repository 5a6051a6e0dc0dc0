// Who is logged in: sessions by a token that only the browser has. Kept in memory, under the hash of the
// token, so a restart logs everybody out.
//
// Any thread may call. At most 16 sessions of an account and 1024 in all: the one that was used least
// recently goes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "crypto/hash.h"
#include "crypto/random.h"
#include "node/web/role.h"

namespace partita::node::web {

inline constexpr int64_t kSessionIdleSeconds = 30 * 60;
inline constexpr int64_t kSessionSeconds = 12 * 3600;
inline constexpr size_t kMostSessionsPerAccount = 16;
inline constexpr size_t kMostSessions = 1024;

struct Session {
  std::string account;
  Role role = Role::kAuditor;
  int64_t began = 0;
  int64_t seen = 0;  // when a person last did something
};

// What a page sends back in a header to prove that it could read an answer: another site makes a browser
// send the cookie, and reads nothing. One for a session, and nothing about its token.
std::string CsrfToken(std::string_view session_token);

class Sessions {
 public:
  explicit Sessions(crypto::RandomSource& random) : random_(random) {}

  // A new session, under a token of its own: 64 hexadecimal digits of 32 random bytes.
  std::string Open(const std::string& account, Role role, int64_t now);
  // The session of a token, unless it is over at `now`. is_person: somebody does something, so it does not
  // end by idling.
  std::optional<Session> Find(const std::string& token, int64_t now, bool is_person);
  void End(const std::string& token);
  // Ends all sessions of an account, but for that of the token `except`.
  void EndAll(const std::string& account, const std::string& except = "");
  size_t Count(int64_t now);

 private:
  void Forget(int64_t now);
  void MakeRoom(const std::string& account);

  crypto::RandomSource& random_;
  std::mutex mutex_;
  std::map<crypto::Digest, Session> sessions_;
};

}  // namespace partita::node::web
