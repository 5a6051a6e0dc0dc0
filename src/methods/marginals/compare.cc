// Rehearsals of method `marginals`: what opened beside the counts of the same rows in the clear.
#include <fmt/format.h>

#include "methods/marginals/study.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::marginals {

void MarginalsStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                             Progress& /*progress*/) const {
  const auto& result = dynamic_cast<const MarginalsRun&>(*run.outcome(receiver).protocol);
  const data::Table& pooled = run.mock.pooled;
  stats::marginals::Codes codes;
  for (const LevelColumn& column : spec.columns) {
    codes.push_back(LevelsOf(column, pooled, 0, pooled.num_rows));
  }
  const std::vector<double> counts = stats::marginals::Count(task.set, codes);
  const std::string& analysis = file.analyses.front().name;
  agreement.Add(analysis, "cells", static_cast<double>(result.cells->size()),
                static_cast<double>(counts.size()));
  std::vector<double> noise;
  for (size_t i = 0; i < counts.size(); ++i) {
    noise.push_back(((*result.cells)[i] - counts[i]) / design.noise_stddev());
  }
  agreement.random.push_back(run::IndependentNormals(
      analysis,
      fmt::format("noise of all cells, of standard deviation {:.4g} rows", design.noise_stddev()),
      noise));
}

}  // namespace partita::methods::marginals
