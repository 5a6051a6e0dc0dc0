// Requests that a page sends again because it saw no answer: with the same Idempotency-Key they are done
// once, and answered alike for ten minutes. At most 256 are kept. Any thread may call.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "crypto/hash.h"
#include "net/https.h"

namespace partita::node::web {

inline constexpr int64_t kRepeatSeconds = 600;

class Repeats {
 public:
  // What to answer without doing anything: what was answered before, or why not. None: do it, then say End.
  // key: 16 to 64 letters, digits, '-' and '_' of this account; `what`: digest of route and body.
  std::optional<net::HttpResponse> Begin(const std::string& account, const std::string& key,
                                         const crypto::Digest& what, int64_t now);
  // A refusal is forgotten, so that it can be tried again.
  void End(const std::string& account, const std::string& key, const net::HttpResponse& answer);

 private:
  struct Done {
    crypto::Digest what{};
    int64_t until = 0;
    std::optional<net::HttpResponse> answer;  // none: it is being done
  };

  std::mutex mutex_;
  std::map<std::string, Done> done_;
};

bool IsRepeatKey(const std::string& key);

}  // namespace partita::node::web
