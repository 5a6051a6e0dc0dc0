#include "sums/regression/regression_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sums/protocol/simulate.h"

namespace partita::sums::regression {

SimulatedSum SimulateSum(const Spec& spec, const stats::blr::Design& design,
                         const Contract& contract, const Rows& rows, crypto::RandomSource& random) {
  const uint32_t least = MinAccepted(contract);
  if (rows.count < least || rows.count > contract.clients) {
    throw Error(ErrorCode::kBadData,
                fmt::format("a table of {} rows does not stand for {} to {} clients", rows.count,
                            least, contract.clients),
                "every row is one client: plan with as many, or give another table");
  }
  const size_t width = design.features.size() + 1;
  Simulation simulation;
  simulation.contract = contract;
  simulation.transport = SimulatedTransport::kRegistered;
  simulation.arrived = static_cast<uint32_t>(rows.count);
  simulation.row = [&](uint32_t client, std::span<double> row) {
    std::ranges::copy(EncodeRow(spec, design, rows.row(client, width)), row.begin());
  };
  SimulationResult result = Simulate(simulation, random);
  SimulatedSum simulated;
  simulated.sum = ReleasedOf(contract, simulation.arrived, std::move(result.sum));
  simulated.wall_seconds = result.wall_seconds;
  simulated.upload_bytes = result.upload_bytes;
  return simulated;
}

ReleasedSum ReleasedOf(const Contract& contract, uint32_t accepted, std::vector<Int128> grid) {
  return {std::move(grid), accepted,
          std::ldexp(TotalNoiseStddev(contract, accepted), -contract.clip.fraction_bits)};
}

}  // namespace partita::sums::regression
