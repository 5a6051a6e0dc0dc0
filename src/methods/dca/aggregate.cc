#include "methods/dca/aggregate.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "methods/dca/masked_sum.h"

namespace partita::methods::dca {

PrivateSum Aggregate(std::span<const Bytes> publications, const Contract& contract,
                     const NodeCertificates& nodes) {
  MaskedSum sum = MaskedSum::Of(contract);
  std::vector<Closing> closings;
  for (const Bytes& bytes : publications) {
    const Publication publication = OpenPublication(bytes, contract, nodes);
    closings.push_back(publication.closing);
    sum.AddWords(publication.words);
  }
  RequireAgreement(closings, contract.nodes);
  PrivateSum result;
  result.accepted = closings.front().count;
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

}  // namespace partita::methods::dca
