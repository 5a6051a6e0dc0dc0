#include "methods/survival/cox/ties.h"

#include <algorithm>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::survival {
namespace {

// c = A e, where e_0 .. e_K are the comparisons: c_k sums k / j over [d = j] = e_(j - 1) - e_j, j > k.
mpc::PublicMatrix PartsLeftOut(size_t most) {
  mpc::IntMatrix parts{{most - 1, most + 1}, std::vector<Int128>((most - 1) * (most + 1))};
  for (size_t k = 1; k < most; ++k) {
    Int128* row = &parts.values[(k - 1) * (most + 1)];
    for (size_t j = k + 1; j <= most; ++j) {
      const Int128 part =
          mpc::EncodeFixed(static_cast<double>(k) / static_cast<double>(j), kGoneBits);
      row[j - 1] += part;
      row[j] -= part;
    }
  }
  return {std::move(parts), kGoneBits};
}

}  // namespace

TiedTerms TermsOfTies(mpc::Engine& engine, const mpc::Shared& events, size_t most) {
  const size_t cells = events.shape.rows;
  // k - d is negative where there are more than k.
  const mpc::Shared none = mpc::ConstantLike(engine, events, 0, 0);
  std::vector<mpc::Shared> left;
  const double bound = events.bound + static_cast<double>(most);
  for (size_t k = 0; k <= most; ++k) {
    left.push_back(
        mpc::PlusConstant(engine, engine.Subtract(none, events), static_cast<double>(k), bound));
  }
  const std::vector<mpc::Shared> stacked = {mpc::WithBound(engine.Concatenate(left, true), bound)};
  const mpc::Shared more =
      engine.ToRing(mpc::IsNegative(engine, stacked)).front();  // (K + 1) cells x 1
  TiedTerms terms;
  terms.events = mpc::WithBound(engine.Slice(more, 0, 0, {most * cells, 1}), 1);
  const mpc::Shared by_term = mpc::WithBound(mpc::Reshape(more, {most + 1, cells}), 1);
  terms.gone = mpc::WithBound(
      mpc::Reshape(engine.MultiplyPublic(PartsLeftOut(most), by_term), {(most - 1) * cells, 1}), 1);
  terms.beyond = mpc::WithBound(engine.SumRows(engine.Slice(more, most * cells, 0, {cells, 1})),
                                static_cast<double>(cells));
  return terms;
}

}  // namespace partita::methods::survival
