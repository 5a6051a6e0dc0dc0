#include "methods/mle/sealed/patterns.h"

#include <map>
#include <utility>

namespace partita::methods::mle {
namespace {

SharedMoments Add(mpc::Engine& engine, const SharedMoments& a, const SharedMoments& b) {
  return {engine.Add(a.count, b.count), engine.Add(a.sums, b.sums), engine.Add(a.cross, b.cross)};
}

}  // namespace

void AddPatterns(mpc::Engine& engine, const MleAnalysis& analysis,
                 const std::vector<SharedMoments>& cells, SealedSums& sums) {
  const size_t num_patterns = analysis.patterns.size();
  std::map<std::pair<size_t, std::vector<size_t>>, size_t> samples;
  for (size_t c = 0; c < cells.size(); ++c) {
    const size_t group = c / num_patterns;
    const std::vector<size_t>& observed = analysis.patterns[c % num_patterns];
    if (observed.empty()) continue;
    const auto [place, added] = samples.try_emplace({group, observed}, sums.groups.size());
    if (added) {
      sums.groups.push_back(cells[c]);
      sums.group_of.push_back(group);
      sums.observed.push_back(observed);
    } else {
      SharedMoments& sum = sums.groups[place->second];
      sum = Add(engine, sum, cells[c]);
    }
  }
}

mpc::Shared GroupSizesOf(mpc::Engine& engine, const MleAnalysis& analysis, const SealedSums& sums) {
  std::vector<mpc::Shared> sizes(analysis.table.groups.size());
  std::vector<bool> known(sizes.size(), false);
  for (size_t s = 0; s < sums.groups.size(); ++s) {
    const size_t group = sums.group_of.empty() ? s : sums.group_of[s];
    const mpc::Shared& count = sums.groups[s].count;
    sizes[group] = known[group] ? engine.Add(sizes[group], count) : count;
    known[group] = true;
  }
  return engine.Concatenate(sizes, false);
}

}  // namespace partita::methods::mle
