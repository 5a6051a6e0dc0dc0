#include "sums/protocol/sum_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "crypto/box.h"
#include "crypto/kdf.h"
#include "sums/protocol/locked_random.h"
#include "sums/protocol/node_secrets.h"
#include "sums/spool/spool_sum.h"

namespace partita::sums {
namespace {

constexpr size_t kChunkBytes = size_t{8} << 20;
constexpr size_t kMinChunkUploads = 256;
// To find the results of all chunks after there was none to work on.
constexpr int kAttempts = 10;

ChunkBoard& BoardOf(Spool& spool) {
  ChunkBoard* board = spool.chunks();
  if (board == nullptr) {
    throw Error(ErrorCode::kUsage, "this upload store is for one process",
                "Summing workers need a compute node with a PostgreSQL store.");
  }
  return *board;
}

uint32_t ChunkUploads(const NodeRound& round, const WorkerSettings& settings) {
  if (settings.chunk_uploads > 0) return settings.chunk_uploads;
  const size_t row = StoredBytes(round.contract, round.node);
  return static_cast<uint32_t>(std::max(kMinChunkUploads, kChunkBytes / row));
}

// One agreed set, and how it is cut.
class ChunkedSum {
 public:
  ChunkedSum(Spool& spool, const NodeRound& round, const AcceptedSet& agreed,
             const WorkerSettings& settings)
      : spool_(spool),
        board_(BoardOf(spool)),
        round_(round),
        agreed_(agreed),
        settings_(settings),
        store_key_(StoreKey(round)),
        chunk_key_(ChunkKey(round, agreed)),
        plan_(board_.CutChunks(static_cast<uint32_t>(agreed.size()),
                               ChunkUploads(round, settings))) {}

  // Until every chunk has a result; the number of results from here.
  uint32_t Work(crypto::RandomSource& random) {
    LockedRandom locked(random);
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < settings_.threads; ++i) {
      threads.emplace_back([&] { WorkAlone(locked); });
    }
    WorkAlone(locked);
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    return recorded_;
  }

  // Nothing if a result is missing.
  std::optional<MaskedSum> Combine() {
    MaskedSum sum = MaskedSum::Of(round_.contract);
    for (uint32_t chunk = 0; chunk < plan_.chunks; ++chunk) {
      const std::optional<Bytes> result = board_.ChunkResult(chunk);
      if (!result) return std::nullopt;
      sum.AddWords(Open(chunk, *result));
    }
    return sum;
  }

 private:
  // Of this node, round and set.
  static crypto::Key ChunkKey(const NodeRound& round, const AcceptedSet& agreed) {
    ByteWriter context;
    context.U64(round.epoch);
    context.U16(round.node);
    return crypto::DeriveKey(round.box.secret_key, "partita dca chunk sums",
                             {round.contract.study, context.bytes(),
                              SetHash(round.contract.study, round.epoch, agreed)});
  }

  // What a chunk's sum is bound to, beside the key.
  Bytes PlaceOf(uint32_t chunk) const {
    ByteWriter place;
    place.U32(plan_.chunk_uploads);
    place.U32(chunk);
    return place.Take();
  }

  Bytes Open(uint32_t chunk, ByteView result) const {
    std::optional<Bytes> words = crypto::Decrypt(chunk_key_, result, PlaceOf(chunk));
    if (!words || words->size() != round_.contract.dimension * WordBytes(round_.contract)) {
      throw Error(ErrorCode::kBadInput, "a chunk's sum in the upload store was changed",
                  "Nothing is opened. Find out who wrote to the store.");
    }
    return std::move(*words);
  }

  std::span<const AcceptedUpload> UploadsOf(uint32_t chunk) const {
    const size_t begin = size_t{chunk} * plan_.chunk_uploads;
    return std::span(agreed_).subspan(
        begin, std::min<size_t>(plan_.chunk_uploads, agreed_.size() - begin));
  }

  // One thread's part.
  void WorkAlone(crypto::RandomSource& random) {
    try {
      while (!failed_ && board_.OpenChunks() > 0) {
        const int64_t now = settings_.clock.now_ms();
        const auto chunk = board_.TakeChunk(settings_.name, now, now + settings_.lease.count());
        if (chunk) {
          SumChunk(*chunk, random);
        } else {
          settings_.clock.wait(settings_.poll.count());
        }
      }
    } catch (...) {
      failed_ = true;
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void SumChunk(uint32_t chunk, crypto::RandomSource& random) {
    if (chunk >= plan_.chunks) {
      throw Error(ErrorCode::kBadInput, "the upload store has a chunk that is not of this round");
    }
    const MaskedSum sum =
        SumRange(spool_, store_key_, round_.contract, round_.node, UploadsOf(chunk));
    const Bytes result = crypto::Encrypt(chunk_key_, sum.words(), PlaceOf(chunk), random);
    if (board_.RecordChunk(chunk, result)) ++recorded_;
  }

  Spool& spool_;
  ChunkBoard& board_;
  const NodeRound& round_;
  const AcceptedSet& agreed_;
  const WorkerSettings& settings_;
  const crypto::Key store_key_, chunk_key_;
  const ChunkPlan plan_;
  std::atomic<uint32_t> recorded_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

WorkClock SystemWorkClock() {
  return {[] {
            using std::chrono::system_clock;
            return int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(
                               system_clock::now().time_since_epoch())
                               .count()};
          },
          [](int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }};
}

uint32_t HelpToSum(Spool& spool, const NodeRound& round, const WorkerSettings& settings,
                   crypto::RandomSource& random) {
  const std::optional<Bytes> closing = spool.closing();
  if (!closing) {
    throw Error(ErrorCode::kRefused, "a round that is not closed cannot be summed",
                "Start the workers when the compute nodes have agreed on the accepted set.");
  }
  const AcceptedSet agreed = OpenSealedSet(round, *closing);
  return ChunkedSum(spool, round, agreed, settings).Work(random);
}

MaskedSum SumWithWorkers(Spool& spool, const NodeRound& round, const AcceptedSet& agreed,
                         const WorkerSettings& settings, crypto::RandomSource& random) {
  ChunkedSum chunks(spool, round, agreed, settings);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    chunks.Work(random);
    // Results that a crash of the server took away are made again.
    if (std::optional<MaskedSum> sum = chunks.Combine()) return std::move(*sum);
  }
  throw Error(ErrorCode::kBadInput, "the upload store lacks parts of the sum",
              "Nothing is opened. Find out who wrote to the store.");
}

}  // namespace partita::sums
