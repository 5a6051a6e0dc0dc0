// What a step needs of the mixture model (stats/mixture): public parameters at everybody, densities
// and scores at the holders of columns.
#pragma once

#include "methods/mixture/step.h"
#include "stats/mixture/components.h"
#include "stats/mixture/rows.h"

namespace partita::methods::mixture {

// The columns that one party holds. `layout` has the party's features only.
struct HolderModel {
  mpc::PartyIndex party = 0;
  stats::mixture::Layout layout;
  std::vector<size_t> columns;  // its statistics among all of the model
};

// By party of the features; every party that holds any. party_index[p]: the engine's index of the
// layout's party p.
std::vector<HolderModel> HoldersOf(const stats::mixture::Layout& layout,
                                   const std::vector<mpc::PartyIndex>& party_index);

// holders and columns of a design, the rest as it is.
StepDesign DesignFor(const std::vector<HolderModel>& holders, StepDesign design);

// Statistics moved to the grid that the protocol multiplies them at. Throws kBadData, for the
// owner, if one exceeds `bound`.
stats::mixture::Rows OnStatisticGrid(const stats::mixture::Layout& layout,
                                     stats::mixture::Rows rows, double bound);
// T(x) of these rows; they must outlive the reader.
StatisticReader ReaderOf(const stats::mixture::Layout& layout, const stats::mixture::Rows& rows);

// The components of every holder at theta (K x (1 + J)), slopes on the grid that the protocol
// applies them at.
struct ModelAt {
  std::vector<stats::mixture::Components> components;  // by holder
  StepParameters parameters;                           // without the batch
};
ModelAt MakeModelAt(const std::vector<HolderModel>& holders, const Eigen::ArrayXXd& theta);

// Where nobody knows the parameters (the dealer, a plan): of the same shapes.
StepParameters NoParameters(const std::vector<HolderModel>& holders, size_t components);

// Holder h: its densities and squared scores for a batch. A row of `neutral` (by row of the table,
// 1 where it is; empty: none), and one whose density or score is no number under these parameters,
// gets scores above all that the clipping can see: the step then weighs it with exactly 0
// (weights.cc), which no other party can tell from a row that is far from every component.
HolderValues ValuesAt(const HolderModel& holder, const stats::mixture::Components& components,
                      const stats::mixture::Rows& rows, std::span<const uint32_t> batch,
                      std::span<const uint8_t> neutral = {});

// From the order of the holders' columns to that of the model. Keeps column 0.
Eigen::ArrayXXd InModelOrder(const std::vector<HolderModel>& holders, const Eigen::ArrayXXd& sum);

}  // namespace partita::methods::mixture
