#include "sums/service/round_api.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utc_time.h"

namespace partita::runtime {

namespace dca = methods::dca;

std::string RoundPath(const study::CollectionFile& collection, std::string_view what) {
  return fmt::format("/v1/rounds/{}/{}/{}", ToHex(collection.contract.study), collection.epoch,
                     what);
}

unsigned StatusOf(dca::Verdict verdict) {
  switch (verdict) {
    case dca::Verdict::kAccepted:
    case dca::Verdict::kRetried:
      return 200;
    case dca::Verdict::kMalformed:
      return 400;
    case dca::Verdict::kOversized:
      return 413;
    case dca::Verdict::kWrongStudy:
    case dca::Verdict::kWrongNode:
      return 422;
    case dca::Verdict::kReplay:
    case dca::Verdict::kLate:
      return 410;
    case dca::Verdict::kEarly:
      return 425;
    case dca::Verdict::kUnknownClient:
    case dca::Verdict::kUnauthentic:
      return 403;
    case dca::Verdict::kDuplicate:
      return 409;
  }
  throw Error(ErrorCode::kInternal, "an upload has an unknown verdict");
}

bool ClocksAgree(std::string_view time, int64_t now) {
  const std::optional<int64_t> theirs = study::ParseUtc(time);
  return theirs && *theirs >= now - kClockAllowanceSeconds &&
         *theirs <= now + kClockAllowanceSeconds;
}

size_t MaxSetBytes(const study::CollectionFile& collection) {
  return size_t{48} * collection.contract.clients + 64;
}

size_t MaxPublicationBytes(const study::CollectionFile& collection) {
  const methods::dca::Contract& contract = collection.contract;
  return contract.dimension * WordBytes(contract) + kMaxClosingBytes;
}

}  // namespace partita::runtime
