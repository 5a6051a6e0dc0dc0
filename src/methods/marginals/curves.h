// Survival curves from noised counts: what method `survival` with [analysis.privacy] shows.
#pragma once

#include <string>
#include <vector>

#include "methods/marginals/study.h"
#include "stats/survival/noised_curve.h"

namespace partita::methods::marginals {

inline constexpr char kCurvesFile[] = "curves.csv";

// By group, at the end of each interval.
std::vector<std::vector<stats::survival::NoisedPoint>> CurvesOf(const MarginalsStudy& study,
                                                                const OpenedTables& opened);

// For forecasts: half of the interval of survival at each report time that `rows` rows would have, spread
// evenly over groups and cells, by the noise alone and by sampling and noise; infinite: no estimate.
struct CurveWidth {
  double noise = 0, all = 0;
};
std::vector<CurveWidth> CurveWidthsFor(const MarginalsStudy& study, double rows);

// The whole result. curves.csv: strata,time,n.after,estimate,std.error,conf.low,conf.high, a line for each
// interval; empty where there is no estimate.
study::Document NoisedCurvesDocument(const MarginalsStudy& study, const MarginalsRun& result);

}  // namespace partita::methods::marginals
