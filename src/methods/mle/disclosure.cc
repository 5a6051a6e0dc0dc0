#include "methods/mle/disclosure.h"

#include <algorithm>

#include "base/error.h"
#include "mpc/compare.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::IntMatrix;
using mpc::PublicMatrix;
using mpc::Shared;

CountForm Of(CountForm::Term term) { return {0, {std::move(term)}}; }

// The same value with more fraction bits: no digit changes, only where the point is.
Shared AtBits(Engine& engine, const Shared& value, int fraction_bits) {
  Shared wide = engine.Scale(value, Int128{1} << (fraction_bits - value.fraction_bits));
  wide.fraction_bits = fraction_bits;
  wide.bound = value.bound;
  return wide;
}

// Four times the count at 2 f_in fraction bits.
Shared Evaluate(Engine& engine, const CountForm& form, const ComputationMoments& moments) {
  const int bits = 2 * moments.task->fraction_bits;
  const double most = static_cast<double>(moments.task->max_rows);
  Shared sum = engine.Public({IntMatrix{{1, 1}, {0}}, bits});
  const auto add = [&](const Shared& value, int times) {
    Shared term = engine.Scale(AtBits(engine, value, bits), times);
    // Partial sums of a form stay within four times the rows of its cells, in either sign.
    term.bound = sum.bound = 4 * most;
    sum = engine.Add(sum, term);
  };
  for (const CountForm::Term& term : form.terms) {
    const SharedMoments& cell = moments.cells->at(term.cell);
    if (term.n != 0) add(cell.count, term.sign * term.n);
    for (const auto& [i, times] : term.sums)
      add(engine.Slice(cell.sums, 0, i, {1, 1}), term.sign * times);
    for (const auto& [pair, times] : term.cross)
      add(engine.Slice(cell.cross, pair[0], pair[1], {1, 1}), term.sign * times);
  }
  sum.bound = 4 * most;
  return sum;
}

}  // namespace

CountForm CountRows(size_t cell) { return Of({cell, 1, 4, {}, {}}); }
CountForm CountOnes(size_t cell, size_t i) { return Of({cell, 1, 2, {{i, 2}}, {}}); }
CountForm CountZeros(size_t cell, size_t i) { return Of({cell, 1, 2, {{i, -2}}, {}}); }

CountForm CountBoth(size_t cell, size_t i, bool i_is_one, size_t j, bool j_is_one) {
  const int si = i_is_one ? 1 : -1, sj = j_is_one ? 1 : -1;
  return Of({cell, 1, 1, {{i, si}, {j, sj}}, {{{i, j}, si * sj}}});
}

CountForm Combine(CountForm a, const CountForm& b, int sign) {
  for (CountForm::Term term : b.terms) {
    term.sign *= sign;
    a.terms.push_back(std::move(term));
  }
  return a;
}

Int128 PlaintextCount(const CountForm& form, int fraction_bits,
                      const std::vector<IntegerMoments>& moments) {
  const Int128 one = Int128{1} << fraction_bits;
  Int128 sum = 0;
  for (const CountForm::Term& term : form.terms) {
    const IntegerMoments& cell = moments.at(term.cell);
    const size_t p = cell.sum.size();
    sum += term.sign * term.n * cell.n * one * one;
    for (const auto& [i, times] : term.sums) sum += term.sign * times * cell.sum[i] * one;
    for (const auto& [pair, times] : term.cross)
      sum += term.sign * times * cell.cross[pair[0] * p + pair[1]];
  }
  if (sum % (4 * one * one) != 0) {
    throw Error(ErrorCode::kInternal, "a count form is not a whole number of rows");
  }
  return sum / (4 * one * one);
}

std::vector<bool> RunDisclosureChecks(Engine& engine, const std::vector<DisclosureCheck>& checks,
                                      const std::vector<ComputationMoments>& moments) {
  // One row of differences, count less minimum, for each computation that has checks.
  std::vector<std::vector<Shared>> counts(moments.size());
  std::vector<std::vector<Int128>> minima(moments.size());
  for (const DisclosureCheck& check : checks) {
    const size_t c = check.count.computation;
    counts[c].push_back(Evaluate(engine, check.count, moments.at(c)));
    // More than there can be rows is as unreachable as any larger number.
    const uint64_t most = moments[c].task->max_rows + 1;
    minima[c].push_back(static_cast<Int128>(4 * std::min(check.minimum, most))
                        << (2 * moments[c].task->fraction_bits));
  }
  std::vector<Shared> differences;
  for (size_t c = 0; c < moments.size(); ++c) {
    if (counts[c].empty()) continue;
    const Shared row = engine.Concatenate(counts[c], false);
    const Shared minimum =
        engine.Public({IntMatrix{row.shape, std::move(minima[c])}, row.fraction_bits});
    Shared difference = engine.Subtract(row, minimum);
    difference.bound = 4 * static_cast<double>(moments[c].task->max_rows + 1);
    differences.push_back(std::move(difference));
  }
  std::vector<mpc::SharedBits> reached;
  for (const mpc::SharedBits& below : mpc::IsNegative(engine, differences))
    reached.push_back(engine.Not(below));
  const std::vector<mpc::BitMatrix> opened =
      engine.RevealBits(kDisclosureRelease, reached, mpc::kEverybody);
  if (!engine.self()) return {};

  std::vector<bool> passed;
  std::vector<size_t> taken(moments.size(), 0);
  std::vector<size_t> place(moments.size(), 0);
  for (size_t c = 0, next = 0; c < moments.size(); ++c) place[c] = counts[c].empty() ? 0 : next++;
  for (const DisclosureCheck& check : checks) {
    const size_t c = check.count.computation;
    passed.push_back(mpc::GetBit(opened.at(place[c]), 0, taken[c]++));
  }
  return passed;
}

}  // namespace partita::methods::mle
