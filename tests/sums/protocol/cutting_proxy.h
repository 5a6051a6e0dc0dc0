// Between a client and a PostgreSQL server: passes bytes on until a given number has gone in one
// direction, then closes both ends, or passes nothing more. Only the first connection is treated
// so; later ones pass.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace partita::sums {

class CuttingProxy {
 public:
  enum class Way { kToServer, kToClient };
  enum class End { kClose, kStall };

  // server: its socket. The proxy's own is in `folder`, port 6543.
  CuttingProxy(std::filesystem::path server, const std::filesystem::path& folder);
  ~CuttingProxy();
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  // For the next connection. Bytes are counted from its start.
  void CutNext(Way way, uint64_t after_bytes, End end = End::kClose);
  // Bytes that went each way on the connection that is open or was last.
  uint64_t bytes(Way way) const { return bytes_[static_cast<size_t>(way)]; }
  // Whether the cut was made.
  bool cut() const { return cut_; }

 private:
  struct Cut {
    Way way = Way::kToServer;
    uint64_t after = 0;
    End end = End::kClose;
  };

  void Serve();
  // cut: of this connection, if it is to be cut.
  void Pass(int client, std::optional<Cut> cut);

  std::filesystem::path server_, own_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::mutex mutex_;
  std::optional<Cut> next_;  // guarded by mutex_
  std::atomic<uint64_t> bytes_[2] = {0, 0};
  std::atomic<bool> cut_ = false;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> connections_;
  std::thread server_thread_;
};

}  // namespace partita::sums
