#include "sums/protocol/compute_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "sums/protocol/node_secrets.h"
#include "sums/protocol/sum_worker.h"
#include "sums/spool/spool_sum.h"

namespace partita::sums {
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

std::optional<AcceptedSet> ComputeNode::Recorded() {
  const std::optional<Bytes> sealed = spool_.closing();
  if (!sealed) return std::nullopt;
  return OpenSealedSet(settings_.round, *sealed);
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
  // After the publication the shares may be gone (docs/private-sums-operations.md).
  const bool published = spool_.publication().has_value();
  if (!SortedByClient(agreed) ||
      (!published && !std::ranges::includes(spool_.Accepted(), agreed))) {
    throw Error(ErrorCode::kRefused, "the agreed set names uploads that this node does not have");
  }
  spool_.RecordClosing(SealSet(settings_.round, agreed));
  closed_ = CloseWith(agreed);
  return SignClosing(closed_->closing, settings_.identity);
}

Agreement ComputeNode::CheckClosings(std::span<const Bytes> signed_closings) {
  std::vector<Closing> closings;
  for (const Bytes& bytes : signed_closings) {
    closings.push_back(OpenClosing(bytes, settings_.certificates));
  }
  const Agreement agreement = RequireAgreement(closings, settings_.round.contract.nodes);
  if (std::ranges::find(closings, OwnClosed().closing) == closings.end()) {
    throw Error(ErrorCode::kRefused, "the other compute nodes closed the round with another set",
                "Nothing is opened. Find out which clients one of them lacks.");
  }
  agreement_ = agreement;
  return agreement;
}

std::optional<Agreement> ComputeNode::Published() {
  const std::optional<AcceptedSet> agreed = Recorded();
  const std::optional<Bytes> stored = spool_.publication();
  if (!agreed || !stored) return std::nullopt;
  const Publication publication = OpenStored(*stored, *agreed);
  agreement_ = Agreement{publication.closing.count, publication.agreement};
  return agreement_;
}

Bytes ComputeNode::Publish(std::span<const Bytes> signed_closings) {
  std::optional<Bytes> stored = spool_.publication();
  if (!stored) {
    CheckClosings(signed_closings);
    MaskedSum sum = MaskedSum::Of(settings_.round.contract);
    sum.AddWords(CommittedSum().words());
    if (settings_.round.contract.noise_source == NoiseSource::kNodes) {
      AddOwnNoise(settings_.round, closed_->closing.set_hash, sum);
    }
    const ByteView words = sum.words();
    stored = SignPublication({closed_->closing, agreement_->hash, {words.begin(), words.end()}},
                             settings_.identity);
  }
  // Recorded again: what was read may not yet be where it survives the loss of the store's server.
  // Of several processes of this node, the first one's is kept.
  Bytes recorded = spool_.RecordPublication(*stored);
  const Closing& own = OwnClosed().closing;
  const Publication publication = OpenStored(recorded, RecordedSet());
  if (publication.closing != own || (agreement_ && publication.agreement != agreement_->hash)) {
    throw Error(ErrorCode::kRefused,
                "the upload store holds a publication of another sum, or for other closings",
                "A round is opened once. Find out who wrote to the store.");
  }
  closed_->sum.reset();
  return recorded;
}

AcceptedSet ComputeNode::RecordedSet() {
  std::optional<AcceptedSet> recorded = Recorded();
  if (!recorded) {
    throw Error(ErrorCode::kRefused, "a round that is not closed cannot be opened",
                "Agree on the accepted set first.");
  }
  return std::move(*recorded);
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

Closing ComputeNode::ClosingOf(const AcceptedSet& agreed) const {
  const NodeRound& round = settings_.round;
  Closing closing;
  closing.study = round.contract.study;
  closing.epoch = round.epoch;
  closing.node = round.node;
  closing.count = static_cast<uint32_t>(agreed.size());
  closing.set_hash = SetHash(round.contract.study, round.epoch, agreed);
  return closing;
}

ComputeNode::Closed ComputeNode::CloseWith(const AcceptedSet& agreed) {
  if (const std::optional<Bytes> stored = spool_.publication()) {
    return {OpenStored(*stored, agreed).closing, std::nullopt};
  }
  Closed closed{ClosingOf(agreed), Sum(agreed)};
  closed.closing.commitment =
      CommitToSum(settings_.round, closed.closing.set_hash, closed.sum->words());
  return closed;
}

const ComputeNode::Closed& ComputeNode::OwnClosed() {
  if (!closed_) closed_ = CloseWith(RecordedSet());
  return *closed_;
}

// Of what OwnClosed says.
const MaskedSum& ComputeNode::CommittedSum() {
  if (!closed_->sum) {
    const AcceptedSet agreed = RecordedSet();
    MaskedSum sum = Sum(agreed);
    const crypto::Digest set_hash = ClosingOf(agreed).set_hash;
    if (CommitToSum(settings_.round, set_hash, sum.words()) != closed_->closing.commitment) {
      throw Error(ErrorCode::kBadInput,
                  "the upload store does not hold what this compute node closed the round with",
                  "Nothing is opened. Find out who wrote to the store.");
    }
    closed_->sum = std::move(sum);
  }
  return *closed_->sum;
}

Publication ComputeNode::OpenStored(ByteView publication, const AcceptedSet& agreed) const {
  Closing expected = ClosingOf(agreed);
  try {
    Publication opened =
        OpenPublication(publication, settings_.round.contract, settings_.certificates);
    expected.commitment = opened.closing.commitment;
    if (opened.closing == expected) return opened;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerFault && error.code() != ErrorCode::kUntrusted) throw;
  }
  throw Error(ErrorCode::kBadInput,
              "the publication in the upload store is not this compute node's for the agreed set",
              "Nothing is opened. Find out who wrote to the store.");
}

}  // namespace partita::sums
