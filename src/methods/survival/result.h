// What the curves say, from what was opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/survival/protocol.h"

namespace partita::methods::survival {

// At the end of a report time's cell.
struct CurvePoint {
  double time = 0;
  uint64_t events = 0, censored = 0;  // since the report time before
  uint64_t remaining = 0;             // rows that leave later
  // Nothing where nobody leaves later.
  std::optional<double> survival;
  double error_of_log = 0, lower = 0, upper = 0;
  double step = 0;  // of the grid of log S and its error; 0: no event until then
};

// Where a median is, or a bound of its interval.
struct MedianTime {
  double time = 0;
  // Nothing: at that very time. Else later than this one, or at it if it is the lower bound of all times.
  std::optional<double> after;
};

struct GroupCurve {
  std::string name;  // of the level; "all" without a group
  bool withheld = false;
  uint64_t rows = 0, events = 0;  // events until the last report time
  std::vector<CurvePoint> points;
  std::optional<MedianTime> median, median_lower, median_upper;
};

struct LogRankRow {
  std::string name;
  // Nothing where few events are after the last report time.
  std::optional<uint64_t> observed;
  std::optional<double> expected;
  double difference = 0, error = 0, step = 0;
};
struct LogRankTest {
  bool withheld = false;
  std::vector<LogRankRow> rows;
  double chi_square = 0, p_value = 1;
  int df = 0;
};

struct SurvivalCurves {
  std::vector<GroupCurve> groups;
  std::optional<LogRankTest> test;
};
SurvivalCurves CurvesOfOpened(const Spec& spec, const OpenedCurves& opened);

}  // namespace partita::methods::survival
