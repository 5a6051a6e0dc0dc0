// The node's door for the own people: a Unix socket in its folder (mode 0600). Who connects must be the
// user who runs the node (SO_PEERCRED), or root; anybody else is closed without an answer.
//
// One request a connection: length u32 (little-endian), so many bytes of JSON; the answer likewise. At
// most 16 at a time, 30 s for a request to come, 8 MiB each way. What requests mean: control.h.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"

namespace partita::node {

inline constexpr size_t kMaxControlBytes = size_t{8} << 20;

class ControlSocket {
 public:
  // Answers a request with JSON, on a thread of its own; an Error is told to who asked.
  using Handler = std::function<std::string(const std::string& request)>;

  // Replaces what has the name. `refused` is told the number of a user who was closed. Throws kUsage for
  // a path that is too long for a socket.
  ControlSocket(const std::filesystem::path& path, Handler handler,
                std::function<void(uid_t)> refused);
  // Waits for requests that are being answered.
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether this user may give a node of `owner` orders.
bool MayControl(uid_t user, uid_t owner);

// Asks the node that serves there, and waits. Throws kUnreachable if none does, kTimeout, and what the
// node's handler threw.
std::string AskControl(const std::filesystem::path& path, const std::string& request,
                       std::chrono::milliseconds timeout);

}  // namespace partita::node
