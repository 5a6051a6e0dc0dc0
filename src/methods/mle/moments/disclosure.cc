#include "methods/mle/moments/disclosure.h"

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

// Counts less minima, in a row.
class Differences {
 public:
  Differences(Engine& engine, const ComputationMoments& moments)
      : engine_(engine), moments_(moments) {}
  bool empty() const { return counts_.empty(); }

  void Add(const CountForm& count, uint64_t minimum) {
    counts_.push_back(Evaluate(engine_, count, moments_));
    // More than there can be rows is as unreachable as any larger number.
    const uint64_t most = moments_.task->max_rows + 1;
    minima_.push_back(static_cast<Int128>(4 * std::min(minimum, most))
                      << (2 * moments_.task->fraction_bits));
  }

  Shared Join() {
    const Shared row = engine_.Concatenate(counts_, false);
    const Shared minimum =
        engine_.Public({IntMatrix{row.shape, std::move(minima_)}, row.fraction_bits});
    Shared difference = engine_.Subtract(row, minimum);
    difference.bound = 4 * static_cast<double>(moments_.task->max_rows + 1);
    return difference;
  }

 private:
  Engine& engine_;
  const ComputationMoments& moments_;
  std::vector<Shared> counts_;
  std::vector<Int128> minima_;
};

size_t NumChecks(const std::vector<DisclosureCheck>& checks, size_t computation) {
  return static_cast<size_t>(std::count_if(
      checks.begin(), checks.end(),
      [&](const DisclosureCheck& check) { return check.count.computation == computation; }));
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

std::vector<bool> RunDisclosureChecks(Engine& engine, const std::vector<DisclosureCheck>& checks,
                                      const std::vector<ComputationMoments>& moments) {
  // Of each computation that has checks: a row of bits, whether a count is below its minimum, and
  // if any check asks for it a row of bits, whether a count is zero.
  std::vector<Shared> differences;
  std::vector<bool> or_none;
  for (size_t c = 0; c < moments.size(); ++c) {
    Differences row(engine, moments[c]), zero(engine, moments[c]);
    bool any = false;
    for (const DisclosureCheck& check : checks) {
      if (check.count.computation != c) continue;
      row.Add(check.count, check.minimum);
      // An empty form is 0, which is not below 0.
      zero.Add(check.or_none.value_or(CountForm{}), check.or_none ? 1 : 0);
      any = any || check.or_none;
    }
    or_none.push_back(any);
    if (row.empty()) continue;
    differences.push_back(row.Join());
    if (any) differences.push_back(zero.Join());
  }
  const std::vector<mpc::SharedBits> below = mpc::IsNegative(engine, differences);
  std::vector<mpc::SharedBits> reached;
  std::vector<size_t> place(moments.size(), 0);
  for (size_t c = 0, next = 0; next < below.size(); ++c) {
    if (NumChecks(checks, c) == 0) continue;
    place[c] = reached.size();
    reached.push_back(engine.Not(below[next++]));
    // A count that is zero is below its minimum as well: one of the two bits at most.
    if (or_none[c]) reached.back() = engine.Xor(reached.back(), below[next++]);
  }
  const std::vector<mpc::BitMatrix> opened =
      engine.RevealBits(kDisclosureRelease, reached, mpc::kEverybody);
  if (!engine.self()) return {};

  std::vector<bool> passed;
  std::vector<size_t> taken(moments.size(), 0);
  for (const DisclosureCheck& check : checks) {
    const size_t c = check.count.computation;
    passed.push_back(mpc::GetBit(opened.at(place[c]), 0, taken[c]++));
  }
  return passed;
}

}  // namespace partita::methods::mle
