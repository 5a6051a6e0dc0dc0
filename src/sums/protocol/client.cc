#include "sums/protocol/client.h"

#include <fmt/format.h>

#include "base/error.h"
#include "privacy/sampling/clipping.h"

namespace partita::sums {
namespace {

ByteView Content(const Shares& shares, uint16_t node) {
  if (node == 0) return shares.masked.words();
  return shares.seeds[node - 1U].Expose();
}

void CheckKeyCount(const Contract& contract, size_t count) {
  if (count != contract.nodes) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} keys for {} compute nodes", count, contract.nodes));
  }
}

}  // namespace

Splitter::Splitter(const Contract& contract)
    : contract_(contract), row_(contract.dimension), noise_row_(contract.dimension) {
  CheckContract(contract);
  if (contract.noise_source == NoiseSource::kClients) {
    noise_ = std::make_shared<const NoiseShare>(contract);
  }
}

Shares Splitter::MakeShares() const {
  return {MaskedSum::Of(contract_), std::vector<crypto::Key>(contract_.nodes - 1U)};
}

void Splitter::Split(std::span<const double> row, crypto::RandomSource& random, Shares& shares) {
  privacy::ClipToGrid(row, contract_.clip, row_);
  shares.masked.Clear();
  shares.masked.AddIntegers(row_);
  if (noise_) {
    noise_->Sample(random, noise_row_);
    shares.masked.AddIntegers(noise_row_);
  }
  for (crypto::Key& seed : shares.seeds) seed = crypto::RandomKey(random);
  shares.masked.SubtractStreams(shares.seeds);
}

crypto::Key RegisteredKey(const crypto::BoxKeyPair& own, const crypto::BoxPublicKey& peer,
                          const StudyHash& study, const ClientId& client, uint16_t node) {
  ByteWriter context;
  context.Raw(study);
  context.Raw(client);
  context.U16(node);
  return crypto::PairKey(own, peer, "partita dca client and node", context.bytes());
}

crypto::Key EpochKey(const crypto::Key& registered, uint64_t epoch) {
  return crypto::NumberedKey(registered, epoch, "dcaepoch");
}

std::vector<Bytes> RegisteredUpload(const Contract& contract, const ClientId& client,
                                    uint64_t epoch, const Shares& shares,
                                    std::span<const crypto::Key> registered_keys,
                                    crypto::RandomSource& random) {
  CheckKeyCount(contract, registered_keys.size());
  UploadHeader header{contract.study, client, epoch, 0, {}};
  random.Fill(header.upload);
  std::vector<Bytes> envelopes;
  envelopes.reserve(contract.nodes);
  for (uint16_t node = 0; node < contract.nodes; ++node) {
    header.node = node;
    const ByteView content = Content(shares, node);
    Bytes& envelope = envelopes.emplace_back(EncodeEnvelopeWithout(
        UploadMode::kRegistered, header, content.size() + crypto::kAeadBytes));
    crypto::EncryptInto(std::span(envelope).subspan(kBodyOffset),
                        EpochKey(registered_keys[node], epoch), content,
                        ByteView(envelope).first(kPrefixBytes), random);
  }
  return envelopes;
}

std::vector<Bytes> SealedUpload(const Contract& contract, const ClientId& client, uint64_t epoch,
                                const Shares& shares, const NodeKeys& nodes,
                                crypto::RandomSource& random) {
  CheckKeyCount(contract, nodes.size());
  SealedContent sealed;
  sealed.header = {contract.study, client, epoch, 0, {}};
  std::vector<std::array<uint8_t, kOpeningBytes>> openings(contract.nodes);
  for (uint16_t node = 0; node < contract.nodes; ++node) {
    random.Fill(openings[node]);
    sealed.commitments.push_back(Commit(openings[node], Content(shares, node)));
  }
  sealed.header.upload = SealedUploadId(sealed.header, sealed.commitments);
  std::vector<Bytes> envelopes;
  envelopes.reserve(contract.nodes);
  for (uint16_t node = 0; node < contract.nodes; ++node) {
    sealed.header.node = node;
    sealed.opening = openings[node];
    sealed.content = Content(shares, node);
    const Bytes body = crypto::Seal(EncodeSealedContent(sealed), nodes[node]);
    envelopes.push_back(EncodeEnvelope({UploadMode::kSealed, sealed.header, body}));
  }
  return envelopes;
}

}  // namespace partita::sums
