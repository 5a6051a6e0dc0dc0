#include "sums/protocol/node_secrets.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "sums/protocol/noise_share.h"

namespace partita::sums {
namespace {

void WriteWide(ByteWriter& writer, UInt128 value) {
  writer.U64(static_cast<uint64_t>(value));
  writer.U64(static_cast<uint64_t>(value >> 64));
}

// Every number of the contract, so that nothing derived for one serves another, whatever the
// study's hash covers.
Bytes ContractBytes(const Contract& contract) {
  ByteWriter writer;
  writer.Raw(contract.study);
  writer.U64(contract.dimension);
  writer.U8(static_cast<uint8_t>(contract.ring));
  writer.U16(contract.nodes);
  writer.U32(contract.clients);
  writer.U32(contract.max_drop);
  writer.U32(contract.max_collude);
  writer.U8(static_cast<uint8_t>(contract.clip.norm));
  writer.F64(contract.clip.bound);
  writer.U32(static_cast<uint32_t>(contract.clip.fraction_bits));
  WriteWide(writer, contract.variance.numerator);
  WriteWide(writer, contract.variance.denominator);
  writer.U32(static_cast<uint32_t>(contract.variance.exponent));
  writer.U8(static_cast<uint8_t>(contract.noise_source));
  writer.U8(static_cast<uint8_t>(contract.noise_law));
  WriteWide(writer, contract.laplace_scale);
  writer.F64(contract.sensitivity);
  return writer.Take();
}

// For one purpose, this node, this round and what `about` is the hash of.
crypto::Key RoundKey(const NodeRound& round, std::string_view purpose,
                     const crypto::Digest& about) {
  ByteWriter place;
  place.U64(round.epoch);
  place.U16(round.node);
  return crypto::DeriveKey(round.box.secret_key, purpose,
                           {ContractBytes(round.contract), place.bytes(), about});
}

crypto::Digest SetTag(const NodeRound& round, ByteView set) {
  return RoundKey(round, "partita dca recorded set", crypto::Sha256Of(set)).Expose();
}

}  // namespace

Bytes SealSet(const NodeRound& round, const AcceptedSet& agreed) {
  Bytes sealed = EncodeSet(agreed);
  const crypto::Digest tag = SetTag(round, sealed);
  sealed.insert(sealed.end(), tag.begin(), tag.end());
  return sealed;
}

AcceptedSet OpenSealedSet(const NodeRound& round, ByteView sealed) {
  if (sealed.size() >= sizeof(crypto::Digest)) {
    const ByteView set = sealed.first(sealed.size() - sizeof(crypto::Digest));
    const crypto::Digest tag = SetTag(round, set);
    if (CRYPTO_memcmp(tag.data(), sealed.data() + set.size(), tag.size()) == 0) {
      return ParseSet(set);
    }
  }
  throw Error(
      ErrorCode::kBadInput,
      "the agreed set in the upload store is not what this compute node recorded",
      "Nothing is opened. Find out who wrote to the store, or use the key that this node had "
      "when it closed the round.");
}

crypto::Digest CommitToSum(const NodeRound& round, const crypto::Digest& set_hash, ByteView words) {
  const crypto::Digest sum = crypto::Sha256().Field(set_hash).Field(words).Finish();
  return RoundKey(round, "partita dca sum commitment", sum).Expose();
}

void AddOwnNoise(const NodeRound& round, const crypto::Digest& set_hash, MaskedSum& sum) {
  crypto::Prg stream(RoundKey(round, "partita dca node noise", set_hash));
  std::vector<Int128> noise(round.contract.dimension);
  NoiseShare(round.contract).Sample(stream, noise);
  sum.AddIntegers(noise);
  Wipe(noise.data(), noise.size() * sizeof(Int128));
}

}  // namespace partita::sums
