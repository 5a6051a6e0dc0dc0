// How long somebody has to wait before another password is looked at: a search by the page is hopeless,
// and nobody is shut out for longer than 30 s.
//
// Wrong passwords are counted by address and by account. From the third in a row on one waits 1, 2, 4,
// 8, 16, then 30 s after each. An attempt counts as wrong from its beginning, so that many at a time gain
// nothing. What was quiet for an hour is forgotten; at most 4096 addresses and as many accounts are kept.
// Any thread may call.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace partita::node::web {

inline constexpr int64_t kLongestLoginWait = 30;

class LoginDelay {
 public:
  // Seconds to wait; 0: the password may be looked at, and counts as wrong until Right says otherwise.
  // address: without its port.
  int64_t Begin(const std::string& address, const std::string& account, int64_t now);
  void Right(const std::string& address, const std::string& account);

 private:
  struct Tries {
    int wrong = 0;
    int64_t last = 0;
  };
  using Book = std::map<std::string, Tries>;

  static int64_t WaitOf(const Book& book, const std::string& key, int64_t now);
  static void Note(Book& book, const std::string& key, int64_t now);

  std::mutex mutex_;
  Book addresses_, accounts_;
};

}  // namespace partita::node::web
