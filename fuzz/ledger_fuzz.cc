// What the ledger reads from outside: heads and receipts of peers, entries and rows of the journal
// of a file, exported chains. Each has exactly one encoding, or is refused. The first byte says
// which it is.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/journal.h"

namespace {

using partita::Bytes;
using partita::ByteView;
using partita::Error;
using partita::ErrorCode;
namespace ledger = partita::privacy::ledger;

void Require(bool promise) {
  if (!promise) std::abort();
}

bool Same(const Bytes& a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void ReadOne(uint8_t kind, ByteView bytes) {
  switch (kind % 5) {
    case 0:
      Require(Same(ledger::EncodeHead(ledger::DecodeHead(bytes, "north")), bytes));
      break;
    case 1:
      Require(Same(ledger::EncodeSignature(ledger::DecodeSignature(bytes, "north")), bytes));
      break;
    case 2: {
      const ledger::Entry entry = ledger::DecodeEntry(bytes);
      try {
        Require(Same(ledger::EncodeEntry(entry), bytes));
      } catch (const Error& error) {
        // Texts that nobody could have written.
        Require(error.code() == ErrorCode::kUsage);
      }
      break;
    }
    case 3:
      ledger::ReadChainJson({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                            "fuzz.json");
      break;
    default: {
      const ledger::JournalRow row = ledger::DecodeJournalRow(bytes);
      try {
        Require(Same(ledger::EncodeJournalRow(row), bytes));
      } catch (const Error& error) {
        Require(error.code() == ErrorCode::kUsage);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    ReadOne(data[0], {data + 1, size - 1});
  } catch (const Error& error) {
    Require(error.code() == ErrorCode::kPeerFault || error.code() == ErrorCode::kRefused ||
            error.code() == ErrorCode::kBadInput);
  }
  return 0;
}
