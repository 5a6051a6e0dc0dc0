#include "methods/mle/fit/released.h"

#include <fmt/format.h>

#include <iterator>

namespace partita::methods::mle {

MleResult FitReleased(const MleAnalysis& analysis, ReleasedMoments moments, Progress& progress) {
  MleResult result = ResultWithoutFit(analysis);
  for (const stats::GroupMoments& group : moments.groups) result.group_n.push_back(group.n);
  stats::SemFitOptions options;
  options.information = analysis.options.information;
  result.fit = stats::FitSem(analysis.table, moments.groups, options, progress);
  if (moments.noise) {
    std::vector<std::string> notes =
        NoiseNotes(moments.noise->mechanism, moments.noise->norm, result.fit.converged);
    result.notes.insert(result.notes.end(), std::make_move_iterator(notes.begin()),
                        std::make_move_iterator(notes.end()));
    if (result.fit.converged) {
      stats::AddNoise(analysis.table, moments.groups, moments.noise->noise, options, result.fit);
    }
  }
  result.moments = std::move(moments);
  return result;
}

std::vector<std::string> NoiseNotes(const std::string& mechanism, double norm, bool converged) {
  return {
      fmt::format("Differentially private: all of this is computed from moments that were released "
                  "with noise ({}); every epsilon holds if all computing parties follow the "
                  "protocol.",
                  mechanism),
      converged
          ? "Standard errors, tests and intervals contain the variance of the privacy noise (first "
            "order); chi-square and the fit indices do not, and look worse than the model is; nor "
            "does R2, which noise alone can raise."
          : "The fit did not converge: its standard errors do not contain the privacy noise.",
      fmt::format(
          "Rows whose values, scaled to [-1, 1] by the public bounds, have a norm above {:g} "
          "were shortened to it; that can bias estimates towards smaller variances.",
          norm)};
}

ReleasedMoments SelectMoments(const ReleasedMoments& all, const std::vector<int>& variables) {
  ReleasedMoments selected = all;
  for (stats::GroupMoments& group : selected.groups) {
    group = {group.n, group.mean(variables).eval(), group.covariance(variables, variables).eval()};
  }
  if (!selected.noise) return selected;
  stats::StatisticsScale& scale = selected.noise->noise.scale;
  scale = {scale.centre(variables).eval(), scale.half_width(variables).eval()};
  return selected;
}

}  // namespace partita::methods::mle
