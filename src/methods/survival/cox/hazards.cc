#include "methods/survival/cox/hazards.h"

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/order.h"

namespace partita::methods::survival {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

Shared SumOfTerms(Engine& engine, const Shared& terms, size_t cells, double bound) {
  const size_t cols = terms.shape.cols;
  Shared sum = engine.Slice(terms, 0, 0, {cells, cols});
  for (size_t row = cells; row < terms.shape.rows; row += cells)
    sum = engine.Add(sum, engine.Slice(terms, row, 0, {cells, cols}));
  return WithBound(sum, bound);
}

Shared UpTo(Engine& engine, const CoxCells& cells, const Shared& value, double bound) {
  std::vector<Shared> strata;
  for (size_t s = 0; s < cells.strata; ++s) {
    strata.push_back(mpc::CumulativeSums(
        engine, engine.Slice(value, s * cells.cells, 0, {cells.cells, value.shape.cols})));
  }
  return WithBound(engine.Concatenate(strata, true), bound);
}

HazardSums SumHazards(Engine& engine, const CoxCells& grid, size_t most_ties, const CoxTerms& terms,
                      double most_rows, double most) {
  const size_t cells = grid.count(), p = terms.means.shape.cols,
               terms_left = terms.means.shape.rows;
  const double most_term = MostOfTerm(), mean_of_term = kMostOfMean * most_term;
  const double most_mean = kMostOfMean * most;
  const bool apart = most_ties > 1;
  Shared hazards, weighted, left_out;
  mpc::ProductRound first(engine);
  first.AddCut(terms.hazards, most_term, kHazardBits, hazards);
  first.AddCut(terms.means, terms.hazards, mean_of_term, kHazardBits, weighted);
  if (apart) {
    first.AddCut(engine.Slice(terms.hazards, cells, 0, {terms_left - cells, 1}), terms.gone,
                 most_term, kHazardBits, left_out);
  }
  first.Run();
  const Expected all = {
      UpTo(engine, grid, SumOfTerms(engine, hazards, cells, most), most),
      UpTo(engine, grid, SumOfTerms(engine, weighted, cells, most_mean), most_mean)};
  if (!apart) return {terms.means, terms.counted, {all}};
  // 1 / d is the part that the second of d events leaves out; of a single one it is 1.
  const Shared only = engine.Subtract(engine.Slice(terms.events, 0, 0, {cells, 1}),
                                      engine.Slice(terms.events, cells, 0, {cells, 1}));
  const Shared part = WithBound(engine.Add(engine.Slice(terms.gone, 0, 0, {cells, 1}),
                                           mpc::Lift(engine, only, terms.gone.fraction_bits)),
                                1);
  HazardSums secrets;
  secrets.counted = SumOfTerms(engine, terms.counted, cells, kMostOfMean * most_rows);
  Shared means_left_out;
  mpc::ProductRound second(engine);
  second.AddCut(secrets.counted, part, kMostOfMean, kHazardBits, secrets.mean);
  second.AddCut(engine.Slice(terms.means, cells, 0, {terms_left - cells, p}), left_out,
                mean_of_term, kHazardBits, means_left_out);
  second.Run();
  const auto less = [&](const Shared& from, const Shared& of_terms, double bound) {
    return WithBound(engine.Subtract(from, SumOfTerms(engine, of_terms, cells, bound)), bound);
  };
  secrets.expected = {
      {less(all.hazard, left_out, most), less(all.weighted, means_left_out, most_mean)}, all};
  return secrets;
}

}  // namespace partita::methods::survival
