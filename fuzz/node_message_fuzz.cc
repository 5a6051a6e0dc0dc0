// Any bytes are either a message, or a body of some kind, that is written again byte for byte, or a
// kPeerFault error; never a crash. The same bytes as the state of a study: kBadInput.
#include <cstdlib>

#include "base/error.h"
#include "node/message/bodies.h"
#include "node/study/codec.h"

namespace {

using namespace partita;        // NOLINT(google-build-using-namespace)
using namespace partita::node;  // NOLINT(google-build-using-namespace)

template <typename Again>
void Try(ByteView bytes, ErrorCode code, Again again) {
  try {
    const Bytes written = again(bytes);
    if (written != Bytes(bytes.begin(), bytes.end())) std::abort();
  } catch (const Error& error) {
    if (error.code() != code) std::abort();
  }
}

void TryBodies(ByteView bytes) {
  constexpr ErrorCode kFault = ErrorCode::kPeerFault;
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeProposal(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeOffer(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeRosterFile(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeDocument(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeAskSlot(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeSlot(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeBusy(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeStart(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeProgress(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeEnded(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeWithdraw(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeNotUnderstood(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeRelay(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeLogHead(b)); });
  Try(bytes, kFault, [](ByteView b) { return Encode(DecodeLogReceipt(b)); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView bytes(data, size);
  Try(bytes, ErrorCode::kPeerFault, [](ByteView b) {
    const SignedMessage message = DecodeMessage(b);
    MessageName(message);
    TryBodies(message.message.body);
    return EncodeMessage(message);
  });
  TryBodies(bytes);
  try {
    const Study study = DecodeStudy(bytes);
    if (DecodeStudy(EncodeStudy(study)) != study) std::abort();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) std::abort();
  }
  return 0;
}
