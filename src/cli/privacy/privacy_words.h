// What an epsilon means: the statement of a composition, for text, JSON and pages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/privacy/privacy_input.h"
#include "privacy/accounting/trade_off.h"
#include "privacy/statement.h"

namespace partita::cli {

// Rows: the outside analyst, and where batches are sampled whoever knows them (no amplification).
// curve_points > 0: with trade-off functions from profiles of so many points.
privacy::Statement StateComposition(const Composition& composition,
                                    const privacy::Interval& epsilon, double delta,
                                    const privacy::PldOptions& accuracy, size_t curve_points = 0);

// "0.9087 to 0.9095": the ends rounded outwards, digits as the width needs them.
std::string IntervalText(const privacy::Interval& interval);
// {"lower": ..., "upper": ...}; "infinite" where it is.
nlohmann::ordered_json IntervalJson(const privacy::Interval& interval);

// delta at `points` epsilons that show the curve.
std::vector<privacy::ProfilePoint> ShowingProfile(const std::vector<privacy::Event>& events,
                                                  size_t points,
                                                  const privacy::PldOptions& accuracy);

}  // namespace partita::cli
