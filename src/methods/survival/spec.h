// Survival curves as a study file asks for them. All of it is public.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/row_groups.h"
#include "data/schema.h"
#include "data/time_grid.h"

namespace partita::methods::survival {

inline constexpr char kMethodName[] = "survival";
inline constexpr uint32_t kMethodVersion = 3;  // 3: medians open as parts of intervals, too
inline constexpr char kProtocol[] = "shared-counts";
inline constexpr char kCurves[] = "curves";  // what it releases, as study files name it

using data::GroupFactor;
using data::TimeGrid;

// The word in strata(site) of a model: every holder is a stratum.
inline constexpr char kSite[] = "site";

struct Spec {
  std::string formula;
  data::ColumnSchema outcome;            // a survival variable
  std::optional<data::RowGroups> group;  // a curve for each
  TimeGrid grid;
  std::vector<size_t> report;  // cells at whose ends the curves open, increasing; at least one
  double confidence = 0.95;
  bool told_to_all = false;  // the curves open to all parties, not to the receiver alone

  size_t num_groups() const { return group ? group->schema.levels.size() : 1; }
};

}  // namespace partita::methods::survival
