// Outcomes of more than two levels: DP-SGD for each level against the rest, one after the other
// (stats/erm/one_versus_rest.h). L descents of T iterations are accounted as one of L T iterations,
// for every one of them sees every row.
#pragma once

#include <optional>

#include "methods/classify/descent.h"
#include "stats/erm/one_versus_rest.h"

namespace partita::methods::classify {

// The task whose statement and number of openings are those of all levels together.
DescentTask AllLevels(const DescentTask& task, size_t levels);

// sum: DesignDescent(task, CalibrateDescent(AllLevels(task, levels), ...)). d by L; empty at the
// dealer. Errors as RunDescent.
Eigen::MatrixXd RunLevelDescents(mpc::Engine& engine, const DescentTask& task, size_t levels,
                                 const NoisedSum& sum,
                                 const std::optional<stats::erm::LevelRows>& rows,
                                 crypto::RandomSource& random, Progress& progress);

}  // namespace partita::methods::classify
