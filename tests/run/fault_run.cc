#include "tests/run/fault_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <thread>

#include "mpc/release_ok.h"
#include "net/frame.h"
#include "net/memory_transport.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/ledger/ledger_charges.h"
#include "run/party/build_plan.h"
#include "tests/net/fault_transport.h"
#include "tests/run/results.h"

namespace partita::testing {
namespace {

namespace fs = std::filesystem;
using privacy::ledger::CrashDisk;
using privacy::ledger::SqliteLedger;

// Engines round the last bit of a product at random, and a fit stops a little elsewhere then.
constexpr double kRounding = 1e-5;
constexpr char kFile[] = "/ledger", kTable[] = "registry", kMark[] = "local-mark-of-the-test";

// What a party that stops has to say, all of it its own business. The codes take turns.
[[noreturn]] void StopHere(uint64_t number, const std::string& local) {
  const std::string words = fmt::format("{} of {}", kMark, local);
  constexpr ErrorCode kCodes[] = {
      ErrorCode::kUsage,     ErrorCode::kBadInput, ErrorCode::kUntrusted, ErrorCode::kTimeout,
      ErrorCode::kPeerFault, ErrorCode::kRefused,  ErrorCode::kBudget,    ErrorCode::kUnreachable,
      ErrorCode::kPeerLost,  ErrorCode::kInternal, ErrorCode::kCancelled};
  const size_t turn = number % (std::size(kCodes) + 1);
  if (turn == std::size(kCodes)) throw std::runtime_error(words);
  throw Error(kCodes[turn], words, words);
}

// Where a stream of frames stands.
struct StreamOfFrames {
  uint64_t begun = 0;  // frames
  Bytes header;        // what was seen of the current one
  uint64_t left = 0;   // bytes of its payload to come
  bool at_start() const { return header.empty(); }
};

struct Seen {
  net::FrameType type{};
  Bytes tag, payload;
  bool complete = false;  // headers are read ahead
};

// The frames of one party, by peer.
struct Traffic {
  std::vector<std::vector<Seen>> sent, received;
};

class FaultyTransport : public net::Transport {
 public:
  // traffic: filled in; like `at_kill`, must outlive the transport.
  FaultyTransport(std::unique_ptr<net::Transport> inner, const Fault& fault, std::string local,
                  std::function<void()> at_kill, Traffic& traffic)
      : inner_(std::move(inner)),
        fault_(fault),
        local_(std::move(local)),
        at_kill_(std::move(at_kill)),
        out_(names().size()),
        in_(names().size()),
        traffic_(traffic) {
    traffic_.sent.resize(names().size());
    traffic_.received.resize(names().size());
  }

  net::PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  const crypto::Key& PairwiseSecret(net::PartyIndex peer) const override {
    return inner_->PairwiseSecret(peer);
  }
  void Wait(std::span<const net::Interest> interests, std::chrono::nanoseconds timeout) override {
    inner_->Wait(interests, timeout);
  }
  bool Flush(net::PartyIndex to) override { return inner_->Flush(to); }

  net::Io Write(net::PartyIndex to, ByteView bytes) override {
    if (const auto gone = Gone(to)) return *gone;
    bytes = bytes.first(UntilFault(out_[to], bytes, to, false));
    if (bytes.empty()) return Fail(to);
    const net::Io io = inner_->Write(to, bytes);
    Follow(out_[to], bytes.first(io.bytes), traffic_.sent[to]);
    return io;
  }

  net::Io Read(net::PartyIndex from, std::span<uint8_t> out) override {
    if (const auto gone = Gone(from)) return *gone;
    // Frames are read header first, so that no read goes beyond the end of a frame.
    const bool here =
        Concerns(from, true) && in_[from].at_start() && in_[from].begun == fault_.number;
    const net::Io io = inner_->Read(from, out);
    if (io.bytes == 0) return io;
    if (here && !fired_) return Fail(from);
    Follow(in_[from], out.first(io.bytes), traffic_.received[from]);
    return io;
  }

 private:
  bool Concerns(net::PartyIndex peer, bool receives) const {
    const bool link = fault_.kind == Fault::Kind::kError || fault_.kind == Fault::Kind::kKill ||
                      fault_.kind == Fault::Kind::kCut;
    return link && fault_.party == self() && fault_.peer == peer && fault_.receives == receives;
  }

  std::optional<net::Io> Gone(net::PartyIndex peer) const {
    if (!fired_ || fault_.kind == Fault::Kind::kError) return std::nullopt;
    if (fault_.kind == Fault::Kind::kCut && peer != fault_.peer) return std::nullopt;
    if (fault_.kind == Fault::Kind::kKill) throw std::runtime_error("killed");
    return net::Io{0, true};
  }

  net::Io Fail(net::PartyIndex peer) {
    fired_ = true;
    if (fault_.kind == Fault::Kind::kKill) at_kill_();
    if (fault_.kind == Fault::Kind::kError) StopHere(fault_.number + peer, local_);
    return *Gone(peer);
  }

  // So many of these bytes come before the fault.
  size_t UntilFault(StreamOfFrames stream, ByteView bytes, net::PartyIndex peer,
                    bool receives) const {
    if (fired_ || !Concerns(peer, receives)) return bytes.size();
    std::vector<Seen> unused;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (stream.at_start() && stream.begun == fault_.number) return i;
      Follow(stream, bytes.subspan(i, 1), unused);
    }
    return bytes.size();
  }

  static void Follow(StreamOfFrames& stream, ByteView bytes, std::vector<Seen>& seen) {
    while (!bytes.empty()) {
      if (stream.at_start()) ++stream.begun;
      if (stream.header.size() < net::kFrameHeaderBytes) {
        const size_t take = std::min(bytes.size(), net::kFrameHeaderBytes - stream.header.size());
        stream.header.insert(stream.header.end(), bytes.begin(),
                             bytes.begin() + static_cast<std::ptrdiff_t>(take));
        bytes = bytes.subspan(take);
        if (stream.header.size() < net::kFrameHeaderBytes) return;
        stream.left = ByteReader(ByteView(stream.header).subspan(48, 8)).U64();
        seen.push_back({static_cast<net::FrameType>(stream.header[6]),
                        Bytes(stream.header.begin() + 24, stream.header.begin() + 32),
                        {},
                        false});
      }
      const size_t take = std::min<uint64_t>(bytes.size(), stream.left);
      if (!seen.empty()) {
        seen.back().payload.insert(seen.back().payload.end(), bytes.begin(),
                                   bytes.begin() + static_cast<std::ptrdiff_t>(take));
      }
      bytes = bytes.subspan(take);
      stream.left -= take;
      if (stream.left > 0) continue;
      if (!seen.empty()) seen.back().complete = true;
      stream.header.clear();
    }
  }

  std::unique_ptr<net::Transport> inner_;
  const Fault fault_;
  const std::string local_;
  const std::function<void()> at_kill_;
  std::vector<StreamOfFrames> out_, in_;
  Traffic& traffic_;
  bool fired_ = false;
};

bool Contains(ByteView bytes, const std::string& text) {
  return !text.empty() && memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

bool IsAlteration(Fault::Kind kind) {
  return kind >= Fault::Kind::kGarbage && kind <= Fault::Kind::kReplay;
}

// Of the payload, at its place in the header.
void SetLength(Bytes& frame) {
  const uint64_t length = frame.size() - net::kFrameHeaderBytes;
  for (size_t i = 0; i < 8; ++i) frame[48 + i] = static_cast<uint8_t>(length >> (8 * i));
}

// What is sent instead of a frame. earlier: the same one of an earlier run.
std::vector<Bytes> Altered(const Fault& fault, const Bytes& frame, const Bytes& earlier) {
  Bytes other = frame;
  switch (fault.kind) {
    case Fault::Kind::kGarbage: {
      std::mt19937_64 random(fault.number);
      for (size_t i = net::kFrameHeaderBytes; i < other.size(); ++i)
        other[i] = static_cast<uint8_t>(random());
      break;
    }
    case Fault::Kind::kShort:
      if (other.size() > net::kFrameHeaderBytes) other.pop_back();
      SetLength(other);
      break;
    case Fault::Kind::kLong:
      other.push_back(0);
      SetLength(other);
      break;
    case Fault::Kind::kTwice:
      return {frame, frame};
    default:
      return {earlier};
  }
  return {other};
}

constexpr double kUnlike = std::numeric_limits<double>::infinity();

// Of two results of one study: by how much their estimates differ, kUnlike for what should be the same
// and is not. Of a regression on grids, whose last bits are rounded at random, one step is nothing.
double FarthestApart(const run::PartyOutcome& got, const run::PartyOutcome& good) {
  const auto &a = testing::MleResultsOf(got), &b = testing::MleResultsOf(good);
  if (a.size() != b.size()) return kUnlike;
  double farthest = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const auto &left = a[k].fit.estimates, &right = b[k].fit.estimates;
    if (left.size() != right.size()) return kUnlike;
    for (size_t e = 0; e < left.size(); ++e)
      farthest = std::max(farthest, std::abs(left[e].estimate - right[e].estimate));
  }
  if (good.result == nullptr || !a.empty()) return farthest;
  const nlohmann::json left = nlohmann::json::parse(testing::DocumentOf(got).json),
                       right = nlohmann::json::parse(testing::DocumentOf(good).json);
  if (!right.contains("coefficients")) return farthest;
  if (left["rows"] != right["rows"] || left["converged"] != right["converged"] ||
      left["coefficients"].size() != right["coefficients"].size())
    return kUnlike;
  for (size_t c = 0; c < right["coefficients"].size(); ++c) {
    const nlohmann::json &mine = left["coefficients"][c], &other = right["coefficients"][c];
    for (const char* number : {"estimate", "standard_error"}) {
      const double apart = std::abs(mine[number].get<double>() - other[number].get<double>());
      farthest = std::max(farthest, apart - 1.01 * other["step"].get<double>());
    }
  }
  return farthest;
}

}  // namespace

std::string Text(const Fault& fault) {
  const char* kinds[] = {"nothing",     "error",       "kill",         "cut",        "garbage",
                         "short",       "long",        "twice",        "replay",     "store: i/o",
                         "store: full", "store: done", "store: power", "store: held"};
  const std::string kind = kinds[static_cast<size_t>(fault.kind)];
  if (fault.kind >= Fault::Kind::kStoreIo)
    return fmt::format("{} at operation {} of party {}", kind, fault.number, fault.party);
  return fmt::format("{} at party {} {} party {}, frame {}", kind, fault.party,
                     fault.receives ? "receiving from" : "sending to", fault.peer, fault.number);
}

struct FaultRuns::Disk {
  explicit Disk(const std::string& name) : vfs(name), disk(name) {}
  privacy::ledger::LedgerOptions Options() const {
    return {kFile, std::chrono::milliseconds(30'000), vfs};
  }
  std::string vfs;
  CrashDisk disk;
  CrashDisk::Image start;
  size_t entries = 0;  // in the account of `start`
};

FaultRuns::FaultRuns(FaultStudy study)
    : study_(std::move(study)), names_(run::OnlineNames(*study_.study)) {
  const study::Plan plan = run::BuildPlan(*study_.study);
  planned_.resize(names_.size());
  for (const study::PlanPhase& phase : plan.phases) {
    order_.push_back(phase.name);
    for (uint64_t number = 0; number < 64; ++number) {
      const net::PhaseTag tag = net::MakePhaseTag(phase.name, number);
      phases_[Bytes(tag.begin(), tag.end())] = phase.name;
    }
    for (const study::PlanLink& link : phase.links) {
      const auto to = std::find(names_.begin(), names_.end(), link.to) - names_.begin();
      const auto from = std::find(names_.begin(), names_.end(), link.from) - names_.begin();
      if (static_cast<size_t>(from) < study_.study->num_computing)
        planned_[static_cast<size_t>(to)][phase.name] += link.messages;
    }
  }
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  local_facts_ = {study_.folder.string(), kMark, kFile};
  // Shorter ones occur in random bytes.
  if (std::strlen(host) >= 6) local_facts_.emplace_back(host);
  MakeLedgers();
  undisturbed_ = Run({});
}

FaultRuns::~FaultRuns() = default;

void FaultRuns::MakeLedgers() {
  static int number = 0;
  crypto::SystemRandom random;
  for (size_t i = 0; i < names_.size(); ++i) {
    disks_.push_back(std::make_unique<Disk>(fmt::format("fault-disk-{}", ++number)));
    Disk& disk = *disks_.back();
    SqliteLedger::Create(disk.Options());
    SqliteLedger ledger(disk.Options());
    if (study_.study->parties[i].holder) {
      privacy::ledger::Policy policy;
      policy.table = kTable;
      policy.outside.epsilon = "999";
      policy.outside.delta = "1e-2";
      policy.outside.approximate_delta = "1e-3";
      policy.outside.adjacency = privacy::Adjacency::kReplace;
      policy.insider = policy.outside;
      policy.exact = privacy::ledger::ExactRule::kAllowed;
      ledger.OpenAccount(policy, random, {"steward", 0});
      disk.entries = ledger.Entries(kTable).size();
    }
    disk.start = disk.disk.Save();
  }
}

std::string FaultRuns::PhaseOf(ByteView tag) const {
  const auto found = phases_.find(Bytes(tag.begin(), tag.end()));
  return found == phases_.end() ? "" : found->second;
}

bool FaultRuns::IsAfterOk(const std::string& phase) const {
  const auto ok = std::find(order_.begin(), order_.end(), mpc::kReleaseOkPhase);
  return ok != order_.end() && std::find(ok + 1, order_.end(), phase) != order_.end();
}

std::vector<RunEnd> FaultRuns::Run(const Fault& fault) { return RunAll(fault, true); }
std::vector<RunEnd> FaultRuns::GoOn() { return RunAll({}, false); }

std::vector<RunEnd> FaultRuns::RunAll(const Fault& fault, bool afresh) {
  const run::Study& study = *study_.study;
  crypto::SystemRandom system;
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(names_, system);
  std::vector<RunEnd> ends(names_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < names_.size(); ++i) {
    CrashDisk& disk = disks_[i]->disk;
    const fs::path state = study_.folder / (names_[i] + ".run"),
                   served = study_.folder / (names_[i] + ".row-sets");
    if (afresh) {
      disk.Load(disks_[i]->start);
      fs::remove_all(state);
      fs::remove(served);
    }
    const bool here = fault.party == i;
    using Kind = Fault::Kind;
    CrashDisk::Failure failure = CrashDisk::Failure::kNone;
    if (here && fault.kind == Kind::kStoreIo) failure = CrashDisk::Failure::kIo;
    if (here && fault.kind == Kind::kStoreFull) failure = CrashDisk::Failure::kNoSpace;
    if (here && fault.kind == Kind::kStoreDone) failure = CrashDisk::Failure::kIoDone;
    if (here && fault.kind == Kind::kStorePower) failure = CrashDisk::Failure::kPower;
    disk.FailAt(fault.number, failure);
    disk.HoldAt(here && fault.kind == Kind::kStoreHeld ? fault.number : 0);
    threads.emplace_back([&, i, state, served, inner = std::move(transports[i])]() mutable {
      crypto::SystemRandom random;
      SilentProgress progress;
      RunEnd& end = ends[i];
      const auto power_off = [&] { disk.FailAt(1, CrashDisk::Failure::kPower); };
      Traffic traffic;
      end.altered.resize(names_.size());
      auto altering = std::make_unique<net::FaultTransport>(
          std::move(inner), [&, i](size_t to, size_t, const Bytes& frame) -> std::vector<Bytes> {
            if (frame[6] == static_cast<uint8_t>(net::FrameType::kKeepAlive)) return {frame};
            const uint64_t number = end.altered[to]++;
            if (keeps_) earlier_[i][to].push_back(frame);
            const bool altered = IsAlteration(fault.kind) && fault.party == i && fault.peer == to &&
                                 fault.number == number;
            if (!altered) return {frame};
            return Altered(fault, frame, earlier_[i][to].at(number));
          });
      auto transport = std::make_unique<FaultyTransport>(
          std::move(altering), fault, study_.folder.string(), power_off, traffic);
      try {
        const std::unique_ptr<run::Approvals> approvals = run::UnsignedApprovals(random);
        run::RunLedger ledger(run::LedgerOptions{kFile, "", disks_[i]->vfs}, crypto::Identity{});
        run::PartyInput input;
        input.party = i;
        input.data = study_.folder / (names_[i] + ".csv");
        if (study_.own_folders) input.data = study_.folder / names_[i] / "data.csv";
        input.approvals = approvals.get();
        input.ledger = &ledger;
        input.row_sets = {served};
        if (study_.goes_on) input.state = state;
        if (study.file.engine.stored_correlations) {
          // Each run begins with all of its packages.
          input.correlations = study_.folder / (names_[i] + ".used");
          fs::copy_file(study_.folder / (names_[i] + ".store"), input.correlations,
                        fs::copy_options::overwrite_existing);
        }
        end.outcome = run::RunParty(
            study, input, [&](bool) { return std::move(transport); }, random, progress);
      } catch (const Error& error) {
        end.error = error;
      } catch (const std::exception& error) {
        end.error = Error(ErrorCode::kInternal, error.what());
      }
      end.store_operations = disk.operations();
      end.store_locks = disk.lock_requests();
      transport.reset();  // if it was never asked for
      for (size_t peer = 0; peer < names_.size(); ++peer) {
        end.frames_sent.push_back(traffic.sent[peer].size());
        end.frames_received.push_back(traffic.received[peer].size());
        for (const Seen& seen : traffic.sent[peer]) {
          if (seen.type == net::FrameType::kData && PhaseOf(seen.tag) == mpc::kReleaseOkPhase)
            ++end.oks_sent;
        }
        for (Seen& seen : traffic.received[peer]) {
          ReceivedFrame frame{peer, seen.complete && seen.type == net::FrameType::kData,
                              seen.type == net::FrameType::kAbort, PhaseOf(seen.tag),
                              std::move(seen.payload)};
          end.received.push_back(std::move(frame));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < names_.size(); ++i) {
    Disk& disk = *disks_[i];
    disk.disk.HoldAt(0);
    // Of what was not durable nothing is left, which is worst for the account.
    if (disk.disk.dead()) disk.disk.Crash(CrashDisk::Survivors::kNothing, 1);
    disk.disk.FailAt(0, CrashDisk::Failure::kNone);
    if (!study.parties[i].holder) continue;
    std::error_code none;
    const auto bytes = fs::file_size(study_.folder / (names_[i] + ".row-sets"), none);
    ends[i].served_bytes = none ? 0 : bytes;
    LedgerEnd& end = ends[i].ledger;
    end.kept = true;
    SqliteLedger ledger(disk.Options());
    const std::vector<privacy::ledger::Entry> entries = ledger.Entries(kTable);
    for (size_t k = disk.entries; k < entries.size(); ++k) {
      const std::string kind(privacy::ledger::EntryKind(entries[k].body));
      end.reserved += kind == "reserved" ? 1 : 0;
      end.spent += kind == "spent" ? 1 : 0;
      end.refunded += kind == "refunded" ? 1 : 0;
    }
  }
  return ends;
}

// Frames have a length, an order and a run. What follows the last one nobody reads.
bool FaultRuns::IsNoticed(const Fault& fault) const {
  using Kind = Fault::Kind;
  if (!IsAlteration(fault.kind) || fault.kind == Kind::kGarbage) return false;
  const bool last = fault.number + 1 == earlier_.at(fault.party).at(fault.peer).size();
  return fault.kind != Kind::kTwice || !last;
}

std::string FaultRuns::PhaseOf(const Fault& fault) const {
  const Bytes& frame = earlier_.at(fault.party).at(fault.peer).at(fault.number);
  return PhaseOf(ByteView(frame).subspan(24, 8));
}

bool FaultRuns::CouldOpen(size_t party, const RunEnd& end) const {
  const size_t computing = study_.study->num_computing;
  if (party >= computing) return false;
  std::map<std::string, uint64_t> received;
  for (const ReceivedFrame& frame : end.received) {
    // What a dealer sends depends on nothing and waits for nobody.
    if (frame.data && frame.from < computing) ++received[frame.phase];
  }
  const bool past_ok = std::any_of(received.begin(), received.end(),
                                   [&](const auto& phase) { return IsAfterOk(phase.first); });
  if (received[mpc::kReleaseOkPhase] + 1 == computing || past_ok) return true;
  bool learns = false;
  for (const mpc::Release& release : study_.study->releases) {
    learns =
        learns || release.to_party.value_or(party) == party || release.to_party == mpc::kEverybody;
  }
  for (const auto& [phase, messages] : planned_[party]) {
    // Hellos are not data.
    learns = learns && (phase == "hello" || phase == "finish" || received[phase] >= messages);
  }
  return learns;
}

std::vector<std::string> FaultRuns::Violations(const Fault& fault, const std::vector<RunEnd>& ends,
                                               bool went_on) const {
  std::vector<std::string> violations;
  const auto violation = [&](const std::string& what) {
    violations.push_back(fmt::format("{}: {}{}: {}", study_.name, Text(fault),
                                     went_on ? ", after going on" : "", what));
  };
  std::string opener;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (CouldOpen(i, ends[i])) opener = names_[i];
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    const LedgerEnd& ledger = ends[i].ledger;
    const std::string& name = names_[i];
    if (ledger.kept) {
      if (!opener.empty() && ledger.spent == 0)
        violation(fmt::format("{} could open, and the charge of {} is not spent", opener, name));
      if (ends[i].oks_sent > 0 && ledger.spent == 0)
        violation(fmt::format("{} said ok, and its charge is not spent", name));
      if (ends[i].outcome && ledger.spent == 0)
        violation(fmt::format("{} has a result that is not charged", name));
      if (!opener.empty() && ends[i].served_bytes < undisturbed_[i].served_bytes)
        violation(fmt::format("{} could open, and {} has no record of its rows", opener, name));
      if (ledger.reserved > (went_on ? 2u : 1u) || ledger.spent + ledger.refunded > ledger.reserved)
        violation(fmt::format("the entries of {} do not fit one run", name));
    }
    for (const ReceivedFrame& frame : ends[i].received) {
      for (const std::string& fact : local_facts_) {
        if (Contains(frame.payload, fact))
          violation(fmt::format("{} was told '{}' by {}", name, fact, names_[frame.from]));
      }
    }
    const bool stopped = i == fault.party && !IsAlteration(fault.kind);
    if (ends[i].error && ends[i].error->code() == ErrorCode::kInternal && !stopped)
      violation(fmt::format("{} ended with: {}", name, ends[i].error->message()));
    if (ends[i].outcome && i == fault.peer && IsNoticed(fault))
      violation(fmt::format("{} has a result", name));
    // What was opened before is not opened again.
    if (!ends[i].outcome || undisturbed_.empty() || went_on) continue;
    const run::PartyOutcome &got = *ends[i].outcome, &good = *undisturbed_[i].outcome;
    bool same = got.releases.size() == good.releases.size() &&
                (got.result == nullptr) == (good.result == nullptr);
    for (size_t k = 0; same && k < got.releases.size(); ++k)
      same = got.releases[k].opened == good.releases[k].opened;
    const double farthest = same && !study_.study->IsPrivate() ? FarthestApart(got, good) : 0;
    // Engines promise nothing of other shares.
    if (fault.kind == Fault::Kind::kGarbage) continue;
    if (!same || !(farthest <= kRounding)) {
      violation(fmt::format("{} ended with another result than an undisturbed run (by {:.2g})",
                            name, farthest));
    }
  }
  return violations;
}

std::vector<Fault> FaultRuns::EveryFault() {
  using Kind = Fault::Kind;
  std::string failed;
  for (size_t party = 0; party < undisturbed_.size(); ++party) {
    const RunEnd& end = undisturbed_[party];
    if (!end.outcome) failed += fmt::format("; {}: {}", names_[party], end.error->message());
  }
  if (!failed.empty()) throw Error(ErrorCode::kInternal, study_.name + failed);
  std::vector<Fault> faults;
  for (size_t party = 0; party < undisturbed_.size(); ++party) {
    const RunEnd& end = undisturbed_[party];
    for (size_t peer = 0; peer < undisturbed_.size(); ++peer) {
      for (uint64_t k = 0; k < end.frames_sent[peer]; ++k) {
        for (const Kind kind : {Kind::kError, Kind::kKill, Kind::kCut})
          faults.push_back({kind, party, peer, false, k});
      }
      for (uint64_t k = 0; k < end.frames_received[peer]; ++k) {
        for (const Kind kind : {Kind::kError, Kind::kKill})
          faults.push_back({kind, party, peer, true, k});
      }
    }
    for (uint64_t k = 1; k <= end.store_operations; ++k) {
      for (const Kind kind :
           {Kind::kStoreIo, Kind::kStoreFull, Kind::kStoreDone, Kind::kStorePower})
        faults.push_back({kind, party, 0, false, k});
    }
    for (uint64_t k = 1; k <= end.store_locks; ++k)
      faults.push_back({Kind::kStoreHeld, party, 0, false, k});
  }
  return faults;
}

std::vector<Fault> FaultRuns::EveryAlteration() {
  using Kind = Fault::Kind;
  earlier_.assign(names_.size(), std::vector<std::vector<Bytes>>(names_.size()));
  keeps_ = true;
  Run({});
  keeps_ = false;
  std::vector<Fault> faults;
  for (size_t from = 0; from < names_.size(); ++from) {
    for (size_t to = 0; to < names_.size(); ++to) {
      for (uint64_t k = 0; k < earlier_[from][to].size(); ++k) {
        const bool empty = earlier_[from][to][k].size() == net::kFrameHeaderBytes;
        for (const Kind kind :
             {Kind::kGarbage, Kind::kShort, Kind::kLong, Kind::kTwice, Kind::kReplay}) {
          const bool same = empty && (kind == Kind::kGarbage || kind == Kind::kShort);
          if (!same) faults.push_back({kind, from, to, false, k});
        }
      }
    }
  }
  return faults;
}

}  // namespace partita::testing
