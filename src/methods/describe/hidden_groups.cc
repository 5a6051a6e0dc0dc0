#include "methods/describe/hidden_groups.h"

#include <utility>
#include <vector>

#include "methods/describe/layout.h"
#include "methods/describe/row_matrix.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::describe {

using mpc::Engine;
using mpc::Shared;

Shared ShareHiddenGroups(Engine& engine, const Task& task, const Rows& rows,
                         const OwnColumns& columns) {
  std::vector<mpc::PrivateMatrix> inputs;
  const auto add = [&](size_t part, size_t groups) {
    const run::RowHolder holder{rows.parts[part].party, rows.max_rows};
    RequireRows(engine, holder, columns.groups.size());
    inputs.push_back(
        RowMatrix(engine, holder, groups, 0, [&columns, groups](size_t row, Int128* out) {
          if (columns.groups[row] < groups) out[columns.groups[row]] = 1;
        }));
  };
  for (size_t p = 0; p < rows.parts.size(); ++p) {
    if (!rows.selects || p != rows.selecting) add(p, 1);
  }
  if (rows.selects) add(rows.selecting, Layout(task.spec).groups);

  const std::vector<Shared> own = engine.Input(inputs);
  Shared taken = own.front();
  for (size_t i = 1; i < own.size(); ++i) {
    Shared both;
    mpc::ProductRound product(engine);
    product.Add(taken, own[i], 1, both);
    product.Run();
    taken = std::move(both);
  }
  return taken;
}

}  // namespace partita::methods::describe
