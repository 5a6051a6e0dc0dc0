#include "sums/service/round_api.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utc_time.h"

namespace partita::sums {

std::string RoundPath(const CollectionFile& collection, std::string_view what) {
  return fmt::format("/v1/rounds/{}/{}/{}", ToHex(collection.contract.study), collection.epoch,
                     what);
}

unsigned StatusOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAccepted:
    case Verdict::kRetried:
      return 200;
    case Verdict::kMalformed:
      return 400;
    case Verdict::kOversized:
      return 413;
    case Verdict::kWrongStudy:
    case Verdict::kWrongNode:
      return 422;
    case Verdict::kReplay:
    case Verdict::kLate:
      return 410;
    case Verdict::kEarly:
      return 425;
    case Verdict::kUnknownClient:
    case Verdict::kUnauthentic:
      return 403;
    case Verdict::kDuplicate:
      return 409;
  }
  throw Error(ErrorCode::kInternal, "an upload has an unknown verdict");
}

bool ClocksAgree(std::string_view time, int64_t now) {
  const std::optional<int64_t> theirs = ParseUtc(time);
  return theirs && *theirs >= now - kClockAllowanceSeconds &&
         *theirs <= now + kClockAllowanceSeconds;
}

size_t MaxSetBytes(const CollectionFile& collection) {
  return size_t{48} * collection.contract.clients + 64;
}

size_t MaxPublicationBytes(const CollectionFile& collection) {
  const Contract& contract = collection.contract;
  return contract.dimension * WordBytes(contract) + kMaxClosingBytes;
}

}  // namespace partita::sums
