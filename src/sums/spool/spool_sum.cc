#include "sums/spool/spool_sum.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "crypto/box.h"
#include "crypto/kdf.h"
#include "sums/protocol/upload.h"

namespace partita::sums {
namespace {

constexpr size_t kPageBytes = size_t{4} << 20;

std::array<uint8_t, 48> StoredUnder(const AcceptedUpload& upload) {
  std::array<uint8_t, 48> bytes{};
  std::ranges::copy(upload.client, bytes.begin());
  std::ranges::copy(upload.upload, bytes.begin() + sizeof(ClientId));
  return bytes;
}

Bytes DecryptShare(const crypto::Key& store_key, const StoredShare& share, size_t content_bytes) {
  std::optional<Bytes> content =
      crypto::Decrypt(store_key, share.share, StoredUnder({share.client, share.upload}));
  if (!content || content->size() != content_bytes) {
    throw Error(ErrorCode::kBadInput, "a share in the upload store was changed",
                "Nothing is opened. Find out who wrote to the store.");
  }
  return std::move(*content);
}

// Of a page of the shares after client `after`. A client that is there twice would count twice, in
// the place of another.
void RequireIncreasing(const std::optional<ClientId>& after, const std::vector<StoredShare>& page) {
  const auto not_below = [](const StoredShare& a, const StoredShare& b) {
    return a.client >= b.client;
  };
  const bool starts_late = !page.empty() && after && page.front().client <= *after;
  if (!starts_late && std::ranges::adjacent_find(page, not_below) == page.end()) return;
  throw Error(ErrorCode::kBadInput, "the upload store gave a client twice",
              "Nothing is opened. Find out who wrote to the store.");
}

// Adds shares of one node that are among `agreed`.
class PageAdder {
 public:
  PageAdder(const crypto::Key& store_key, const Contract& contract, uint16_t node,
            std::span<const AcceptedUpload> agreed)
      : store_key_(store_key),
        node_(node),
        content_bytes_(ContentBytes(contract, node)),
        agreed_(agreed),
        sum_(MaskedSum::Of(contract)) {}

  void Add(const std::vector<StoredShare>& page) {
    for (const StoredShare& share : page) {
      const AcceptedUpload upload{share.client, share.upload};
      if (!std::ranges::binary_search(agreed_, upload)) continue;
      ++added_;
      const Bytes content = DecryptShare(store_key_, share, content_bytes_);
      if (node_ == 0) {
        sum_.AddWords(content);
      } else {
        std::ranges::copy(content, seeds_.emplace_back().Expose().begin());
      }
    }
    sum_.AddStreams(seeds_);
    seeds_.clear();
  }

  MaskedSum& sum() { return sum_; }
  size_t added() const { return added_; }

 private:
  const crypto::Key& store_key_;
  const uint16_t node_;
  const size_t content_bytes_;
  std::span<const AcceptedUpload> agreed_;
  MaskedSum sum_;
  std::vector<crypto::Key> seeds_;
  size_t added_ = 0;
};

void RequireAll(size_t added, size_t agreed) {
  if (added == agreed) return;
  throw Error(ErrorCode::kBadInput, "the upload store lacks shares of the agreed set",
              "Nothing is opened. Use the store that this compute node closed.");
}

// The threads take pages in turn, so that memory stays bounded and the order of clients is read
// once.
class Summing {
 public:
  Summing(Spool& spool, const crypto::Key& store_key, const Contract& contract, uint16_t node,
          const AcceptedSet& agreed)
      : spool_(spool),
        store_key_(store_key),
        contract_(contract),
        node_(node),
        agreed_(agreed),
        total_(MaskedSum::Of(contract)) {}

  // One thread's part.
  void Run() {
    try {
      PageAdder adder(store_key_, contract_, node_, agreed_);
      for (auto page = NextPage(); !page.empty(); page = NextPage()) adder.Add(page);
      const std::lock_guard lock(mutex_);
      total_.AddWords(adder.sum().words());
      added_ += adder.added();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  MaskedSum Finish() {
    if (error_) std::rethrow_exception(error_);
    RequireAll(added_, agreed_.size());
    return std::move(total_);
  }

 private:
  std::vector<StoredShare> NextPage() {
    const std::lock_guard lock(mutex_);
    if (error_) return {};
    std::vector<StoredShare> page = spool_.Shares(after_, kPageBytes);
    RequireIncreasing(after_, page);
    if (!page.empty()) after_ = page.back().client;
    return page;
  }

  Spool& spool_;
  const crypto::Key& store_key_;
  const Contract& contract_;
  const uint16_t node_;
  const AcceptedSet& agreed_;
  std::mutex mutex_;
  std::optional<ClientId> after_;
  MaskedSum total_;
  size_t added_ = 0;
  std::exception_ptr error_;
};

// The largest client name below `client`, so that reading after it starts at `client`; nothing
// below the smallest.
std::optional<ClientId> Before(ClientId client) {
  for (size_t i = client.size(); i-- > 0;) {
    if (client[i]-- != 0) return client;
  }
  return std::nullopt;
}

}  // namespace

crypto::Key StoreKey(const NodeRound& round) {
  ByteWriter context;
  context.U64(round.epoch);
  context.U16(round.node);
  return crypto::DeriveKey(round.box.secret_key, "partita dca upload store",
                           {round.contract.study, context.bytes()});
}

Bytes EncryptShare(const crypto::Key& store_key, const AcceptedUpload& upload, ByteView content,
                   crypto::RandomSource& random) {
  return crypto::Encrypt(store_key, content, StoredUnder(upload), random);
}

size_t StoredBytes(const Contract& contract, uint16_t node) {
  return sizeof(StoredShare) + ContentBytes(contract, node) + crypto::kAeadBytes;
}

MaskedSum SumShares(Spool& spool, const crypto::Key& store_key, const Contract& contract,
                    uint16_t node, const AcceptedSet& agreed, unsigned threads) {
  Summing summing(spool, store_key, contract, node, agreed);
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i) workers.emplace_back([&summing] { summing.Run(); });
  summing.Run();
  for (std::thread& worker : workers) worker.join();
  return summing.Finish();
}

MaskedSum SumRange(Spool& spool, const crypto::Key& store_key, const Contract& contract,
                   uint16_t node, std::span<const AcceptedUpload> uploads) {
  PageAdder adder(store_key, contract, node, uploads);
  std::optional<ClientId> after = Before(uploads.front().client);
  while (adder.added() < uploads.size()) {
    // No more than what is left of this part: what follows is another's.
    const size_t left = (uploads.size() - adder.added()) * StoredBytes(contract, node);
    const std::vector<StoredShare> page = spool.Shares(after, std::min(left, kPageBytes));
    RequireIncreasing(after, page);
    if (page.empty() || page.front().client > uploads.back().client) break;
    adder.Add(page);
    after = page.back().client;
  }
  RequireAll(adder.added(), uploads.size());
  return std::move(adder.sum());
}

}  // namespace partita::sums
