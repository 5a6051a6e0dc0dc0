#include "sums/service/collect_sum.h"

#include "base/error.h"
#include "crypto/certificate.h"
#include "sums/protocol/sum_statement.h"
#include "sums/service/round_api.h"

namespace partita::sums {
namespace {

std::vector<Bytes> Values(const std::map<uint16_t, Bytes>& found) {
  std::vector<Bytes> values;
  for (const auto& [node, bytes] : found) values.push_back(bytes);
  return values;
}

Agreement AgreementOf(const std::vector<Bytes>& signed_closings, const CollectionFile& collection,
                      const NodeCertificates& certificates) {
  std::vector<Closing> closings;
  for (const Bytes& bytes : signed_closings) {
    closings.push_back(OpenClosing(bytes, certificates));
  }
  const Agreement agreement = RequireAgreement(closings, certificates.size());
  if (closings.front().study != collection.contract.study ||
      closings.front().epoch != collection.epoch) {
    throw Error(ErrorCode::kRefused, "the compute nodes closed another round");
  }
  return agreement;
}

}  // namespace

CollectedSum CollectSum(const CollectionFile& collection, const crypto::Identity& identity,
                        const std::optional<run::LedgerOptions>& ledger,
                        std::chrono::milliseconds patience, const RoundLog& log,
                        Progress& progress) {
  if (ledger) CheckRoundCharge(collection, *ledger);
  const Deadline deadline = Deadline::After(patience);
  const NodeCertificates certificates = CertificatesOf(collection);
  std::map<uint16_t, RoundClient> nodes;
  for (uint16_t k = 0; k < collection.contract.nodes; ++k) {
    nodes.emplace(k, RoundClient(collection, k, identity));
  }
  const Agreement agreement =
      AgreementOf(Values(GatherFrom(nodes, "closing", kMaxClosingBytes, deadline, log, progress)),
                  collection, certificates);
  CollectedSum collected;
  collected.statement = StateSum(collection.contract, agreement.count, collection.delta);
  if (ledger) {
    collected.charge = ChargeRound(collection, agreement, *ledger,
                                   "reader " + crypto::Describe(*identity.certificate).name);
  }
  const std::vector<Bytes> publications = Values(
      GatherFrom(nodes, "publication", MaxPublicationBytes(collection), deadline, log, progress));
  collected.sum = Aggregate(publications, collection.contract, certificates);
  if (collected.sum.agreement != agreement) {
    throw Error(ErrorCode::kRefused, "the compute nodes published another sum than they closed");
  }
  return collected;
}

}  // namespace partita::sums
