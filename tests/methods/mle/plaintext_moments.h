// Moments and counts in the clear: what is computed on shares is compared with.
#pragma once

#include <vector>

#include "base/error.h"
#include "methods/mle/moments/disclosure.h"
#include "methods/mle/moments/pooled_moments.h"

namespace partita::methods::mle {

// Of one cell, from all blocks' values at once. values[block] is row-major rows x num_variables,
// weights[block] has one entry per row.
inline IntegerMoments PlaintextMoments(size_t num_variables,
                                       const std::vector<std::vector<Int128>>& values,
                                       const std::vector<std::vector<int32_t>>& weights) {
  const size_t p = num_variables;
  IntegerMoments moments{0, std::vector<Int128>(p), std::vector<Int128>(p * p)};
  for (size_t b = 0; b < weights.size(); ++b) {
    for (size_t r = 0; r < weights[b].size(); ++r) {
      const Int128 weight = weights[b][r];
      const Int128* row = values[b].data() + r * p;
      moments.n += weight;
      for (size_t i = 0; i < p; ++i) {
        moments.sum[i] += weight * row[i];
        for (size_t j = 0; j < p; ++j) moments.cross[i * p + j] += weight * row[i] * row[j];
      }
    }
  }
  return moments;
}

// Of a form. moments: by cell. Throws kInternal if the columns are not 0/1 columns.
inline Int128 PlaintextCount(const CountForm& form, int fraction_bits,
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

}  // namespace partita::methods::mle
