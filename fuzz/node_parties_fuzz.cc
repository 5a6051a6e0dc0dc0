// What other sites and mails bring about parties: a typed error, or something that survives being
// written and read again.
#include <cstdlib>

#include "base/error.h"
#include "node/parties/introduction.h"
#include "node/parties/succession.h"

namespace {

using namespace partita;
using namespace partita::node;

// Nothing for an error of one of the two codes; dies of another.
template <class Act>
auto Read(Act act) -> std::optional<decltype(act())> {
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
  switch (data[0] % 5) {
    case 0: {
      const std::string text(bytes.begin(), bytes.end());
      const auto invitation = Read([&] { return ParseInvitation(text); });
      if (invitation && ParseInvitation(FormatInvitation(*invitation)) != *invitation) std::abort();
      break;
    }
    case 1: {
      const auto list = Read([&] { return DecodePartyList(bytes); });
      if (list && EncodePartyList(*list) != whole) std::abort();
      break;
    }
    case 2: {
      const auto introduction = Read([&] { return DecodeIntroduction(bytes); });
      if (introduction && EncodeIntroduction(*introduction) != whole) std::abort();
      break;
    }
    case 3: {
      const auto document = Read([&] { return DecodeSignedList(bytes); });
      if (document && EncodeSignedList(*document) != whole) std::abort();
      const auto book = Read([&] { return DecodeInvitations(bytes); });
      if (book && EncodeInvitations(*book) != whole) std::abort();
      break;
    }
    default: {
      PartyList list;
      list.owner = "south";
      try {
        WithSuccessor(list, bytes, 1);
        std::abort();  // nobody is on the list
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kPeerFault && error.code() != ErrorCode::kUntrusted) {
          std::abort();
        }
      }
    }
  }
  return 0;
}
