#include "sums/protocol/upload.h"

#include <algorithm>

#include "base/error.h"
#include "crypto/box.h"

namespace partita::sums {
namespace {

constexpr std::array<uint8_t, 4> kMagic = {'P', 'D', 'U', '1'};
static_assert(kPrefixBytes == kMagic.size() + 1 + kHeaderBytes);

template <size_t kSize>
std::array<uint8_t, kSize> Take(ByteReader& reader) {
  std::array<uint8_t, kSize> out{};
  const ByteView raw = reader.Raw(kSize);
  std::copy(raw.begin(), raw.end(), out.begin());
  return out;
}

void Write(ByteWriter& writer, const UploadHeader& header) {
  writer.Raw(header.study);
  writer.Raw(header.client);
  writer.U64(header.epoch);
  writer.U16(header.node);
  writer.Raw(header.upload);
}

UploadHeader ReadHeader(ByteReader& reader) {
  UploadHeader header;
  header.study = Take<32>(reader);
  header.client = Take<16>(reader);
  header.epoch = reader.U64();
  header.node = reader.U16();
  header.upload = Take<32>(reader);
  return header;
}

[[noreturn]] void Malformed(const char* what) { throw Error(ErrorCode::kPeerFault, what); }

}  // namespace

// By hand, for it is made for every upload and node.
std::array<uint8_t, kPrefixBytes> AssociatedData(UploadMode mode, const UploadHeader& header) {
  std::array<uint8_t, kPrefixBytes> prefix{};
  auto at = std::ranges::copy(kMagic, prefix.begin()).out;
  *at++ = static_cast<uint8_t>(mode);
  at = std::ranges::copy(header.study, at).out;
  at = std::ranges::copy(header.client, at).out;
  for (int i = 0; i < 8; ++i) *at++ = static_cast<uint8_t>(header.epoch >> (8 * i));
  for (int i = 0; i < 2; ++i) *at++ = static_cast<uint8_t>(header.node >> (8 * i));
  std::ranges::copy(header.upload, at);
  return prefix;
}

Bytes EncodeEnvelopeWithout(UploadMode mode, const UploadHeader& header, size_t body_bytes) {
  Bytes bytes(kBodyOffset + body_bytes);
  auto at = std::ranges::copy(AssociatedData(mode, header), bytes.begin()).out;
  for (int i = 0; i < 4; ++i) *at++ = static_cast<uint8_t>(body_bytes >> (8 * i));
  return bytes;
}

Bytes EncodeEnvelope(const Envelope& envelope) {
  Bytes bytes = EncodeEnvelopeWithout(envelope.mode, envelope.header, envelope.body.size());
  std::ranges::copy(envelope.body, bytes.begin() + kBodyOffset);
  return bytes;
}

Envelope ParseEnvelope(ByteView bytes) {
  ByteReader reader(bytes);
  if (!std::ranges::equal(reader.Raw(kMagic.size()), kMagic)) Malformed("this is not an upload");
  Envelope envelope;
  const uint8_t mode = reader.U8();
  if (mode > static_cast<uint8_t>(UploadMode::kRegistered)) Malformed("an upload of unknown mode");
  envelope.mode = static_cast<UploadMode>(mode);
  envelope.header = ReadHeader(reader);
  envelope.body = reader.Raw(reader.U32());
  reader.ExpectEnd();
  return envelope;
}

size_t ContentBytes(const Contract& contract, uint16_t node) {
  return node == 0 ? contract.dimension * WordBytes(contract) : kSeedBytes;
}

size_t BodyBytes(const Contract& contract, UploadMode mode, uint16_t node) {
  const size_t content = ContentBytes(contract, node);
  if (mode == UploadMode::kRegistered) return content + crypto::kAeadBytes;
  return crypto::kSealBytes + kHeaderBytes + kCommitmentBytes * contract.nodes + kOpeningBytes +
         content;
}

size_t EnvelopeBytes(const Contract& contract, UploadMode mode, uint16_t node) {
  return kBodyOffset + BodyBytes(contract, mode, node);
}

size_t MaxEnvelopeBytes(const Contract& contract, uint16_t node) {
  return std::max(EnvelopeBytes(contract, UploadMode::kSealed, node),
                  EnvelopeBytes(contract, UploadMode::kRegistered, node));
}

Bytes EncodeSealedContent(const SealedContent& sealed) {
  ByteWriter writer;
  Write(writer, sealed.header);
  for (const crypto::Digest& commitment : sealed.commitments) writer.Raw(commitment);
  writer.Raw(sealed.opening);
  writer.Raw(sealed.content);
  return writer.Take();
}

SealedContent ParseSealedContent(ByteView bytes, const Contract& contract, uint16_t node) {
  ByteReader reader(bytes);
  SealedContent sealed;
  sealed.header = ReadHeader(reader);
  sealed.commitments.reserve(contract.nodes);
  for (uint16_t i = 0; i < contract.nodes; ++i) {
    sealed.commitments.push_back(Take<kCommitmentBytes>(reader));
  }
  sealed.opening = Take<kOpeningBytes>(reader);
  sealed.content = reader.Raw(ContentBytes(contract, node));
  reader.ExpectEnd();
  return sealed;
}

crypto::Digest Commit(const std::array<uint8_t, 32>& opening, ByteView content) {
  return crypto::Sha256().Update(opening).Update(content).Finish();
}

UploadId SealedUploadId(const UploadHeader& header, std::span<const crypto::Digest> commitments) {
  crypto::Sha256 hash;
  hash.Field("partita dca upload").Update(header.study).Update(header.client).U64(header.epoch);
  hash.U64(commitments.size());
  for (const crypto::Digest& commitment : commitments) hash.Update(commitment);
  return hash.Finish();
}

}  // namespace partita::sums
