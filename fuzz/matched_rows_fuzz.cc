// The result of a matching, and the matching file in it: what is read encodes back to itself, or there
// is an error of the right kind; never a crash. The first byte says what the others are: a result's
// file, the content of one whose digest fits, or a matching file.
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "crypto/state_file.h"
#include "run/matching/matched_rows.h"
#include "run/matching/matching_file.h"

namespace {

using namespace partita;  // NOLINT(google-build-using-namespace)

void TryResult(ByteView file) {
  try {
    const run::MatchedRows matched = run::DecodeMatchedRows(file);
    const Bytes again = run::EncodeMatchedRows(matched);
    if (Bytes(file.begin(), file.end()) != again) std::abort();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput || error.message().empty()) std::abort();
  }
}

// With the head that results have, and a digest.
void TryContent(ByteView content) {
  const Bytes empty = run::EncodeMatchedRows({});
  ByteReader head(empty);
  const std::string magic = head.String(empty.size());
  TryResult(crypto::EncodeState({magic, "", ""}, {}, content));
}

void TryMatchingFile(ByteView text) {
  try {
    run::ParseMatchingFile(std::string(reinterpret_cast<const char*>(text.data()), text.size()),
                           "fuzz");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput || error.message().empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView bytes(data + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      TryResult(bytes);
      break;
    case 1:
      TryContent(bytes);
      break;
    default:
      TryMatchingFile(bytes);
  }
  return 0;
}
