#include "methods/dca/compute_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/dca/noise_share.h"
#include "methods/dca/spool_sum.h"
#include "methods/dca/sum_worker.h"

namespace partita::methods::dca {
namespace {

Verdict OfPut(PutResult result) {
  switch (result) {
    case PutResult::kStored:
      return Verdict::kAccepted;
    case PutResult::kIdentical:
      return Verdict::kRetried;
    case PutResult::kDifferent:
      return Verdict::kDuplicate;
    case PutResult::kFrozen:
      return Verdict::kLate;
  }
  throw Error(ErrorCode::kInternal, "a spool gave an unknown result");
}

bool SortedByClient(const AcceptedSet& set) {
  return std::ranges::adjacent_find(set, [](const AcceptedUpload& a, const AcceptedUpload& b) {
           return a.client >= b.client;
         }) == set.end();
}

}  // namespace

ComputeNode::ComputeNode(NodeSettings settings, const ClientDirectory& clients, Spool& spool,
                         crypto::RandomSource& random)
    : settings_(std::move(settings)),
      clients_(clients),
      spool_(spool),
      random_(random),
      store_key_(StoreKey(settings_.round)) {
  CheckContract(settings_.round.contract);
  if (settings_.round.node >= settings_.round.contract.nodes ||
      settings_.certificates.size() != settings_.round.contract.nodes || settings_.threads == 0) {
    throw Error(ErrorCode::kUsage, "the settings of a compute node do not fit its study");
  }
}

std::vector<Verdict> ComputeNode::Accept(std::span<const ByteView> uploads) {
  std::vector<Verdict> verdicts;
  std::vector<StoredShare> shares;
  std::vector<size_t> positions;  // of the shares among the uploads
  verdicts.reserve(uploads.size());
  for (const ByteView bytes : uploads) {
    const OpenedUpload upload = OpenUpload(bytes, settings_.round, clients_);
    if (upload.verdict == Verdict::kAccepted) {
      positions.push_back(verdicts.size());
      const AcceptedUpload accepted{upload.header.client, upload.header.upload};
      shares.push_back({accepted.client, accepted.upload, crypto::Sha256Of(bytes),
                        EncryptShare(store_key_, accepted, upload.content, random_)});
    }
    verdicts.push_back(upload.verdict);
  }
  if (!shares.empty()) {
    const std::vector<PutResult> results = spool_.Put(shares);
    for (size_t i = 0; i < results.size(); ++i) verdicts[positions[i]] = OfPut(results[i]);
  }
  for (const Verdict verdict : verdicts) ++counts_[static_cast<size_t>(verdict)];
  return verdicts;
}

AcceptedSet ComputeNode::Freeze() {
  spool_.Freeze();
  return spool_.Accepted();
}

Bytes ComputeNode::Agree(const AcceptedSet& agreed) {
  if (!spool_.frozen()) {
    throw Error(ErrorCode::kRefused, "a round that still takes uploads cannot be closed",
                "Freeze it first.");
  }
  const uint32_t least = MinAccepted(settings_.round.contract);
  if (agreed.size() < least) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} uploads are too few: the noise is sized for at least {}",
                            agreed.size(), least),
                "Nothing is opened. Start a new epoch with more clients, or plan with more that "
                "drop out.");
  }
  if (!SortedByClient(agreed) || !std::ranges::includes(spool_.Accepted(), agreed)) {
    throw Error(ErrorCode::kRefused, "the agreed set names uploads that this node does not have");
  }
  spool_.RecordClosing(EncodeSet(agreed));
  return SignClosing(OwnClosing(agreed), settings_.identity);
}

void ComputeNode::CheckClosings(std::span<const Bytes> signed_closings) {
  std::vector<Closing> closings;
  for (const Bytes& bytes : signed_closings) {
    closings.push_back(OpenClosing(bytes, settings_.certificates));
  }
  RequireAgreement(closings, settings_.round.contract.nodes);
  if (std::ranges::find(closings, OwnClosing(RecordedSet())) == closings.end()) {
    throw Error(ErrorCode::kRefused, "the other compute nodes closed the round with another set",
                "Nothing is opened. Find out which clients one of them lacks.");
  }
}

Bytes ComputeNode::Publish(std::span<const Bytes> signed_closings) {
  // Recorded again: what was read may not yet be where it survives the loss of the store's server.
  if (const std::optional<Bytes> earlier = spool_.publication()) {
    return spool_.RecordPublication(*earlier);
  }
  CheckClosings(signed_closings);
  const AcceptedSet agreed = RecordedSet();
  const Contract& contract = settings_.round.contract;
  MaskedSum sum = Sum(agreed);
  if (contract.noise_source == NoiseSource::kNodes) {
    std::vector<Int128> noise(contract.dimension);
    NoiseShare(contract).Sample(random_, noise);
    sum.AddIntegers(noise);
  }
  const ByteView words = sum.words();
  return spool_.RecordPublication(
      SignPublication({OwnClosing(agreed), Bytes(words.begin(), words.end())}, settings_.identity));
}

MaskedSum ComputeNode::Sum(const AcceptedSet& agreed) {
  const NodeRound& round = settings_.round;
  if (spool_.chunks() == nullptr) {
    return SumShares(spool_, store_key_, round.contract, round.node, agreed, settings_.threads);
  }
  WorkerSettings worker;
  worker.name = settings_.name;
  worker.threads = settings_.threads;
  return SumWithWorkers(spool_, round, agreed, worker, random_);
}

Closing ComputeNode::OwnClosing(const AcceptedSet& agreed) const {
  const NodeRound& round = settings_.round;
  return {round.contract.study, round.epoch, round.node, static_cast<uint32_t>(agreed.size()),
          SetHash(round.contract.study, round.epoch, agreed)};
}

AcceptedSet ComputeNode::RecordedSet() {
  const std::optional<Bytes> closing = spool_.closing();
  if (!closing) {
    throw Error(ErrorCode::kRefused, "a round that is not closed cannot be opened",
                "Agree on the accepted set first.");
  }
  return ParseSet(*closing);
}

}  // namespace partita::methods::dca
