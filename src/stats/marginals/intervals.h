// Synthetic tables of a few columns for intervals that contain sampling, the noise of the release
// and the drawing of
// rows.
//
// Rows drawn once from a generator are as many as the real ones and know nothing of the noise: an
// interval
// computed as if they were real is too short. Here every table comes from a generator of its own,
// fitted to tables counted anew
// (a parametric bootstrap): n rows are drawn from the fit to what opened, counted, given fresh
// noise of the same law and fitted
// again; n rows of that fit, drawn independently of each other, are a table. An estimate q_i with
// variance u_i from each of m tables combines to
//   q = mean q_i,   T = (1 + 1/m) B - U,   B the variance between tables, U the mean of u_i
// (stats/mixture/combine.h). Compare Raisa, Jalko, Kaski & Honkela, AISTATS 2023 (NAPSU-MQ), who
// draw from a
// posterior.
//
// The model is the distribution of greatest entropy with the measured pairs of the named columns:
// every pair
// among them, nothing else. It is right for what depends on pairs: shares, differences of means,
// regressions without
// interactions. Its own error, where columns interact in threes, is in no interval.
// Neither is the bias of a fit that cannot be negative: where counts are not clear of their noise, no
// tables are drawn.
#pragma once

#include <cstddef>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/generator.h"

namespace partita::stats::marginals {

struct ColumnTables {
  TableSet set;
  NoisyTables noisy;
};

// The tables of some of the attributes, in their order. Throws kBadInput for a pair that was not
// measured.
ColumnTables TablesAmong(const TableSet& set, const NoisyTables& noisy,
                         std::vector<uint32_t> attributes);

// Standard deviations of noise that every fitted count must have, impossible cells apart.
inline constexpr double kClearOfZero = 2;

// `sets` tables of as many rows as were counted. Throws kBadInput if there is one attribute only,
// if all levels combined are more than kTreeCells, if the number of rows is not known, or if a count
// is not clear of 0.
std::vector<Codes> DrawForIntervals(const ColumnTables& tables, size_t sets,
                                    crypto::RandomSource& source);

}  // namespace partita::stats::marginals
