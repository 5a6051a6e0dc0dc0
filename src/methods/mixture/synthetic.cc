#include "methods/mixture/synthetic.h"

#include "stats/mixture/predictive.h"

namespace partita::methods::mixture {

const char* const kSyntheticPurpose =
    "Synthetic data are for writing and trying out analyses, for teaching and for planning. They "
    "keep marginals and associations approximately and no more; intervals computed from them are "
    "not confidence intervals, combining rules included: in the shipped simulation (`partita "
    "synthetic coverage`, 50 replicates) nominal 95 % intervals of a slope contained it in 0 % of "
    "replicates from one table, and in 20 % combined over ten. Ask for results on the real data "
    "before you publish one.";

std::vector<data::Table> DrawTables(const FittedModel& model, size_t rows, size_t sets,
                                    crypto::RandomSource& random) {
  const stats::mixture::Layout layout = ModelLayout(model.columns);
  const stats::mixture::VariationalState state = model.state();
  stats::blr::Variates variates(random);
  std::vector<data::Table> tables;
  for (size_t set = 0; set < sets; ++set) {
    const auto values = stats::mixture::DrawRows(layout, stats::mixture::DrawTheta(state, variates),
                                                 rows, variates);
    tables.push_back(DecodeTable(model.columns, values, random));
  }
  return tables;
}

ModelWeights WeightsOf(const FittedModel& model) {
  const stats::mixture::VariationalState state = model.state();
  return {stats::mixture::SortedWeights(state), stats::mixture::ActiveComponents(state)};
}

}  // namespace partita::methods::mixture
