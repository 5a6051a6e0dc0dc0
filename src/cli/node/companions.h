// Other processes of the same site that `partita node serve` starts, and that end with it: the pages, the
// steward's signer.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace partita::cli {

class Companions {
 public:
  Companions() = default;
  // SIGTERM, then SIGKILL after 5 s. They also get a SIGTERM when this process dies.
  ~Companions();
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;

  // This program with these words ("node", "sign", ...); `name` is what it is called in problems. From one
  // thread that lives as long as the process. Throws kInternal if the system starts no process.
  void Start(const std::string& name, std::vector<std::string> words);

  // Throws kUnreachable if one has ended by itself; its log says why.
  void RequireAll();

 private:
  struct Companion {
    std::string name;
    pid_t pid = 0;
  };

  std::vector<Companion> running_;
};

}  // namespace partita::cli
