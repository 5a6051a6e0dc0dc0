// The door of a node, and of its steward's signer, for the own people: a Unix socket (mode 0600). Who connects
// must be the user who runs the process (SO_PEERCRED), or root, or one of the users that it is told of; anybody else is
// closed without an answer. With such users the mode is 0660 where the folder hands its group on (setgid), else 0666.
//
// One request a connection: length u32 (little-endian), so many bytes of JSON; the answer likewise. 5 s for
// the length to come, 30 s for the rest, 8 MiB each way. 16 at a time: of these each other user than the own
// one and root has 6, all others together 12, so that none keeps the rest out. What requests mean: control.h.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "node/port/peer_user.h"

namespace partita::node {

inline constexpr size_t kMaxControlBytes = size_t{8} << 20;

class ControlSocket {
 public:
  // Answers a request of this user with JSON, on a thread of its own; an Error is told to who asked.
  using Handler = std::function<std::string(const std::string& request, uid_t user)>;
  // Who is at the other end of a connection.
  using UserOf = std::function<uid_t(int descriptor)>;

  // Replaces what has the name. `refused` is told the number of a user who was closed. Throws kUsage for
  // a path that is too long for a socket. users: who may ask, beside the own user and root. user_of is asked
  // once for each connection, in the order in which they came.
  ControlSocket(const std::filesystem::path& path, Handler handler,
                std::function<void(uid_t)> refused, std::vector<uid_t> users = {},
                UserOf user_of = UserAt);
  // Waits for requests that are being answered.
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether this user may give a process of `owner` orders.
bool MayControl(uid_t user, uid_t owner, const std::vector<uid_t>& users = {});

// Who serves at a control socket, and how it is started: for messages.
struct ControlServer {
  std::string name = "node";
  std::string start = "Start it: partita node serve. Or name its folder with --at.";
  // It is told secrets: only the owner of the socket's folder, which nobody else may write to, or root
  // may serve there.
  bool must_own_folder = false;
};
ControlServer SignerServer();

// Asks the process that serves there, and waits. Throws kUnreachable if none does, kTimeout, kUntrusted,
// before anything is sent, if it is not who has to serve, and what its handler threw.
std::string AskControl(const std::filesystem::path& path, const std::string& request,
                       std::chrono::milliseconds timeout, const ControlServer& server = {});

}  // namespace partita::node
