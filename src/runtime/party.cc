#include "runtime/party.h"

#include <fmt/format.h>

#include "mpc/dealer_engine.h"
#include "mpc/replicated_engine.h"
#include "net/channel.h"
#include "net/frame.h"
#include "net/hello.h"
#include "runtime/build_plan.h"
#include "runtime/local_data.h"
#include "study/hashes.h"

namespace partita::runtime {
namespace {

// A study is started anew after a failure; nothing is resumed.
constexpr uint32_t kAttempt = 1;

std::unique_ptr<mpc::Engine> MakeEngine(const MleStudy& study, net::Channel& channel,
                                        mpc::ReleaseGate& gate) {
  if (study.file.engine.name == "replicated") return mpc::MakeReplicatedEngine(channel, gate);
  return mpc::MakeDealerEngine(channel, gate);
}

study::StudyIdentity Identity(const MleStudy& study, const std::vector<std::string>& fingerprints) {
  study::StudyIdentity identity;
  identity.wire_version = net::kWireVersion;
  identity.method = methods::mle::kMethodName;
  identity.method_version = methods::mle::kMethodVersion;
  identity.study_text = study.file.text;
  for (size_t i = 0; i < study.parties.size(); ++i) {
    study::PartyIdentity party;
    party.name = study.parties[i].name;
    if (study.parties[i].holder) {
      party.schema = data::SchemaDigest(
          data::SchemaForParty(study.file.dictionary, study.partition, i, study.row_columns));
    }
    party.fingerprint = fingerprints.empty() ? "" : fingerprints[i];
    identity.parties.push_back(std::move(party));
  }
  return identity;
}

// Everybody tells everybody that it is done, so that a connection is closed only when nothing is
// under way on it, and every party knows whether the study ended well.
void ConfirmFinish(net::Channel& channel) {
  channel.BeginPhase("finish");
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (net::PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == channel.self()) continue;
    sends.push_back({.to = peer, .bytes = {}, .size = 0, .producer = {}});
    receives.push_back(
        {.from = peer, .into = {}, .size = 0, .consumer = {}, .body = nullptr, .max_bytes = 0});
  }
  channel.Exchange(sends, receives);
}

}  // namespace

PartyOutcome RunParty(const MleStudy& study, const PartyInput& input, const Connector& connect,
                      crypto::RandomSource& random, Progress& progress) {
  const SteadyClock::time_point start = SteadyClock::now();
  PartyOutcome outcome;
  outcome.party = study.parties[input.party].name;
  outcome.plan = BuildPlan(study);
  const study::StudyIdentity identity = Identity(study, input.fingerprints);
  const study::Digest file_hash = study::StudyFileHash(identity);
  const study::Digest plan_hash = study::PlanHash(outcome.plan);
  outcome.study_file_hash = ToHex(file_hash);
  outcome.plan_hash = ToHex(plan_hash);

  // A table that fails its checks is reported to the peers after the hello, so that nobody waits
  // for this party.
  LocalData local;
  local.row_order.resize(study.shared_blocks.size());
  std::optional<Error> data_error;
  if (study.parties[input.party].holder) {
    progress.Phase("read data");
    try {
      local = LoadLocalData(study, input.party, input.data, random);
    } catch (const Error& error) {
      data_error = error;
    }
    outcome.local_steps = {{"read data", local.seconds_read}, {"sort rows", local.seconds_order}};
  }

  progress.Phase("connect");
  const SteadyClock::time_point connect_start = SteadyClock::now();
  std::unique_ptr<net::Transport> transport;
  try {
    transport = connect();
  } catch (const Error&) {
    if (data_error) throw *data_error;
    throw;
  }
  const auto timeout =
      std::chrono::milliseconds(static_cast<int64_t>(study.file.network.timeout_seconds * 1000));
  outcome.local_steps.push_back({"connect", SecondsSince(connect_start)});
  const net::Session session =
      net::SayHello(*transport, {file_hash, plan_hash, local.snapshot.commitment, kAttempt}, random,
                    Deadline::After(timeout), &progress);
  net::Channel channel(std::move(transport), session);
  channel.SetTimeout(timeout);
  channel.SetProgress(&progress);
  outcome.study_hash = ToHex(study::StudyHash(identity, session.commitments));
  outcome.run_id = ToHex(session.run_id);

  try {
    if (data_error) throw *data_error;
    mpc::CountingReleaseGate gate;
    gate.Reserve(study.releases);
    if (!study.shared_blocks.empty()) {
      progress.Phase("row order");
      channel.BeginPhase("row-order");
      match::CompareRowOrder(channel, study.shared_blocks, local.row_order, PartyNames(study),
                             random);
    }
    progress.Phase("moments");
    const std::unique_ptr<mpc::Engine> engine = MakeEngine(study, channel, gate);
    const std::vector<methods::mle::IntegerMoments> moments =
        methods::mle::PooledMoments(*engine, study.task, local.blocks);
    gate.Finish();
    ConfirmFinish(channel);
    outcome.releases = gate.counts();
    outcome.traffic = channel.traffic();
    if (input.party == study.receiver) {
      progress.Phase("fit");
      const SteadyClock::time_point fit_start = SteadyClock::now();
      outcome.result =
          methods::mle::FitMoments(study.analysis, moments, study.task.fraction_bits, progress);
      outcome.local_steps.push_back({"fit", SecondsSince(fit_start)});
    }
  } catch (const Error& error) {
    // What went wrong with a table, its place included, is its owner's business.
    channel.Abort(data_error ? Error(ErrorCode::kBadData, "") : error);
    throw;
  } catch (const std::exception& error) {
    channel.Abort(Error(ErrorCode::kInternal, "an internal error"));
    throw Error(ErrorCode::kInternal, error.what(), "please report this");
  }
  outcome.seconds = SecondsSince(start);
  return outcome;
}

}  // namespace partita::runtime
