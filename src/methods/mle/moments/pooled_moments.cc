#include "methods/mle/moments/pooled_moments.h"

#include <algorithm>

#include "base/error.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::IntMatrix;
using mpc::Shared;

std::vector<size_t> VariablesOf(const MomentsRelease& release, size_t cell) {
  std::vector<size_t> variables;
  for (size_t v : release.variables) {
    if (Opens(release, cell, v)) variables.push_back(v);
  }
  return variables;
}

std::vector<std::pair<size_t, size_t>> PairsOf(const MomentsRelease& release, size_t cell) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const auto& [a, b] : release.pairs) {
    if (Opens(release, cell, a) && Opens(release, cell, b)) pairs.emplace_back(a, b);
  }
  return pairs;
}

// Count, sums and products of one entry of the release's cells; no empty matrices.
std::vector<Shared> Wanted(Engine& engine, const SharedMoments& moments,
                           const MomentsRelease& release, size_t cell) {
  std::vector<std::pair<size_t, size_t>> sums;
  for (size_t v : VariablesOf(release, cell)) sums.emplace_back(0, v);
  if (sums.empty()) return {moments.count};
  return {moments.count, Gather(engine, moments.sums, sums),
          Gather(engine, moments.cross, PairsOf(release, cell))};
}

// Takes what Wanted asked for.
IntegerMoments Place(const MomentsTask& task, const MomentsRelease& release, size_t cell,
                     std::vector<IntMatrix>::const_iterator& opened) {
  const std::vector<size_t> variables = VariablesOf(release, cell);
  const auto pairs = PairsOf(release, cell);
  const size_t p = task.num_variables;
  IntegerMoments moments{(opened++)->values[0], std::vector<Int128>(p), std::vector<Int128>(p * p)};
  // Counts of honest holders add up to at most max_rows; anything else is a peer's doing.
  if (moments.n < 0 || moments.n > static_cast<Int128>(task.max_rows)) {
    throw Error(ErrorCode::kPeerFault, "the opened number of rows is impossible",
                "a party departed from the protocol: compare versions and run the study again");
  }
  if (variables.empty()) return moments;
  for (size_t i = 0; i < variables.size(); ++i) moments.sum[variables[i]] = opened->values[i];
  ++opened;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& [a, b] = pairs[i];
    moments.cross[a * p + b] = opened->values[i];
    moments.cross[b * p + a] = opened->values[i];
  }
  ++opened;
  return moments;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> AllPairs(const std::vector<size_t>& variables) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < variables.size(); ++i) {
    for (size_t j = i; j < variables.size(); ++j) pairs.emplace_back(variables[i], variables[j]);
  }
  return pairs;
}

bool Opens(const MomentsRelease& release, size_t cell, size_t variable) {
  if (release.absent.empty()) return true;
  const std::vector<size_t>& absent = release.absent[cell];
  return std::find(absent.begin(), absent.end(), variable) == absent.end();
}

uint64_t NumReleasedValues(const MomentsRelease& release) {
  uint64_t values = 0;
  for (size_t c = 0; c < release.cells.size(); ++c)
    values += 1 + VariablesOf(release, c).size() + PairsOf(release, c).size();
  return values;
}

std::vector<IntegerMoments> OpenMoments(Engine& engine, const MomentsTask& task,
                                        const std::vector<SharedMoments>& shared,
                                        const MomentsRelease& release) {
  std::vector<Shared> values;
  for (size_t c = 0; c < release.cells.size(); ++c) {
    for (Shared& part : Wanted(engine, shared.at(release.cells[c]), release, c))
      values.push_back(std::move(part));
  }
  const std::vector<IntMatrix> opened = engine.Reveal(release.id, values, release.receiver);
  if (engine.self() != release.receiver) return {};
  std::vector<IntegerMoments> moments;
  auto next = opened.cbegin();
  for (size_t c = 0; c < release.cells.size(); ++c)
    moments.push_back(Place(task, release, c, next));
  return moments;
}

IntegerMoments Restrict(const IntegerMoments& moments, const std::vector<size_t>& variables) {
  const size_t p = moments.sum.size();
  IntegerMoments some{moments.n, {}, {}};
  for (size_t i : variables) {
    some.sum.push_back(moments.sum[i]);
    for (size_t j : variables) some.cross.push_back(moments.cross[i * p + j]);
  }
  return some;
}

}  // namespace partita::methods::mle
