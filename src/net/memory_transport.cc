#include "net/memory_transport.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace partita::net {
namespace {

// Counts what happened to one party's streams; Wait sleeps until it grows.
class Bell {
 public:
  void Ring() {
    {
      std::lock_guard lock(mutex_);
      ++rings_;
    }
    rung_.notify_one();
  }

  // Only the owner waits, so `seen_` needs no lock of its own.
  void Wait(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    // Waiting on the system clock's futex is what ThreadSanitizer of Clang 14 understands; a jump
    // of the clock only makes the wait shorter or one slice longer.
    rung_.wait_until(lock, std::chrono::system_clock::now() + timeout,
                     [this] { return rings_ != seen_; });
    seen_ = rings_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  uint64_t rings_ = 0;
  uint64_t seen_ = 0;
};

// One directed stream: a ring buffer that grows up to its capacity.
class Pipe {
 public:
  explicit Pipe(size_t capacity) : capacity_(capacity) {}

  Io Write(ByteView bytes) {
    std::lock_guard lock(mutex_);
    if (reader_gone_) return {0, true};
    const size_t taken = std::min(bytes.size(), capacity_ - used_);
    if (used_ + taken > ring_.size()) Grow(used_ + taken);
    size_t at = ring_.empty() ? 0 : (begin_ + used_) % ring_.size();
    const size_t first = std::min(taken, ring_.size() - at);
    std::copy_n(bytes.begin(), first, ring_.begin() + static_cast<ptrdiff_t>(at));
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(first), taken - first, ring_.begin());
    used_ += taken;
    return {taken, false};
  }

  Io Read(std::span<uint8_t> out) {
    std::lock_guard lock(mutex_);
    const size_t taken = std::min(out.size(), used_);
    if (taken == 0) return {0, writer_gone_};
    const size_t first = std::min(taken, ring_.size() - begin_);
    std::copy_n(ring_.begin() + static_cast<ptrdiff_t>(begin_), first, out.begin());
    std::copy_n(ring_.begin(), taken - first, out.begin() + static_cast<ptrdiff_t>(first));
    begin_ = (begin_ + taken) % ring_.size();
    used_ -= taken;
    return {taken, false};
  }

  bool WriterGone() {
    std::lock_guard lock(mutex_);
    return writer_gone_;
  }
  void CloseWriter() {
    std::lock_guard lock(mutex_);
    writer_gone_ = true;
  }
  void CloseReader() {
    std::lock_guard lock(mutex_);
    reader_gone_ = true;
  }

 private:
  void Grow(size_t needed) {
    Bytes bigger(std::min(capacity_, std::max(needed, 2 * ring_.size())));
    for (size_t i = 0; i < used_; ++i) bigger[i] = ring_[(begin_ + i) % ring_.size()];
    ring_ = std::move(bigger);
    begin_ = 0;
  }

  const size_t capacity_;
  std::mutex mutex_;
  Bytes ring_;
  size_t begin_ = 0, used_ = 0;
  bool writer_gone_ = false, reader_gone_ = false;
};

struct Hub {
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Bell>> bells;  // by party
  std::vector<std::unique_ptr<Pipe>> pipes;  // by from * parties + to
  std::vector<crypto::Key> secrets;          // by min * parties + max

  size_t parties() const { return names.size(); }
  Pipe& pipe(PartyIndex from, PartyIndex to) { return *pipes[from * parties() + to]; }
};

class MemoryTransport : public Transport {
 public:
  MemoryTransport(std::shared_ptr<Hub> hub, PartyIndex self) : hub_(std::move(hub)), self_(self) {}

  ~MemoryTransport() override {
    for (PartyIndex peer = 0; peer < hub_->parties(); ++peer) {
      if (peer == self_) continue;
      hub_->pipe(self_, peer).CloseWriter();
      hub_->pipe(peer, self_).CloseReader();
      hub_->bells[peer]->Ring();
    }
  }

  PartyIndex self() const override { return self_; }
  const std::vector<std::string>& names() const override { return hub_->names; }

  Io Write(PartyIndex to, ByteView bytes) override {
    Io io = hub_->pipe(self_, to).Write(bytes);
    if (io.bytes != 0) hub_->bells[to]->Ring();
    return io;
  }
  bool Flush(PartyIndex) override { return true; }
  Io Read(PartyIndex from, std::span<uint8_t> out) override {
    Io io = hub_->pipe(from, self_).Read(out);
    if (io.bytes != 0) hub_->bells[from]->Ring();
    return io;
  }
  void Wait(std::span<const Interest>, std::chrono::nanoseconds timeout) override {
    hub_->bells[self_]->Wait(timeout);
  }

  bool HungUp(PartyIndex peer) const override { return hub_->pipe(peer, self_).WriterGone(); }
  const crypto::Key& PairwiseSecret(PartyIndex peer) const override {
    return hub_->secrets[std::min(self_, peer) * hub_->parties() + std::max(self_, peer)];
  }

 private:
  std::shared_ptr<Hub> hub_;
  PartyIndex self_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> MakeMemoryTransports(const std::vector<std::string>& names,
                                                             crypto::RandomSource& random,
                                                             size_t capacity) {
  auto hub = std::make_shared<Hub>();
  hub->names = names;
  for (size_t i = 0; i < names.size(); ++i) hub->bells.push_back(std::make_unique<Bell>());
  for (size_t i = 0; i < names.size() * names.size(); ++i) {
    hub->pipes.push_back(std::make_unique<Pipe>(capacity));
    hub->secrets.push_back(crypto::RandomKey(random));
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (PartyIndex i = 0; i < names.size(); ++i) {
    transports.push_back(std::make_unique<MemoryTransport>(hub, i));
  }
  return transports;
}

}  // namespace partita::net
