#include "methods/survival/risk_sets.h"

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/order.h"

namespace partita::methods::survival {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

Shared Before(Engine& engine, const Shared& value) {
  const auto [rows, cols] = value.shape;
  const Shared none =
      engine.Public({{{1, cols}, std::vector<Int128>(cols, 0)}, value.fraction_bits});
  if (rows == 1) return WithBound(none, value.bound);
  const std::vector<Shared> parts = {none, engine.Slice(value, 0, 0, {rows - 1, cols})};
  return WithBound(engine.Concatenate(parts, true), value.bound);
}

Shared LastRow(Engine& engine, const Shared& value) {
  return engine.Slice(value, value.shape.rows - 1, 0, {1, value.shape.cols});
}

namespace {

// until: left in this cell and those before it.
Shared AtRisk(Engine& engine, const Shared& until) {
  const std::vector<size_t> last(until.shape.rows, until.shape.rows - 1);
  return WithBound(engine.Subtract(engine.SelectRows(until, last), Before(engine, until)),
                   until.bound);
}

}  // namespace

RiskSets ShareRiskSets(Engine& engine, const Task& task, const OwnCounts& own) {
  const mpc::Shape shape{task.spec.grid.cells, task.spec.num_groups()};
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders) {
    inputs.push_back(run::SumsOfHolder(engine, holder, shape, 0, 1, own.events));
    inputs.push_back(run::SumsOfHolder(engine, holder, shape, 0, 1, own.censored));
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  const double most = task.max_rows();
  RiskSets sets;
  Shared left;
  for (size_t h = 0; h < task.holders.size(); ++h) {
    const Shared& events = shared[2 * h];
    const Shared all = WithBound(engine.Add(events, shared[2 * h + 1]), most);
    sets.events_until.push_back(
        WithBound(mpc::CumulativeSums(engine, WithBound(events, most)), most));
    sets.left_until.push_back(WithBound(mpc::CumulativeSums(engine, all), most));
    sets.events = WithBound(h == 0 ? events : engine.Add(sets.events, events), most);
    left = WithBound(h == 0 ? sets.left_until[h] : engine.Add(left, sets.left_until[h]), most);
  }
  sets.at_risk = AtRisk(engine, left);
  sets.after = WithBound(engine.Subtract(sets.at_risk, sets.events), most);
  return sets;
}

}  // namespace partita::methods::survival
