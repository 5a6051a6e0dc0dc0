#include "sums/regression/regression_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sums/protocol/simulate.h"

namespace partita::runtime {

namespace dca = methods::dca;
namespace regression = methods::regression;

SimulatedSum SimulateSum(const regression::Spec& spec, const stats::blr::Design& design,
                         const dca::Contract& contract, const regression::Rows& rows,
                         crypto::RandomSource& random) {
  const uint32_t least = dca::MinAccepted(contract);
  if (rows.count < least || rows.count > contract.clients) {
    throw Error(ErrorCode::kBadData,
                fmt::format("a table of {} rows does not stand for {} to {} clients", rows.count,
                            least, contract.clients),
                "every row is one client: plan with as many, or give another table");
  }
  const size_t width = design.features.size() + 1;
  dca::Simulation simulation;
  simulation.contract = contract;
  simulation.transport = dca::SimulatedTransport::kRegistered;
  simulation.arrived = static_cast<uint32_t>(rows.count);
  simulation.row = [&](uint32_t client, std::span<double> row) {
    std::ranges::copy(regression::EncodeRow(spec, design, rows.row(client, width)), row.begin());
  };
  dca::SimulationResult result = dca::Simulate(simulation, random);
  SimulatedSum simulated;
  simulated.sum = ReleasedOf(contract, simulation.arrived, std::move(result.sum));
  simulated.wall_seconds = result.wall_seconds;
  simulated.upload_bytes = result.upload_bytes;
  return simulated;
}

regression::ReleasedSum ReleasedOf(const dca::Contract& contract, uint32_t accepted,
                                   std::vector<Int128> grid) {
  return {std::move(grid), accepted,
          std::ldexp(dca::TotalNoiseStddev(contract, accepted), -contract.clip.fraction_bits)};
}

}  // namespace partita::runtime
