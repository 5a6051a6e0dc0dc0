// What a release will be good for, before anything is counted: the same noise and the same choice of
// a generator on made-up rows over the declared domain.
//
// Made-up rows come from 1, 4 and 12 groups of equal size; within a group attributes are independent,
// with shares drawn uniformly from the simplex. In a fourth table all attributes follow from one of
// kSourceLevels levels that is not among them, but for one cell in twenty: near functions of each
// other, which noise hides most. Real tables have other dependences: a rehearsal, not a bound. On the
// tables of the tests the truth was between the figures or below them (docs/decisions/0613). Costs
// four times ChooseGenerator.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/possible.h"
#include "stats/marginals/selection.h"
#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

inline constexpr std::array<size_t, 3> kForecastGroups = {1, 4, 12};
inline constexpr size_t kSourceLevels = 40;
inline constexpr size_t kForecasts = kForecastGroups.size() + 1;
// Of more rows so many are made up, under noise that is the same share of them.
inline constexpr size_t kMostMadeUpRows = 200'000;

// Total variation by table between made-up rows and the generator's tables; an entry for each of
// kForecastGroups and one for attributes that follow from one. rows >= 1. noise_stddev: of a table of weight 1. Made-up rows have no impossible
// cell. selection: pairs are chosen by scores, and weights are not used; the number of rows is taken
// as public.
std::vector<std::vector<double>> Forecast(const TableSet& set, size_t rows, double noise_stddev,
                                          const TableWeights& weights,
                                          std::span<const ImpossibleCell> impossible,
                                          const std::optional<Selection>& selection,
                                          crypto::RandomSource& source);

}  // namespace partita::stats::marginals
