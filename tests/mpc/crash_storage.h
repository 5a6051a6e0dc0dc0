// A store's file that crashes: what was not synced is lost, torn or there, as chance has it.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "mpc/store_file.h"

namespace partita::mpc::testing {

struct Crash : std::runtime_error {
  Crash() : std::runtime_error("crash") {}
};

// What outlives a process. One process at a time uses it.
class Disk {
 public:
  explicit Disk(uint64_t seed) : random_(seed) {}

  // The process dies at its operation number `operation`, counted from now; 0: never.
  void CrashAt(uint64_t operation) { crash_at_ = operation == 0 ? 0 : count_ + operation; }
  uint64_t count() const { return count_; }

  // Both as the process sees it and on the medium.
  const Bytes& durable() const { return durable_; }
  void Restore(Bytes image) {
    durable_ = std::move(image);
    pending_.clear();
  }
  // A power cut: of what was written since the last Sync, every sector of 512 bytes is there or
  // not.
  void LosePower() {
    constexpr size_t kSector = 512;
    for (const auto& [offset, bytes] : pending_) {
      for (uint64_t at = offset; at < offset + bytes.size();) {
        const uint64_t end =
            std::min<uint64_t>((at / kSector + 1) * kSector, offset + bytes.size());
        if (random_() % 2 == 0) Put(durable_, at, ByteView(bytes).subspan(at - offset, end - at));
        at = end;
      }
    }
    pending_.clear();
  }

  // Called before every read, with its place.
  std::function<void(uint64_t offset, uint64_t size)> on_read = {};

  std::unique_ptr<StoreStorage> Open() { return std::make_unique<Process>(*this); }

 private:
  class Process : public StoreStorage {
   public:
    explicit Process(Disk& disk) : disk_(disk), seen_(disk.durable_) {}
    uint64_t Size() override { return seen_.size(); }
    void Read(uint64_t offset, std::span<uint8_t> out) override {
      disk_.Step();
      if (disk_.on_read) disk_.on_read(offset, out.size());
      if (offset + out.size() > seen_.size()) throw std::out_of_range("read beyond the end");
      std::copy_n(seen_.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    }
    void Write(uint64_t offset, ByteView bytes) override {
      disk_.Step();
      Put(seen_, offset, bytes);
      disk_.pending_.emplace_back(offset, Bytes(bytes.begin(), bytes.end()));
      disk_.Step();
    }
    void Sync() override {
      disk_.Step();
      for (const auto& [offset, bytes] : disk_.pending_) Put(disk_.durable_, offset, bytes);
      disk_.pending_.clear();
      disk_.Step();
    }

   private:
    Disk& disk_;
    Bytes seen_;
  };

  static void Put(Bytes& image, uint64_t offset, ByteView bytes) {
    if (image.size() < offset + bytes.size()) image.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<ptrdiff_t>(offset));
  }
  void Step() {
    if (++count_ == crash_at_) throw Crash();
  }

  std::mt19937_64 random_;
  Bytes durable_;
  std::vector<std::pair<uint64_t, Bytes>> pending_;
  uint64_t count_ = 0, crash_at_ = 0;
};

}  // namespace partita::mpc::testing
