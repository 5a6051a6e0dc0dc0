#include "run/ahead/correlations.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "base/secret.h"
#include "crypto/hash.h"
#include "mpc/dealer_schedule.h"
#include "mpc/ot/ot_engine.h"
#include "net/hello.h"
#include "net/swap.h"
#include "run/approval/approvals.h"
#include "run/party/build_plan.h"
#include "run/party/finish.h"
#include "study/plan/hashes.h"

namespace partita::run {
namespace {

bool HasDealer(const Study& study) { return study.num_computing < study.parties.size(); }

const mpc::Capabilities& CapabilitiesOf(const Study& study) {
  return HasDealer(study) ? mpc::DealerCapabilities() : mpc::OtCapabilities();
}

std::string PrepareHint(const Study& study) {
  return fmt::format("prepare with all parties{}: partita correlations prepare {} --party NAME",
                     HasDealer(study) ? " and the dealer" : "", study.file.file_name);
}

mpc::CorrelationStore OpenStore(const Study& study, size_t party,
                                const std::vector<std::string>& fingerprints,
                                const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("party {} has no stored correlations: {} does not exist",
                            study.parties[party].name, file.string()),
                PrepareHint(study));
  }
  try {
    return mpc::CorrelationStore::Open(mpc::OpenStoreFile(file.string(), false),
                                       StoreIdentityOf(study, party, fingerprints));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", file.string(), error.message()), error.hint());
  }
}

uint64_t CountFor(const mpc::CorrelationStore& store, const crypto::Digest& label) {
  uint64_t count = 0;
  for (const mpc::PackageFacts& package : store.Packages()) count += package.label == label ? 1 : 0;
  return count;
}

struct Statement {
  uint64_t count = 0;
  bool has_store = false, held_packages = false;
  crypto::Digest generation{}, random{};
};

Bytes Encode(const Statement& statement) {
  ByteWriter writer;
  writer.U64(statement.count);
  writer.U64((statement.has_store ? 1 : 0) + (statement.held_packages ? 2 : 0));
  writer.Raw(statement.generation);
  writer.Raw(statement.random);
  return writer.Take();
}

Statement Decode(ByteView bytes) {
  ByteReader reader(bytes);
  Statement statement;
  statement.count = reader.U64();
  const uint64_t store = reader.U64();
  statement.has_store = (store & 1) != 0;
  statement.held_packages = (store & 2) != 0;
  for (crypto::Digest* digest : {&statement.generation, &statement.random}) {
    const ByteView raw = reader.Raw(digest->size());
    std::copy(raw.begin(), raw.end(), digest->begin());
  }
  return statement;
}

// To and from everybody else; the own one is in its place.
std::vector<Statement> SwapStatements(net::Channel& channel, const Statement& own) {
  std::vector<Statement> statements;
  for (const Bytes& one : net::Swap(channel, Encode(own))) statements.push_back(Decode(one));
  return statements;
}

// One preparation at one process, from the hello on.
class Preparation {
 public:
  Preparation(const Study& study, const PrepareInput& input, net::Channel& channel,
              crypto::RandomSource& random, Progress& progress, PrepareOutcome& outcome)
      : study_(study),
        input_(input),
        channel_(channel),
        random_(random),
        progress_(progress),
        outcome_(outcome),
        body_(ShapeBodyOf(study)),
        is_dealer_(input.party >= study.num_computing) {}

  // store: the party's, if it has one already.
  void Run(std::optional<mpc::CorrelationStore> store) {
    store_ = std::move(store);
    Agree();
    for (uint64_t i = 0; i < input_.count; ++i) {
      progress_.Phase("make correlations");
      progress_.Step(i, input_.count);
      channel_.BeginPhase(kMakePhase);
      Make();
    }
    ConfirmFinish(channel_);
  }

 private:
  void Agree() {
    progress_.Phase("agree");
    channel_.BeginPhase(kAgreePhase);
    Statement own{input_.count, store_.has_value(), store_ && store_->NextNumber() > 0, {}, {}};
    if (store_) own.generation = store_->identity().generation;
    random_.Fill(own.random);
    const std::vector<Statement> statements = SwapStatements(channel_, own);
    for (net::PartyIndex peer = 0; peer < statements.size(); ++peer) {
      if (statements[peer].count == input_.count) continue;
      throw Error(ErrorCode::kRefused,
                  fmt::format("party {} prepares for {} runs, this one for {}",
                              channel_.names()[peer], statements[peer].count, input_.count),
                  "say the same --count everywhere");
    }
    if (BeginAnew(statements)) {
      store_.reset();
    } else {
      RequireOneGeneration(statements);
    }
    if (is_dealer_) return;
    if (!store_) CreateStore(statements);
    label_ = DemandOf(study_);
    const mpc::AgreedPackages agreed =
        mpc::AgreeOnPackages(channel_, study_.num_computing, *store_, label_);
    outcome_.left = agreed.usable.size();
    outcome_.generation = ToHex(store_->identity().generation);
    next_number_ = agreed.next_number;
  }

  // Stores that never held a package, left by a preparation that was interrupted, are as good as
  // none, unless all of them were made together.
  bool BeginAnew(const std::vector<Statement>& statements) const {
    bool together = true;
    for (net::PartyIndex party = 0; party < study_.num_computing; ++party) {
      if (statements[party].held_packages) return false;
      together = together && statements[party].has_store &&
                 statements[party].generation == statements.front().generation;
    }
    return !together;
  }

  // Either nobody with data has a store yet, or all have one of the same generation.
  void RequireOneGeneration(const std::vector<Statement>& statements) const {
    const Statement& first = statements.front();
    for (net::PartyIndex party = 1; party < study_.num_computing; ++party) {
      const Statement& other = statements[party];
      if (other.has_store == first.has_store && other.generation == first.generation) continue;
      const auto has = [&](net::PartyIndex p) {
        return fmt::format("party {} {}", channel_.names()[p],
                           statements[p].has_store ? "has one" : "has none");
      };
      throw Error(ErrorCode::kRefused,
                  fmt::format("the stores of correlations were not made together: {}, {}{}", has(0),
                              has(party),
                              other.has_store == first.has_store ? " of another generation" : ""),
                  "begin anew together: every party that has a store runs partita correlations "
                  "discard FILE --remove");
    }
  }

  // The generation is a hash of a random number of each, so it is new whoever else repeats.
  void CreateStore(const std::vector<Statement>& statements) {
    mpc::StoreIdentity identity = StoreIdentityOf(study_, input_.party, input_.fingerprints);
    crypto::Sha256 hash;
    hash.Field("partita correlations generation");
    for (net::PartyIndex p = 0; p < study_.num_computing; ++p) hash.Field(statements[p].random);
    identity.generation = hash.Finish();
    std::filesystem::remove(input_.store);
    store_.emplace(mpc::CorrelationStore::Create(mpc::OpenStoreFile(input_.store.string(), true),
                                                 std::move(identity)));
  }

  void Make() {
    if (is_dealer_) {
      mpc::DealAhead<mpc::Ring128>(channel_, body_);
      return;
    }
    const mpc::AheadPackage package =
        HasDealer(study_) ? mpc::ReceiveFromDealer<mpc::Ring128>(channel_, body_)
                          : mpc::MakeByTransfers<mpc::Ring128>(channel_, random_, body_);
    if (mpc::LabelOf(package) != label_) {
      throw Error(ErrorCode::kInternal, "correlations were made for another demand");
    }
    Bytes bytes = mpc::EncodePackage(package);
    store_->Append(next_number_, label_, bytes);
    Wipe(bytes.data(), bytes.size());
    outcome_.package_bytes = bytes.size();
    outcome_.numbers.push_back(next_number_++);
    ++outcome_.left;
  }

  const Study& study_;
  const PrepareInput& input_;
  net::Channel& channel_;
  crypto::RandomSource& random_;
  Progress& progress_;
  PrepareOutcome& outcome_;
  mpc::ShapeBody body_;
  bool is_dealer_;
  std::optional<mpc::CorrelationStore> store_;
  crypto::Digest label_{};
  uint64_t next_number_ = 0;
};

net::HelloInput HelloOf(const Study& study, const std::vector<std::string>& fingerprints) {
  net::HelloInput hello;
  hello.study_hash = study::AgreementHash(StudyIdentityOf(study, fingerprints));
  crypto::Sha256 hash;
  hash.Field("partita preparation of correlations").Field(study::PlanHash(BuildPlan(study)));
  hello.plan_hash = hash.Finish();
  return hello;
}

}  // namespace

mpc::ShapeBody ShapeBodyOf(const Study& study) {
  return [&study](mpc::Engine& engine) {
    SilentProgress progress;
    study.Run(engine, {.disclosure = study.file.disclosure}, progress);
  };
}

crypto::Digest DemandOf(const Study& study) {
  return mpc::LabelOf(CapabilitiesOf(study), study.num_computing, kRingBits, ShapeBodyOf(study));
}

std::unique_ptr<mpc::CostModel> StoredCostModel(const Study& study) {
  if (!HasDealer(study)) return mpc::MakeOtCostModel(study.num_computing, kRingBits, true);
  mpc::DealerOptions options;
  options.dealt_ahead = true;
  return mpc::MakeDealerCostModel(study.num_computing, kRingBits, options);
}

mpc::StoreIdentity StoreIdentityOf(const Study& study, size_t party,
                                   const std::vector<std::string>& fingerprints) {
  mpc::StoreIdentity identity;
  identity.fingerprints = fingerprints;
  identity.self = party;
  identity.study = study.file.name;
  identity.study_hash = crypto::Sha256Of(AsBytes(study.file.text));
  return identity;
}

StoredCorrelations::StoredCorrelations(const Study& study, size_t party,
                                       const std::vector<std::string>& fingerprints,
                                       const std::filesystem::path& file)
    : engine_(study.file.engine.name),
      party_(study.parties[party].name),
      label_(DemandOf(study)),
      store_(OpenStore(study, party, fingerprints, file)) {
  if (left() > 0) return;
  throw Error(
      ErrorCode::kRefused,
      fmt::format("the stored correlations of party {} in {} are used up{}", party_, file.string(),
                  store_.Packages().empty() ? "" : ", but for some of another demand"),
      PrepareHint(study));
}

uint64_t StoredCorrelations::left() const { return CountFor(store_, label_); }

void StoredCorrelations::Agree(net::Channel& channel) {
  channel.BeginPhase(kCorrelationsPhase);
  const uint64_t had = left();
  const mpc::AgreedPackages agreed =
      mpc::AgreeOnPackages(channel, channel.num_parties(), store_, label_);
  if (agreed.usable.empty()) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the parties have no stored correlations in common that are unspent at "
                            "all of them; party {} had {}, of which {} are spent at another party",
                            party_, had, had - left()),
                "prepare new ones together: partita correlations prepare; never bring a file of "
                "correlations back from a backup");
  }
  number_ = agreed.usable.front();
}

std::unique_ptr<mpc::Engine> StoredCorrelations::MakeEngine(net::Channel& channel,
                                                            mpc::ReleaseGate& gate) {
  channel.BeginPhase(kSpendPhase);
  Bytes bytes = mpc::TakeTogether(channel, channel.num_parties(), store_, number_, label_);
  mpc::AheadPackage package = mpc::DecodePackage(bytes);
  Wipe(bytes.data(), bytes.size());
  return engine_ == "ot" ? mpc::MakeOtEngineAhead(channel, gate, std::move(package))
                         : mpc::MakeDealerEngineAhead(channel, gate, std::move(package));
}

PrepareOutcome PrepareCorrelations(const Study& study, const PrepareInput& input,
                                   const PrepareConnector& connect, crypto::RandomSource& random,
                                   Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  if (!study.file.engine.stored_correlations) {
    throw Error(ErrorCode::kUsage,
                fmt::format("study '{}' does not use stored correlations", study.file.name),
                "write correlations = \"stored\" in [engine] before it is approved");
  }
  if (input.count == 0 || input.count > kMaxPackagesAtOnce) {
    throw Error(ErrorCode::kUsage,
                fmt::format("correlations can be prepared for 1 to {} runs at once, not for {}",
                            kMaxPackagesAtOnce, input.count),
                "say another --count");
  }
  PrepareOutcome outcome;
  outcome.party = study.parties[input.party].name;
  std::optional<mpc::CorrelationStore> store;
  if (input.party < study.num_computing && std::filesystem::exists(input.store)) {
    store = OpenStore(study, input.party, input.fingerprints, input.store);
  }
  progress.Phase("connect");
  std::unique_ptr<net::Transport> transport = connect();
  const std::chrono::milliseconds timeout(
      static_cast<int64_t>(study.file.network.timeout_seconds * 1000));
  const net::Session session = net::SayHello(*transport, HelloOf(study, input.fingerprints), random,
                                             Deadline::After(timeout), &progress);
  outcome.run_id = ToHex(session.run_id);
  net::Channel channel(std::move(transport), session);
  channel.SetTimeout(timeout);
  channel.SetProgress(&progress);
  try {
    Preparation(study, input, channel, random, progress, outcome).Run(std::move(store));
  } catch (const Error& error) {
    channel.Abort(error);
    throw;
  } catch (const std::bad_alloc&) {
    channel.Abort(OutOfMemory("make correlations"));
    throw OutOfMemory("make correlations");
  } catch (const std::exception& error) {
    channel.Abort(Error(ErrorCode::kInternal, error.what()));
    throw Error(ErrorCode::kInternal, error.what(), "please report this");
  }
  outcome.traffic = channel.traffic();
  outcome.seconds = SecondsSince(start);
  return outcome;
}

}  // namespace partita::run
