#include "sums/spool/postgres_spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "sums/spool/postgres_schema.h"
#include "sums/spool/spool_session.h"

namespace partita::sums {
namespace {

using Kind = postgres::Transaction::Kind;

// Of this program's advisory locks: "PDCA".
constexpr int kLockClass = 1346651969;
// Shares that one statement carries; a batch of more is one transaction of several statements. With
// 16 MiB the server is half as fast, for it allocates every array anew.
constexpr size_t kStatementBytes = size_t{1} << 20;
constexpr int64_t kSetPage = 1 << 16;
constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{1000};

constexpr char kFindRound[] = "SELECT id FROM partita_dca.round WHERE study = $1 AND epoch = $2";
constexpr char kMakeRound[] =
    "INSERT INTO partita_dca.round (study, epoch) VALUES ($1, $2) ON CONFLICT DO NOTHING";
constexpr char kInsert[] =
    "INSERT INTO partita_dca.share (round, client, upload, request, share) "
    "SELECT $1, * FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[]) "
    "WHERE NOT (SELECT frozen FROM partita_dca.round WHERE id = $1) "
    "ON CONFLICT (round, client) DO NOTHING RETURNING client";
constexpr char kFind[] =
    "SELECT client, request FROM partita_dca.share WHERE round = $1 AND client = ANY ($2::bytea[])";
constexpr char kFrozen[] = "SELECT frozen FROM partita_dca.round WHERE id = $1";
constexpr char kFreeze[] =
    "UPDATE partita_dca.round SET frozen = true WHERE id = $1 AND NOT frozen";
constexpr char kAccepted[] =
    "SELECT client, upload FROM partita_dca.share WHERE round = $1 AND client > $2 "
    "ORDER BY client LIMIT $3";
constexpr char kShares[] =
    "SELECT client, upload, request, share FROM partita_dca.share WHERE round = $1 AND client > $2 "
    "ORDER BY client LIMIT $3";
constexpr char kClosing[] = "SELECT closing FROM partita_dca.round WHERE id = $1";
constexpr char kSetClosing[] = "UPDATE partita_dca.round SET closing = $2 WHERE id = $1";
constexpr char kPublication[] = "SELECT publication FROM partita_dca.round WHERE id = $1";
constexpr char kSetPublication[] = "UPDATE partita_dca.round SET publication = $2 WHERE id = $1";
// Makes a transaction that changed nothing wait, when it commits, as one that did: also for the
// standbys. What it read may have been committed by one whose wait was cut off.
constexpr char kWriteLog[] = "SELECT pg_logical_emit_message(true, 'partita', '')";
constexpr char kCut[] = "SELECT chunk_uploads FROM partita_dca.round WHERE id = $1";
constexpr char kSetCut[] = "UPDATE partita_dca.round SET chunk_uploads = $2 WHERE id = $1";
constexpr char kMakeChunks[] =
    "INSERT INTO partita_dca.chunk (round, number) SELECT $1, n FROM generate_series(0, $2 - 1) n";
// The inner query skips the chunks that others are about to take.
constexpr char kTake[] =
    "UPDATE partita_dca.chunk SET worker = $2, until_ms = $4, attempts = attempts + 1 "
    "WHERE round = $1 AND number = (SELECT number FROM partita_dca.chunk WHERE round = $1 "
    "AND result IS NULL AND (until_ms IS NULL OR until_ms <= $3) ORDER BY number LIMIT 1 "
    "FOR UPDATE SKIP LOCKED) RETURNING number";
constexpr char kRecordChunk[] =
    "UPDATE partita_dca.chunk SET result = $3 WHERE round = $1 AND number = $2 AND result IS NULL";
constexpr char kOpenChunks[] =
    "SELECT count(*) FROM partita_dca.chunk WHERE round = $1 AND result IS NULL";
constexpr char kChunkResult[] =
    "SELECT result FROM partita_dca.chunk WHERE round = $1 AND number = $2";

int32_t OpenRound(postgres::Session& connection, const StudyHash& study, uint64_t epoch) {
  const std::array<uint8_t, 8> epoch_bytes = EpochBytes(epoch);
  const std::vector<postgres::Value> round = {postgres::Value::Blob(study),
                                              postgres::Value::Blob(epoch_bytes)};
  postgres::Rows found = connection.Query(kFindRound, round);
  if (found.size() == 0) {
    postgres::Transaction transaction(connection, Kind::kDurable);
    connection.Query(kMakeRound, round);
    found = connection.Query(kFindRound, round);
    transaction.Commit();
  }
  if (found.size() != 1) throw Error(ErrorCode::kInternal, "the upload store lost a round");
  return static_cast<int32_t>(found.Integer(0, 0));
}

std::optional<Bytes> BlobOf(const postgres::Rows& rows) {
  if (rows.size() != 1 || rows.IsNull(0, 0)) return std::nullopt;
  const ByteView blob = rows.Blob(0, 0);
  return Bytes(blob.begin(), blob.end());
}

bool IsFrozen(postgres::Session& connection, const postgres::Value& round) {
  const postgres::Rows rows = connection.Query(kFrozen, {round});
  if (rows.size() != 1) throw Error(ErrorCode::kInternal, "the upload round is gone");
  return rows.Integer(0, 0) != 0;
}

size_t BytesOf(const StoredShare& share) { return sizeof(StoredShare) + share.share.size(); }

// The first share of each client, sorted by client: transactions that insert in one order never
// wait for each other in a circle.
std::vector<const StoredShare*> Distinct(std::span<const StoredShare> shares) {
  std::vector<const StoredShare*> distinct;
  distinct.reserve(shares.size());
  for (const StoredShare& share : shares) distinct.push_back(&share);
  const auto by_client = [](const StoredShare* a, const StoredShare* b) {
    return a->client < b->client;
  };
  std::stable_sort(distinct.begin(), distinct.end(), by_client);
  const auto end = std::unique(
      distinct.begin(), distinct.end(),
      [](const StoredShare* a, const StoredShare* b) { return a->client == b->client; });
  distinct.erase(end, distinct.end());
  return distinct;
}

// Inserts those of new clients, unless the round is frozen; returns the clients that are new.
std::set<ClientId> Insert(postgres::Session& connection, const postgres::Value& round,
                          std::span<const StoredShare* const> shares) {
  const size_t count = shares.size();
  const postgres::Rows rows = connection.Query(
      kInsert,
      {round,
       postgres::Value::BlobArray(count, [&](size_t i) { return ByteView(shares[i]->client); }),
       postgres::Value::BlobArray(count, [&](size_t i) { return ByteView(shares[i]->upload); }),
       postgres::Value::BlobArray(count, [&](size_t i) { return ByteView(shares[i]->request); }),
       postgres::Value::BlobArray(count, [&](size_t i) { return ByteView(shares[i]->share); })});
  std::set<ClientId> inserted;
  for (size_t i = 0; i < rows.size(); ++i) inserted.insert(rows.Fixed<16>(i, 0));
  return inserted;
}

std::map<ClientId, crypto::Digest> Find(postgres::Session& connection, const postgres::Value& round,
                                        std::span<const StoredShare* const> shares) {
  const postgres::Rows rows = connection.Query(
      kFind, {round, postgres::Value::BlobArray(
                         shares.size(), [&](size_t i) { return ByteView(shares[i]->client); })});
  std::map<ClientId, crypto::Digest> found;
  for (size_t i = 0; i < rows.size(); ++i) found[rows.Fixed<16>(i, 0)] = rows.Fixed<32>(i, 1);
  return found;
}

PutResult Compare(const crypto::Digest& stored, const StoredShare& share) {
  return stored == share.request ? PutResult::kIdentical : PutResult::kDifferent;
}

// What became of shares of distinct clients, one statement's worth.
void PutSome(postgres::Session& connection, const postgres::Value& round,
             std::span<const StoredShare* const> shares,
             std::map<ClientId, std::pair<PutResult, crypto::Digest>>& outcome) {
  const std::set<ClientId> inserted = Insert(connection, round, shares);
  std::map<ClientId, crypto::Digest> earlier;
  if (inserted.size() < shares.size()) earlier = Find(connection, round, shares);
  for (const StoredShare* share : shares) {
    if (inserted.contains(share->client)) {
      outcome[share->client] = {PutResult::kStored, share->request};
    } else if (const auto found = earlier.find(share->client); found != earlier.end()) {
      outcome[share->client] = {Compare(found->second, *share), found->second};
    } else if (IsFrozen(connection, round)) {
      outcome[share->client] = {PutResult::kFrozen, {}};
    } else {
      throw Error(ErrorCode::kInternal, "the upload store took a share and lost it");
    }
  }
}

}  // namespace

// A connection for one call; given back in the end unless it is lost.
class PostgresSpool::Borrowed {
 public:
  explicit Borrowed(PostgresSpool& spool) : spool_(spool) {
    std::unique_lock lock(spool.mutex_);
    spool.returned_.wait(lock, [&] { return spool.lent_ < spool.settings_.max_connections; });
    ++spool.lent_;
    if (spool.idle_.empty()) return;
    connection_ = std::move(spool.idle_.back());
    spool.idle_.pop_back();
  }
  ~Borrowed() {
    {
      const std::lock_guard lock(spool_.mutex_);
      --spool_.lent_;
      if (IsUsable()) spool_.idle_.push_back(std::move(connection_));
    }
    spool_.returned_.notify_one();
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  bool IsUsable() const { return connection_ != nullptr && connection_->usable(); }
  // Connects if there is no connection.
  postgres::Session& Use() {
    if (!IsUsable()) {
      connection_.reset();
      connection_ = spool_.Connect();
    }
    connection_->ForgetFailure();
    return *connection_;
  }
  // After an error: whether to try again.
  bool MayRepeat(const Error& error) const {
    if (connection_ == nullptr) return error.code() == ErrorCode::kUnreachable;
    return connection_->may_repeat();
  }

 private:
  PostgresSpool& spool_;
  Connection connection_;
};

template <typename Work>
auto PostgresSpool::Run(const Work& work) {
  Borrowed borrowed(*this);
  const Deadline deadline = Deadline::After(settings_.reconnect_for);
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    try {
      return work(borrowed.Use());
    } catch (const Error& error) {
      if (!borrowed.MayRepeat(error) || deadline.passed()) throw;
    }
    std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
  }
}

PostgresSpool::Connection PostgresSpool::Connect() const {
  Connection connection(
      new postgres::Session(OpenSpoolSession(settings_.connection, settings_.statement_timeout)));
  CheckTables(*connection, settings_.node);
  return connection;
}

PostgresSpool::PostgresSpool(PostgresSettings settings, const StudyHash& study, uint64_t epoch)
    : settings_(std::move(settings)) {
  if (settings_.max_connections == 0 || settings_.statement_timeout.count() < 1 ||
      settings_.reconnect_for.count() < 0) {
    throw Error(ErrorCode::kUsage, "the settings of an upload store make no sense");
  }
  Connection first(
      new postgres::Session(OpenSpoolSession(settings_.connection, settings_.statement_timeout)));
  MakeTables(*first, settings_.node);
  CheckTables(*first, settings_.node);
  idle_.push_back(std::move(first));
  round_ = Run([&](postgres::Session& connection) { return OpenRound(connection, study, epoch); });
}

PostgresSpool::~PostgresSpool() = default;

std::string PostgresSpool::LockShared() const {
  return fmt::format("SELECT pg_advisory_xact_lock_shared({}, {})", kLockClass, round_);
}

std::string PostgresSpool::LockAlone() const {
  return fmt::format("SELECT pg_advisory_xact_lock({}, {})", kLockClass, round_);
}

std::vector<PutResult> PostgresSpool::Put(std::span<const StoredShare> shares) {
  if (shares.empty()) return {};
  const std::vector<const StoredShare*> distinct = Distinct(shares);
  const postgres::Value round = postgres::Value::Integer(round_);
  const auto outcome = Run([&](postgres::Session& connection) {
    std::map<ClientId, std::pair<PutResult, crypto::Digest>> made;
    postgres::Transaction transaction(connection, Kind::kDurable, LockShared());
    for (size_t begin = 0; begin < distinct.size();) {
      size_t bytes = 0;
      size_t end = begin;
      do {
        bytes += BytesOf(*distinct[end++]);
      } while (end < distinct.size() && bytes < kStatementBytes);
      PutSome(connection, round, std::span(distinct).subspan(begin, end - begin), made);
      begin = end;
    }
    const bool identical = std::ranges::any_of(
        made, [](const auto& one) { return one.second.first == PutResult::kIdentical; });
    if (identical) connection.Query(kWriteLog);
    transaction.Commit();
    return made;
  });
  // Of equal clients the first was tried; the others are compared with what is there now.
  std::vector<PutResult> results;
  results.reserve(shares.size());
  std::set<ClientId> seen;
  for (const StoredShare& share : shares) {
    const auto& [result, request] = outcome.at(share.client);
    const bool first = seen.insert(share.client).second;
    results.push_back(first || result == PutResult::kFrozen ? result : Compare(request, share));
  }
  return results;
}

void PostgresSpool::Freeze() {
  Run([&](postgres::Session& connection) {
    postgres::Transaction transaction(connection, Kind::kDurable, LockAlone());
    connection.Query(kFreeze, {postgres::Value::Integer(round_)});
    transaction.Commit();
  });
}

bool PostgresSpool::frozen() {
  return Run([&](postgres::Session& connection) {
    return IsFrozen(connection, postgres::Value::Integer(round_));
  });
}

AcceptedSet PostgresSpool::Accepted() {
  AcceptedSet set;
  while (true) {
    const ByteView after = set.empty() ? ByteView() : ByteView(set.back().client);
    const postgres::Rows rows = Run([&](postgres::Session& connection) {
      return connection.Query(kAccepted,
                              {postgres::Value::Integer(round_), postgres::Value::Blob(after),
                               postgres::Value::BigInteger(kSetPage)});
    });
    for (size_t i = 0; i < rows.size(); ++i) {
      set.push_back({rows.Fixed<16>(i, 0), rows.Fixed<32>(i, 1)});
    }
    if (rows.size() < static_cast<size_t>(kSetPage)) return set;
  }
}

std::vector<StoredShare> PostgresSpool::Shares(const std::optional<ClientId>& after,
                                               size_t max_bytes) {
  // Shares of a round are of one size: the first tells how many fit.
  std::vector<StoredShare> shares;
  size_t bytes = 0;
  while (true) {
    const std::optional<ClientId> last = shares.empty() ? after : shares.back().client;
    const size_t wanted = shares.empty() || bytes >= max_bytes
                              ? 1
                              : std::max<size_t>(1, (max_bytes - bytes) / BytesOf(shares.back()));
    const postgres::Rows rows = Run([&](postgres::Session& connection) {
      return connection.Query(kShares, {postgres::Value::Integer(round_),
                                        postgres::Value::Blob(last ? ByteView(*last) : ByteView()),
                                        postgres::Value::BigInteger(static_cast<int64_t>(wanted))});
    });
    for (size_t i = 0; i < rows.size(); ++i) {
      const ByteView share = rows.Blob(i, 3);
      bytes += sizeof(StoredShare) + share.size();
      if (!shares.empty() && bytes > max_bytes) return shares;
      shares.push_back({rows.Fixed<16>(i, 0), rows.Fixed<32>(i, 1), rows.Fixed<32>(i, 2),
                        Bytes(share.begin(), share.end())});
    }
    if (rows.size() < wanted || bytes >= max_bytes) return shares;
  }
}

void PostgresSpool::RecordClosing(ByteView closing) {
  const postgres::Value round = postgres::Value::Integer(round_);
  Run([&](postgres::Session& connection) {
    postgres::Transaction transaction(connection, Kind::kDurable, LockAlone());
    if (!IsFrozen(connection, round)) {
      throw Error(ErrorCode::kRefused, "a round that still takes uploads cannot be closed");
    }
    const std::optional<Bytes> earlier = BlobOf(connection.Query(kClosing, {round}));
    if (earlier && !std::ranges::equal(*earlier, closing)) {
      throw Error(ErrorCode::kRefused, "this round was closed with another set of uploads",
                  "A round is opened once; start a new epoch.");
    }
    if (earlier) {
      connection.Query(kWriteLog);
    } else {
      connection.Query(kSetClosing, {round, postgres::Value::Blob(closing)});
    }
    transaction.Commit();
  });
}

std::optional<Bytes> PostgresSpool::closing() { return ReadBlob(kClosing); }

Bytes PostgresSpool::RecordPublication(ByteView publication) {
  const postgres::Value round = postgres::Value::Integer(round_);
  return Run([&](postgres::Session& connection) {
    postgres::Transaction transaction(connection, Kind::kDurable, LockAlone());
    if (!BlobOf(connection.Query(kClosing, {round}))) {
      throw Error(ErrorCode::kRefused, "a round that is not closed cannot be opened");
    }
    if (std::optional<Bytes> earlier = BlobOf(connection.Query(kPublication, {round}))) {
      connection.Query(kWriteLog);
      transaction.Commit();
      return std::move(*earlier);
    }
    connection.Query(kSetPublication, {round, postgres::Value::Blob(publication)});
    transaction.Commit();
    return Bytes(publication.begin(), publication.end());
  });
}

std::optional<Bytes> PostgresSpool::publication() { return ReadBlob(kPublication); }

std::optional<Bytes> PostgresSpool::ReadBlob(const char* sql) {
  return Run([&](postgres::Session& connection) {
    return BlobOf(connection.Query(sql, {postgres::Value::Integer(round_)}));
  });
}

ChunkPlan PostgresSpool::CutChunks(uint32_t uploads, uint32_t chunk_uploads) {
  if (uploads == 0 || chunk_uploads == 0) {
    throw Error(ErrorCode::kUsage, "a set of uploads that is cut into no chunks");
  }
  const postgres::Value round = postgres::Value::Integer(round_);
  const uint32_t recorded = Run([&](postgres::Session& connection) {
    postgres::Transaction transaction(connection, Kind::kDurable, LockAlone());
    if (!BlobOf(connection.Query(kClosing, {round}))) {
      throw Error(ErrorCode::kRefused, "a round that is not closed cannot be summed");
    }
    const postgres::Rows cut = connection.Query(kCut, {round});
    if (!cut.IsNull(0, 0)) {
      if (cut.Integer(0, 0) < 1) {
        throw Error(ErrorCode::kBadInput, "the upload store holds chunks of no size");
      }
      return static_cast<uint32_t>(cut.Integer(0, 0));
    }
    const uint32_t chunks = (uploads - 1) / chunk_uploads + 1;
    connection.Query(kSetCut,
                     {round, postgres::Value::Integer(static_cast<int32_t>(chunk_uploads))});
    connection.Query(kMakeChunks, {round, postgres::Value::Integer(static_cast<int32_t>(chunks))});
    transaction.Commit();
    return chunk_uploads;
  });
  return {recorded, (uploads - 1) / recorded + 1};
}

std::optional<uint32_t> PostgresSpool::TakeChunk(const std::string& worker, int64_t now_ms,
                                                 int64_t until_ms) {
  return Run([&](postgres::Session& connection) -> std::optional<uint32_t> {
    postgres::Transaction transaction(connection, Kind::kForgetful);
    const postgres::Rows taken = connection.Query(
        kTake, {postgres::Value::Integer(round_), postgres::Value::Text(worker),
                postgres::Value::BigInteger(now_ms), postgres::Value::BigInteger(until_ms)});
    transaction.Commit();
    if (taken.size() == 0) return std::nullopt;
    return static_cast<uint32_t>(taken.Integer(0, 0));
  });
}

bool PostgresSpool::RecordChunk(uint32_t chunk, ByteView result) {
  return Run([&](postgres::Session& connection) {
    postgres::Transaction transaction(connection, Kind::kForgetful);
    const postgres::Rows recorded =
        connection.Query(kRecordChunk, {postgres::Value::Integer(round_),
                                        postgres::Value::Integer(static_cast<int32_t>(chunk)),
                                        postgres::Value::Blob(result)});
    transaction.Commit();
    return recorded.affected() == 1;
  });
}

uint32_t PostgresSpool::OpenChunks() {
  return Run([&](postgres::Session& connection) {
    return static_cast<uint32_t>(
        connection.Query(kOpenChunks, {postgres::Value::Integer(round_)}).Integer(0, 0));
  });
}

std::optional<Bytes> PostgresSpool::ChunkResult(uint32_t chunk) {
  return Run([&](postgres::Session& connection) {
    return BlobOf(connection.Query(
        kChunkResult,
        {postgres::Value::Integer(round_), postgres::Value::Integer(static_cast<int32_t>(chunk))}));
  });
}

}  // namespace partita::sums
