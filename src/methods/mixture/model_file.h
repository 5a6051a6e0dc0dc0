// A fitted mixture as a file: the columns with their encodings and public bounds, who holds them,
// and the variational law. All of it is public once the noisy sums were opened; it is what
// synthetic data are drawn from, and it carries the privacy statement that it was made under.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "methods/mixture/columns.h"
#include "stats/mixture/variational.h"

namespace partita::methods::mixture {

struct FittedModel {
  std::vector<std::string> parties;
  std::vector<ModelColumn> columns;
  Eigen::ArrayXXd mean, log_scale;  // K x (1 + J)
  uint64_t steps = 0;
  uint64_t planned_steps = 0;  // more than steps: the model is not trained as its study says

  bool trained() const { return steps >= planned_steps; }
  std::string privacy;  // a privacy statement as JSON (privacy::StatementJson); empty: none claimed

  // For drawing: moments are not stored.
  stats::mixture::VariationalState state() const;
};

// The model of one party's columns alone: the same mixture with the others left out. Throws kUsage
// if the party holds none of them.
FittedModel ModelOfParty(const FittedModel& model, size_t party);

std::string ModelJson(const FittedModel& model);

// The inverse. Throws kBadInput, naming what is wrong, for anything that ModelJson does not write:
// other JSON, columns that CheckEncoding refuses, matrices of another shape or with numbers beyond
// +-1e6, parties that are not there; more than 1e4 columns, levels or components.
FittedModel ParseModelJson(const std::string& json);

// Reads a file of at most 64 MB. Throws kBadInput also if it cannot be read.
FittedModel ReadModelFile(const std::filesystem::path& file);

}  // namespace partita::methods::mixture
