#include "sums/service/compute_run.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/certificate.h"
#include "net/roster.h"
#include "sums/protocol/sum_worker.h"
#include "sums/service/box_key_file.h"
#include "sums/service/finish_round.h"
#include "sums/service/open_spool.h"
#include "sums/service/round_api.h"
#include "sums/service/round_charge.h"

namespace partita::sums {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kComputeSlice{100};
constexpr milliseconds kGrace{3'000};
constexpr size_t kImportBatch = 256;

crypto::Identity LoadOwnIdentity(const CollectionFile& collection, uint16_t node,
                                 const ComputeFiles& files) {
  crypto::Identity identity = crypto::LoadIdentity(files.certificate, files.key);
  if (crypto::Fingerprint(*identity.certificate) != collection.nodes[node].fingerprint) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} is not the certificate of compute node {} in the collection",
                            files.certificate.string(), collection.nodes[node].name),
                "use the folder that partita collection node made for it");
  }
  return identity;
}

crypto::BoxKeyPair LoadOwnBox(const CollectionFile& collection, uint16_t node,
                              const ComputeFiles& files) {
  crypto::BoxKeyPair box = LoadBoxKey(files.box_key);
  if (box.public_key != collection.nodes[node].box_key) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} is not the box key of compute node {} in the collection",
                            files.box_key.string(), collection.nodes[node].name),
                "use the folder that partita collection node made for it");
  }
  return box;
}

net::Listener ListenFor(const CollectionNode& node, const std::string& listen) {
  const net::Address address = net::ParseAddress(listen.empty() ? node.address : listen);
  return net::Listen(address.host, address.port);
}

// A reader of envelopes, each after its length. False at the end.
bool NextImport(std::istream& stream, size_t max_bytes, Bytes& envelope, const std::string& file) {
  std::array<uint8_t, 4> size_bytes{};
  stream.read(reinterpret_cast<char*>(size_bytes.data()), size_bytes.size());
  if (stream.gcount() == 0) return false;
  size_t size = 0;
  for (size_t i = size_bytes.size(); i-- > 0;) size = size << 8 | size_bytes[i];
  const bool whole = stream.gcount() == static_cast<std::streamsize>(size_bytes.size());
  if (whole && size <= max_bytes) {
    envelope.resize(size);
    stream.read(reinterpret_cast<char*>(envelope.data()), static_cast<std::streamsize>(size));
    if (stream.gcount() == static_cast<std::streamsize>(size)) return true;
  }
  throw Error(ErrorCode::kBadInput,
              fmt::format("{} holds an upload that is cut off or longer than any", file),
              "uploads before it are stored; import what follows from a whole file");
}

class ComputeRun {
 public:
  ComputeRun(const CollectionFile& collection, const ComputeOptions& options, const RoundLog& log,
             Progress& progress)
      : collection_(collection),
        options_(options),
        log_(log),
        progress_(progress),
        index_(NodeIndexByName(collection, options.node)),
        identity_(LoadOwnIdentity(collection, index_, options.files)),
        box_(LoadOwnBox(collection, index_, options.files)),
        list_(LoadAdmissionList(options.clients)),
        directory_(Directory()),
        spool_(
            OpenSpool(options.spool, box_.public_key, collection.contract.study, collection.epoch)),
        node_(Settings(), directory_, *spool_, random_),
        queue_(
            std::in_place,
            [this](std::span<const ByteView> uploads) { return node_.Accept(uploads); },
            options.queue),
        service_(collection, index_, list_, node_, *queue_, board_),
        server_(
            ListenFor(collection.nodes[index_], options.listen), identity_, Limits(),
            options.threads,
            [this](net::HttpRequest request, const net::HttpReply& reply) {
              service_.Handle(std::move(request), reply);
            },
            [this](const net::HttpRequest& request) { return service_.Screen(request); }) {
    service_.Watch(&server_);
  }
  // The service must not be asked for the counts of a server that is gone, and is told by the queue
  // what became of the last uploads.
  ~ComputeRun() {
    server_.Stop(kGrace);
    service_.Watch(nullptr);
    queue_.reset();
  }
  ComputeRun(const ComputeRun&) = delete;
  ComputeRun& operator=(const ComputeRun&) = delete;

  ComputeOutcome Do() {
    if (options_.ledger) CheckRoundCharge(collection_, *options_.ledger);
    log_(fmt::format("{} listens on {}, {} clients admitted", options_.node, server_.address(),
                     list_.clients.size()));
    if (!options_.import.empty() && !spool_->frozen()) Import();
    ServeUntilFrozen();
    try {
      Finish();
    } catch (const Error& error) {
      // The others must see this node's set to come to the same refusal.
      if (error.code() != ErrorCode::kRefused) throw;
      board_.Show(RoundState::kRefused);
      log_(error.message());
      Linger();
      throw;
    }
    Linger();
    return {options_.node, board_.state(), agreed_count_, service_.StatusJson(true)};
  }

 private:
  ClientDirectory Directory() const {
    return MakeDirectory(collection_, list_, index_, box_, options_.threads);
  }
  NodeSettings Settings() const {
    return {{collection_.contract, collection_.epoch, index_, box_},
            identity_,
            CertificatesOf(collection_),
            options_.threads};
  }
  net::HttpsLimits Limits() const {
    net::HttpsLimits limits;
    limits.body_bytes = MaxEnvelopeBytes(collection_.contract, index_);
    limits.connections = options_.connections;
    limits.all_body_bytes = std::max<uint64_t>(limits.all_body_bytes, 4 * limits.body_bytes);
    return limits;
  }

  void Import() {
    const std::string file = options_.import.string();
    if (collection_.admission != Admission::kRegistered) {
      throw Error(ErrorCode::kUsage,
                  "uploads of unregistered clients cannot be imported: only their connections "
                  "authenticate them",
                  "let these clients upload over HTTPS");
    }
    std::ifstream stream(options_.import, std::ios::binary);
    if (!stream.is_open()) {
      throw Error(ErrorCode::kUsage, "cannot read the uploads in " + file, "check the path");
    }
    const size_t max_bytes = MaxEnvelopeBytes(collection_.contract, index_);
    std::vector<Bytes> batch;
    uint64_t count = 0;
    for (bool more = true; more;) {
      Bytes envelope;
      more = NextImport(stream, max_bytes, envelope, file);
      if (more) batch.push_back(std::move(envelope));
      if (batch.size() < kImportBatch && more) continue;
      progress_.CheckCancelled();
      const std::vector<ByteView> views(batch.begin(), batch.end());
      node_.Accept(views);
      count += batch.size();
      batch.clear();
    }
    log_(fmt::format("{} uploads imported: {}", count, service_.StatusLine()));
  }

  void ServeUntilFrozen() {
    if (!spool_->frozen()) {
      log_(fmt::format("takes uploads until {}", FormatUtc(collection_.deadline)));
      std::string logged;
      Deadline next_line = Deadline::After(options_.log_every);
      // Another process of this node may have frozen the store that they share.
      while (NowUtc() < collection_.deadline && !board_.WaitForFreeze(kComputeSlice) &&
             !spool_->frozen()) {
        progress_.CheckCancelled();
        if (!next_line.passed()) continue;
        next_line = Deadline::After(options_.log_every);
        LogCounts(logged);
      }
    }
    const AcceptedSet own = node_.Freeze();
    own_set_ = own;
    board_.ShowSet(EncodeSet(own));
    log_(fmt::format("frozen with {} uploads: {}", own.size(), service_.StatusLine()));
  }

  void LogCounts(std::string& logged) {
    std::string line = service_.StatusLine();
    if (line == logged) return;
    log_(line);
    logged = std::move(line);
  }

  std::map<uint16_t, RoundClient> Peers() const {
    std::map<uint16_t, RoundClient> peers;
    for (uint16_t k = 0; k < collection_.contract.nodes; ++k) {
      if (k != index_) peers.emplace(k, RoundClient(collection_, k, identity_));
    }
    return peers;
  }

  void Finish() {
    std::map<uint16_t, RoundClient> peers = Peers();
    const AskPeers ask = [&](std::string_view what, size_t max_bytes) {
      return GatherFrom(peers, what, max_bytes, std::nullopt, log_, progress_);
    };
    agreed_count_ = FinishRound({collection_, own_set_, options_.ledger, options_.node, ask, log_},
                                node_, board_);
  }

  // Serves what there is until it is enough.
  void Linger() {
    const Deadline end = Deadline::After(options_.linger.value_or(milliseconds(0)));
    try {
      while (!options_.linger || !end.passed()) PauseFor(kComputeSlice, progress_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled) throw;
    }
  }

  const CollectionFile& collection_;
  const ComputeOptions& options_;
  const RoundLog& log_;
  Progress& progress_;
  const uint16_t index_;
  const crypto::Identity identity_;
  const crypto::BoxKeyPair box_;
  const AdmissionList list_;
  const ClientDirectory directory_;
  crypto::SystemRandom random_;
  std::unique_ptr<Spool> spool_;
  ComputeNode node_;
  RoundBoard board_;
  std::optional<UploadQueue> queue_;
  ComputeService service_;
  net::HttpsServer server_;
  AcceptedSet own_set_;
  uint32_t agreed_count_ = 0;
};

}  // namespace

ComputeFiles FilesIn(const std::filesystem::path& folder) {
  return {folder / "key.pem", folder / "cert.pem", folder / "box.key"};
}

ComputeOutcome RunComputeNode(const CollectionFile& collection, const ComputeOptions& options,
                              const RoundLog& log, Progress& progress) {
  return ComputeRun(collection, options, log, progress).Do();
}

uint32_t RunComputeWorker(const CollectionFile& collection, const ComputeWorkerOptions& options,
                          const RoundLog& log, Progress& progress) {
  const uint16_t node = NodeIndexByName(collection, options.node);
  const crypto::BoxKeyPair box = LoadOwnBox(collection, node, options.files);
  const std::unique_ptr<Spool> spool =
      OpenSpool(options.spool, box.public_key, collection.contract.study, collection.epoch);
  if (spool->chunks() == nullptr) {
    throw Error(ErrorCode::kUsage, "a store in a file has one process, which adds up by itself",
                "workers share a database: --spool postgres://USER@HOST/DATABASE");
  }
  log("waits for the round to be closed");
  while (!spool->closing()) PauseFor(kComputeSlice, progress);
  WorkerSettings settings;
  settings.name = options.name;
  settings.threads = options.threads;
  settings.clock.wait = [&progress](int64_t ms) { PauseFor(milliseconds(ms), progress); };
  crypto::SystemRandom random;
  const uint32_t chunks =
      HelpToSum(*spool, {collection.contract, collection.epoch, node, box}, settings, random);
  log(fmt::format("every chunk is summed, {} of them here", chunks));
  return chunks;
}

std::string AskStatus(const CollectionFile& collection, uint16_t node,
                      const crypto::Identity& identity, Progress& progress) {
  RoundClient client(collection, node, identity);
  const Bytes bytes = client.Get("status", kMaxStatusBytes, progress).value_or(Bytes());
  const auto status = nlohmann::ordered_json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!status.is_object()) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("compute node {} shows no status", client.name()),
                "ask those who run it to update Partita");
  }
  return status.dump();
}

void AskToFreeze(const CollectionFile& collection, uint16_t node, const crypto::Identity& identity,
                 Progress& progress) {
  RoundClient client(collection, node, identity);
  const net::HttpResponse response = client.Post("freeze", "", {}, progress);
  if (response.status == 202) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("compute node {} does not freeze ({})", client.name(), response.status),
              "only the node itself may ask: use its key and certificate");
}

}  // namespace partita::sums
