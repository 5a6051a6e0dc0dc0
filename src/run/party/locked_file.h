// A record beside a table: of runs that begin at once each sees what the others wrote.
#pragma once

#include <filesystem>
#include <string>

#include "net/socket.h"

namespace partita::run {

// Holds FILE.lock from construction to destruction, waiting for whoever has it. name: of the
// record, for messages. Throws kUsage.
class LockedFile {
 public:
  LockedFile(const std::filesystem::path& file, const std::string& name);

 private:
  net::Socket lock_;
};

}  // namespace partita::run
