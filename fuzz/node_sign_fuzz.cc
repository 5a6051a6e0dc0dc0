// What reaches the steward's signer from the daemon, from its child that reads studies, and what jobs read of
// the signer: a typed error, or something that survives being written and read again.
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "node/job/ended_list.h"
#include "node/job/statement.h"
#include "node/sign/study_reader.h"

namespace {

using namespace partita;
using namespace partita::node;

// Written again; nothing for an error of one of the two codes; dies of another.
template <class Act>
std::optional<Bytes> Again(Act act) {
  try {
    return act();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput && error.code() != ErrorCode::kPeerFault) std::abort();
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView bytes(data + 1, size - 1);
  const Bytes whole(bytes.begin(), bytes.end());
  std::optional<Bytes> again;
  switch (data[0] % 4) {
    case 0:
      again = Again([&] { return Encode(DecodeSignedCommit(bytes)); });
      break;
    case 1:
      again = Again([&] { return Encode(DecodeSignedEndedList(bytes)); });
      break;
    case 2:
      // A study has other forms that are read, too; once written it stays.
      again = Again([&] { return Encode(DecodeReadOrder(bytes)); });
      if (again && Encode(DecodeReadOrder(*again)) != *again) std::abort();
      return 0;
    default:
      // An answer may be an error of any code.
      try {
        DecodeReadAnswer(bytes);
      } catch (const Error&) {
        return 0;
      }
      return 0;
  }
  if (again && *again != whole) std::abort();
  return 0;
}
