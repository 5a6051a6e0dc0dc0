#include "methods/mle/pooled_moments.h"

#include "base/error.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::IntMatrix;
using mpc::Shared;

// One row of single entries of a shared matrix.
template <typename Entries>
Shared Gather(Engine& engine, const Shared& matrix, const Entries& entries) {
  std::vector<Shared> parts;
  for (const auto& [row, col] : entries) parts.push_back(engine.Slice(matrix, row, col, {1, 1}));
  return engine.Concatenate(parts, false);
}

std::vector<Shared> Wanted(Engine& engine, const SharedMoments& cell,
                           const MomentsRelease& release) {
  std::vector<std::pair<size_t, size_t>> sums;
  for (size_t v : release.variables) sums.emplace_back(0, v);
  return {cell.count, Gather(engine, cell.sums, sums), Gather(engine, cell.cross, release.pairs)};
}

IntegerMoments Place(const MomentsTask& task, const MomentsRelease& release,
                     const IntMatrix* opened) {
  const size_t p = task.num_variables;
  IntegerMoments moments{opened[0].values[0], std::vector<Int128>(p), std::vector<Int128>(p * p)};
  // Counts of honest holders add up to at most max_rows; anything else is a peer's doing.
  if (moments.n < 0 || moments.n > static_cast<Int128>(task.max_rows)) {
    throw Error(ErrorCode::kPeerFault, "the opened number of rows is impossible",
                "a party departed from the protocol: compare versions and run the study again");
  }
  for (size_t i = 0; i < release.variables.size(); ++i)
    moments.sum[release.variables[i]] = opened[1].values[i];
  for (size_t i = 0; i < release.pairs.size(); ++i) {
    const auto& [a, b] = release.pairs[i];
    moments.cross[a * p + b] = opened[2].values[i];
    moments.cross[b * p + a] = opened[2].values[i];
  }
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

uint64_t NumReleasedValues(const MomentsRelease& release) {
  return release.cells.size() * (1 + release.variables.size() + release.pairs.size());
}

std::vector<IntegerMoments> OpenMoments(Engine& engine, const MomentsTask& task,
                                        const std::vector<SharedMoments>& shared,
                                        const MomentsRelease& release) {
  std::vector<Shared> values;
  for (size_t cell : release.cells) {
    for (Shared& part : Wanted(engine, shared.at(cell), release)) values.push_back(std::move(part));
  }
  const std::vector<IntMatrix> opened = engine.Reveal(release.id, values, release.receiver);
  if (engine.self() != release.receiver) return {};
  std::vector<IntegerMoments> moments;
  for (size_t c = 0; c < release.cells.size(); ++c)
    moments.push_back(Place(task, release, opened.data() + 3 * c));
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

IntegerMoments PlaintextMoments(size_t num_variables,
                                const std::vector<std::vector<Int128>>& values,
                                const std::vector<std::vector<int32_t>>& weights) {
  const size_t p = num_variables;
  IntegerMoments moments{0, std::vector<Int128>(p), std::vector<Int128>(p * p)};
  for (size_t b = 0; b < weights.size(); ++b) {
    for (size_t r = 0; r < weights[b].size(); ++r) {
      const Int128 weight = weights[b][r];
      const Int128* row = values[b].data() + r * p;
      moments.n += weight;
      for (size_t i = 0; i < p; ++i) {
        moments.sum[i] += weight * row[i];
        for (size_t j = 0; j < p; ++j) moments.cross[i * p + j] += weight * row[i] * row[j];
      }
    }
  }
  return moments;
}

}  // namespace partita::methods::mle
