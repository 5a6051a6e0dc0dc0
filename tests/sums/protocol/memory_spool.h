// A spool that keeps its promises in memory, and one that does what it is told before and after
// each call.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "sums/spool/spool.h"

namespace partita::sums {

class MemorySpool : public Spool {
 public:
  // What is in it: to be kept, put back and edited.
  struct Content {
    std::map<ClientId, StoredShare> shares;
    bool frozen = false;
    std::optional<Bytes> closing, publication;
  };
  Content content;

  std::vector<PutResult> Put(std::span<const StoredShare> shares) override {
    const std::lock_guard lock(mutex_);
    std::vector<PutResult> results;
    for (const StoredShare& share : shares) {
      const auto found = content.shares.find(share.client);
      if (found != content.shares.end()) {
        results.push_back(found->second.request == share.request ? PutResult::kIdentical
                                                                 : PutResult::kDifferent);
      } else if (content.frozen) {
        results.push_back(PutResult::kFrozen);
      } else {
        content.shares.emplace(share.client, share);
        results.push_back(PutResult::kStored);
      }
    }
    return results;
  }
  void Freeze() override { content.frozen = true; }
  bool frozen() override { return content.frozen; }
  AcceptedSet Accepted() override {
    AcceptedSet set;
    for (const auto& [client, share] : content.shares) set.push_back({client, share.upload});
    return set;
  }
  std::vector<StoredShare> Shares(const std::optional<ClientId>& after, size_t) override {
    const std::lock_guard lock(mutex_);
    const auto next = after ? content.shares.upper_bound(*after) : content.shares.begin();
    if (next == content.shares.end()) return {};
    return {next->second};
  }
  void RecordClosing(ByteView closing) override {
    const Bytes bytes(closing.begin(), closing.end());
    if (content.closing.value_or(bytes) != bytes) {
      throw Error(ErrorCode::kRefused, "this round was closed with another set of uploads");
    }
    content.closing = bytes;
  }
  std::optional<Bytes> closing() override { return content.closing; }
  Bytes RecordPublication(ByteView publication) override {
    if (!content.publication) content.publication = Bytes(publication.begin(), publication.end());
    return *content.publication;
  }
  std::optional<Bytes> publication() override { return content.publication; }

 private:
  std::mutex mutex_;
};

// Passes on to another spool; `before` and `after` are called with the number of each call, from 1.
// What they throw, the caller sees.
class WatchedSpool : public Spool, public ChunkBoard {
 public:
  using Watch = std::function<void(int call)>;
  WatchedSpool(Spool& spool, Watch before, Watch after)
      : spool_(spool), before_(std::move(before)), after_(std::move(after)) {}

  std::vector<PutResult> Put(std::span<const StoredShare> shares) override {
    return Do([&] { return spool_.Put(shares); });
  }
  void Freeze() override {
    Do([&] { return spool_.Freeze(), 0; });
  }
  bool frozen() override {
    return Do([&] { return spool_.frozen(); });
  }
  AcceptedSet Accepted() override {
    return Do([&] { return spool_.Accepted(); });
  }
  std::vector<StoredShare> Shares(const std::optional<ClientId>& after, size_t bytes) override {
    return Do([&] { return spool_.Shares(after, bytes); });
  }
  void RecordClosing(ByteView closing) override {
    Do([&] { return spool_.RecordClosing(closing), 0; });
  }
  std::optional<Bytes> closing() override {
    return Do([&] { return spool_.closing(); });
  }
  Bytes RecordPublication(ByteView publication) override {
    return Do([&] { return spool_.RecordPublication(publication); });
  }
  std::optional<Bytes> publication() override {
    return Do([&] { return spool_.publication(); });
  }
  ChunkBoard* chunks() override { return spool_.chunks() == nullptr ? nullptr : this; }

  ChunkPlan CutChunks(uint32_t uploads, uint32_t chunk_uploads) override {
    return Do([&] { return spool_.chunks()->CutChunks(uploads, chunk_uploads); });
  }
  std::optional<uint32_t> TakeChunk(const std::string& worker, int64_t now_ms,
                                    int64_t until_ms) override {
    return Do([&] { return spool_.chunks()->TakeChunk(worker, now_ms, until_ms); });
  }
  bool RecordChunk(uint32_t chunk, ByteView result) override {
    return Do([&] { return spool_.chunks()->RecordChunk(chunk, result); });
  }
  uint32_t OpenChunks() override {
    return Do([&] { return spool_.chunks()->OpenChunks(); });
  }
  std::optional<Bytes> ChunkResult(uint32_t chunk) override {
    return Do([&] { return spool_.chunks()->ChunkResult(chunk); });
  }

  int calls() const { return call_; }

 private:
  template <typename Call>
  std::invoke_result_t<Call> Do(Call&& call) {
    const int number = ++call_;
    before_(number);
    auto result = call();
    after_(number);
    return result;
  }

  Spool& spool_;
  Watch before_, after_;
  int call_ = 0;
};

}  // namespace partita::sums
