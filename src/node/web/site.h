// What the handlers of the API share: accounts and sessions of this process, and how to ask the node and its
// signer, which know everything else. No tables, no keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/https.h"
#include "node/daemon/log.h"
#include "node/sign/read_file.h"
#include "node/web/accounts.h"
#include "node/web/answers.h"
#include "node/web/login_delay.h"
#include "node/web/sessions.h"

namespace partita::node::web {

// A request and its answer, as node/daemon/control_socket.h has them. Waits, and throws Error.
using Ask =
    std::function<std::string(const std::string& request, std::chrono::milliseconds timeout)>;

inline constexpr std::chrono::milliseconds kNodePatience{65'000};    // a pairing may connect
inline constexpr std::chrono::milliseconds kSignerPatience{90'000};  // it computes plans

// Names in study files, by a study's number: a file is read once, and one reader works at a time.
class StudyNames {
 public:
  struct Names {
    std::string name, title;  // empty: cannot be read
  };
  struct Study {
    std::string id, file;
  };
  // Both are not this process (node/sign/study_reader.h); `many` may be empty.
  explicit StudyNames(FileReader reader, NamesReader many)
      : reader_(std::move(reader)), many_(std::move(many)) {}
  std::optional<Names> Find(const std::string& study) const;
  // Of the exact file. At most 4096 are kept.
  Names Read(const std::string& study, const std::string& file);
  // Of many studies at once, for Find. Those of which nothing is known afterwards are to be read one by one.
  void Learn(const std::vector<Study>& studies);

 private:
  void Keep(const std::string& study, const Names& names);

  FileReader reader_;
  NamesReader many_;
  std::mutex reading_;
  mutable std::mutex mutex_;
  std::map<std::string, Names> names_;
};

struct Call;

struct Site {
  Ask node;
  Ask signer;  // may be empty: nothing is signed by pages
  AccountStore& accounts;
  Sessions& sessions;
  LoginDelay& delay;
  const Log& log;
  const FileReader& reader;
  StudyNames names;
  // Hashes of pairings that a steward confirmed, by their number (party_api.cc).
  std::mutex mutex = {};
  std::map<std::string, std::string> confirmed = {};
  std::string own_name = {};
  // What studies' files say of this site's variables, by a study's number: JSON (table_api.cc).
  std::map<std::string, std::string> dictionaries = {};
  // Whether the node answered, and when it was asked (node_api.cc).
  bool was_ready = false;
  std::optional<SteadyClock::time_point> asked_ready = {};
  // Of NoteFailedLogin.
  int64_t noted_failure = 0, unnoted_failures = 0;

  WebJson AskNode(const WebJson& request, std::chrono::milliseconds patience = kNodePatience) const;
  // For the account of a session: the node's audit log names it.
  WebJson AskNodeFor(const Call& call, WebJson request) const;
  // What only this process knows, for that log; account: empty where nobody is logged in. A node that does not
  // take it in time is told of in the own log.
  void Note(const std::string& account, const std::string& action, const std::string& subject,
            const std::string& outcome) const;
  // A wrong password for `account`: one note a second at most, which counts those that came before it.
  void NoteFailedLogin(const std::string& account, int64_t now);
  // Throws kRefused where there is no signer.
  WebJson AskSigner(const WebJson& request) const;
  // The site's name; empty while the node does not answer.
  std::string Name();
};

// One request that may be answered.
struct Call {
  const net::HttpRequest& request;
  std::vector<std::string> parts;  // of the path, where the route has {names}
  std::map<std::string, std::string> query;
  std::string network;             // whence: NetworkOf
  bool is_here = false;            // from this machine, not by a proxy
  std::string token;               // of the session
  std::optional<Session> session;  // of routes that are not for anyone
  int64_t now = 0;
};

// "127.0.0.1" of "127.0.0.1:5000", "::1" of "[::1]:5000" or "::1:5000".
std::string AddressOfRemote(const std::string& remote);
bool IsLoopback(const std::string& address);
// What counts as one address when somebody has to wait: an IPv4 address, however it is written, or the /64
// of an IPv6 address, which is what one customer has.
std::string NetworkOf(const std::string& address);

}  // namespace partita::node::web
