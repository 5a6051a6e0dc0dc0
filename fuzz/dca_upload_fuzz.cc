// Any bytes sent to a compute node: an envelope, a set of uploads or the inside of a sealed box
// that encodes back to itself, or a kPeerFault error; never a crash, and never an accepted upload
// that no client made.
//
// The first byte says what the rest is: bits 0 and 1 the node, bit 2 that it lies in a sealed box.
#include <sodium.h>

#include <algorithm>
#include <cstdlib>

#include "crypto/box.h"
#include "sums/protocol/accepted_set.h"
#include "sums/protocol/client.h"
#include "sums/protocol/open_upload.h"

namespace {

using namespace partita;        // NOLINT(google-build-using-namespace)
using namespace partita::sums;  // NOLINT(google-build-using-namespace)

class Zeros : public crypto::RandomSource {
 public:
  void Fill(std::span<uint8_t> out) override { std::ranges::fill(out, uint8_t{0}); }
};

NodeRound RoundOf(uint16_t node) {
  NodeRound round;
  round.contract.study.fill(7);
  round.contract.dimension = 2;
  round.contract.nodes = 3;
  round.contract.clients = 10;
  round.epoch = 5;
  round.node = node;
  Zeros zeros;
  round.box = crypto::MakeBoxKeyPair(zeros);
  return round;
}

template <typename Parse>
void Try(Parse parse) {
  try {
    parse();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerFault) std::abort();
  }
}

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || sodium_init() < 0) return 0;
  const NodeRound round = RoundOf(static_cast<uint16_t>((data[0] & 3) % 3));
  const ByteView bytes(data + 1, size - 1);
  ClientDirectory clients;
  clients[ClientId{}] = std::nullopt;
  ClientId registered{};
  registered[0] = 1;
  clients[registered] = crypto::Key();
  Try([&] { Require(std::ranges::equal(EncodeEnvelope(ParseEnvelope(bytes)), bytes)); });
  Try([&] { Require(std::ranges::equal(EncodeSet(ParseSet(bytes)), bytes)); });
  Try([&] {
    const SealedContent content = ParseSealedContent(bytes, round.contract, round.node);
    Require(std::ranges::equal(EncodeSealedContent(content), bytes));
  });
  OpenUpload(bytes, round, clients);
  if ((data[0] & 4) == 0 || bytes.size() < kHeaderBytes) return 0;
  Envelope envelope;
  envelope.mode = UploadMode::kSealed;
  const Bytes body = crypto::Seal(bytes, round.box.public_key);
  envelope.body = body;
  envelope.header.study = round.contract.study;
  envelope.header.epoch = round.epoch;
  envelope.header.node = round.node;
  std::copy_n(bytes.begin() + 58, envelope.header.upload.size(), envelope.header.upload.begin());
  const OpenedUpload opened = OpenUpload(EncodeEnvelope(envelope), round, clients);
  Require(opened.verdict != Verdict::kAccepted ||
          opened.content.size() == ContentBytes(round.contract, round.node));
  return 0;
}
