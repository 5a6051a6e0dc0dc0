#include "methods/dca/spool_sum.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "crypto/box.h"
#include "methods/dca/upload.h"

namespace partita::methods::dca {
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
      MaskedSum sum = MaskedSum::Of(contract_);
      size_t added = 0;
      for (auto page = NextPage(); !page.empty(); page = NextPage()) added += AddPage(page, sum);
      const std::lock_guard lock(mutex_);
      total_.AddWords(sum.words());
      added_ += added;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  MaskedSum Finish() {
    if (error_) std::rethrow_exception(error_);
    if (added_ != agreed_.size()) {
      throw Error(ErrorCode::kBadInput, "the upload store lacks shares of the agreed set",
                  "Nothing is opened. Use the store that this compute node closed.");
    }
    return std::move(total_);
  }

 private:
  std::vector<StoredShare> NextPage() {
    const std::lock_guard lock(mutex_);
    if (error_) return {};
    std::vector<StoredShare> page = spool_.Shares(after_, kPageBytes);
    if (!page.empty()) after_ = page.back().client;
    return page;
  }

  size_t AddPage(const std::vector<StoredShare>& page, MaskedSum& sum) {
    const size_t content_bytes = ContentBytes(contract_, node_);
    std::vector<crypto::Key> seeds;
    size_t added = 0;
    for (const StoredShare& share : page) {
      const AcceptedUpload upload{share.client, share.upload};
      if (!std::ranges::binary_search(agreed_, upload)) continue;
      ++added;
      const Bytes content = DecryptShare(store_key_, share, content_bytes);
      if (node_ == 0) {
        sum.AddWords(content);
      } else {
        std::ranges::copy(content, seeds.emplace_back().Expose().begin());
      }
    }
    sum.AddStreams(seeds);
    return added;
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

}  // namespace

Bytes EncryptShare(const crypto::Key& store_key, const AcceptedUpload& upload, ByteView content,
                   crypto::RandomSource& random) {
  return crypto::Encrypt(store_key, content, StoredUnder(upload), random);
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

}  // namespace partita::methods::dca
