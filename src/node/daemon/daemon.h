// The node as a process: one port, the store, the loop that moves studies, jobs that it starts,
// pairings, the control socket.
//
// Keys here: the node key alone. What a steward signs comes over the control socket as signed bytes.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "node/daemon/log.h"
#include "node/daemon/node_folder.h"

namespace partita::node {

struct DaemonOptions {
  NodeFolder folder;
  LogSink log;
  // Program and arguments of a job; its channel is descriptor 3. Not used where node.toml has `[services]`: then jobs
  // start at its socket.
  std::vector<std::string> job_program;
  // The socket of the steward's signer, to be asked for policies, if node.toml names none; empty: nobody is asked.
  std::filesystem::path signer = {};
};

class Daemon {
 public:
  // Serves from now on. Throws what reading the folder does, kUsage if a node serves there already or has
  // no steward yet, kUnreachable if the address is taken.
  explicit Daemon(DaemonOptions options);
  // Stops; jobs that run go on (the node asks for them again when it starts).
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  const std::string& address() const;  // where it listens
  // Whether the store failed: the process should end, and start again.
  bool failed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::node
