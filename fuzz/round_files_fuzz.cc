// Files and texts of private sums from outside: what is read encodes back to itself, or there is an
// error of the right kind; never a crash. The first byte says which kind of file it is.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "sums/file/collection_file.h"
#include "sums/service/admission_list.h"
#include "sums/service/box_key_file.h"
#include "sums/service/submit_upload.h"

namespace {

using namespace partita;        // NOLINT(google-build-using-namespace)
using namespace partita::sums;  // NOLINT(google-build-using-namespace)

template <typename Parse>
void Try(ErrorCode expected, Parse parse) {
  try {
    parse();
  } catch (const Error& error) {
    if (error.code() != expected || error.message().empty()) std::abort();
  }
}

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] % 5) {
    case 0:
      Try(ErrorCode::kBadInput, [&] {
        const std::string once = FormatAdmissionList(ParseAdmissionList(text, "f"));
        Require(FormatAdmissionList(ParseAdmissionList(once, "f")) == once);
      });
      break;
    case 1:
      Try(ErrorCode::kPeerFault,
          [&] { Require(std::ranges::equal(EncodeUpload(ParseUpload(bytes)), bytes)); });
      break;
    case 2:
      Try(ErrorCode::kBadInput, [&] { ParseBoxKey(text, "f"); });
      break;
    case 3:
      Try(ErrorCode::kBadInput, [&] { ParseToken(text, "f"); });
      break;
    default:
      Try(ErrorCode::kBadInput, [&] {
        const CollectionFile collection = ParseCollectionFile(std::string(text), "f");
        CheckContract(collection.contract);
      });
  }
  return 0;
}
