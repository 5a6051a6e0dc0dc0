#include "sums/protocol/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sums/protocol/masked_sum.h"

namespace partita::sums {

PrivateSum Aggregate(std::span<const Bytes> publications, const Contract& contract,
                     const NodeCertificates& nodes) {
  MaskedSum sum = MaskedSum::Of(contract);
  std::vector<Closing> closings;
  std::vector<crypto::Digest> agreements;
  for (const Bytes& bytes : publications) {
    const Publication publication = OpenPublication(bytes, contract, nodes);
    closings.push_back(publication.closing);
    agreements.push_back(publication.agreement);
    sum.AddWords(publication.words);
  }
  PrivateSum result;
  result.agreement = RequireAgreement(closings, contract.nodes);
  if (std::ranges::count(agreements, result.agreement.hash) !=
      static_cast<std::ptrdiff_t>(agreements.size())) {
    throw Error(ErrorCode::kRefused, "the compute nodes published for different closings",
                "Nothing is opened. Find out which of them closed the round twice.");
  }
  result.accepted = result.agreement.count;
  if (result.accepted < MinAccepted(contract) || closings.front().study != contract.study) {
    throw Error(ErrorCode::kRefused,
                fmt::format("a sum of {} uploads is not one of this study", result.accepted));
  }
  result.grid = sum.Signed();
  const int fraction_bits = contract.clip.fraction_bits;
  for (const Int128 value : result.grid) {
    result.values.push_back(std::ldexp(static_cast<double>(value), -fraction_bits));
  }
  result.noise_stddev = std::ldexp(TotalNoiseStddev(contract, result.accepted), -fraction_bits);
  return result;
}

}  // namespace partita::sums
