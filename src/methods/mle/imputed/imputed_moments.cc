#include "methods/mle/imputed/imputed_moments.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "methods/mle/imputed/shared_imputation.h"
#include "methods/mle/sealed/values.h"
#include "mpc/compare.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::IntMatrix;
using mpc::Shared;

std::string CountsRelease(const ImputationTask& task) { return "pattern-counts" + task.name; }
std::string DomainRelease(const ImputationTask& task) { return "imputed" + task.name; }
std::string ImputedMomentsRelease(const ImputationTask& task) {
  return "imputed-moments" + task.name;
}

std::string InGroup(const ImputationTask& task, size_t group) {
  return task.groups.size() < 2 ? "" : fmt::format(" in group '{}'", task.groups[group]);
}

std::string Lacks(const ImputationTask& task, const std::vector<size_t>& observed) {
  std::string names;
  for (size_t v = 0; v < task.names.size(); ++v) {
    if (!std::binary_search(observed.begin(), observed.end(), v))
      names += (names.empty() ? "" : ", ") + task.names[v];
  }
  return names;
}

std::vector<std::vector<double>> OpenCounts(Engine& engine, const ImputationTask& task,
                                            const std::vector<SharedMoments>& cells) {
  std::vector<Shared> counts;
  counts.reserve(cells.size());
  for (const SharedMoments& cell : cells) counts.push_back(cell.count);
  const std::vector<Shared> one = {engine.Concatenate(counts, true)};
  const IntMatrix opened = engine.Reveal(CountsRelease(task), one, mpc::kEverybody).front();
  const size_t patterns = task.observed.size();
  std::vector<std::vector<double>> by_group(task.groups.size());
  for (size_t i = 0; i < opened.values.size(); ++i) {
    const auto n = static_cast<double>(opened.values[i]);
    if (n < 0 || n > task.max_rows) {
      throw Error(ErrorCode::kPeerFault, "the opened number of rows is impossible",
                  "a party departed from the protocol: compare versions and run the study again");
    }
    by_group[i / patterns].push_back(n);
  }
  return by_group;
}

void RequireRows(const ImputationTask& task, size_t group, const std::vector<double>& counts) {
  const size_t p = task.variables.size();
  double rows = 0;
  std::vector<double> having(p);
  for (size_t k = 0; k < counts.size(); ++k) {
    const std::vector<size_t>& observed = task.observed[k];
    if (!observed.empty()) rows += counts[k];
    for (const size_t v : observed) having[v] += counts[k];
  }
  for (size_t v = 0; v < p; ++v) {
    if (having[v] > 0) continue;
    throw Error(ErrorCode::kRefused,
                fmt::format("no row{} has a value of {}", InGroup(task, group), task.names[v]),
                "leave the variable out, or check with its holders");
  }
  for (size_t v = 0; v < p; ++v) {
    for (size_t w = 0; w < v; ++w) {
      double both = 0;
      for (size_t k = 0; k < counts.size(); ++k) {
        const std::vector<size_t>& observed = task.observed[k];
        const bool has = std::binary_search(observed.begin(), observed.end(), v) &&
                         std::binary_search(observed.begin(), observed.end(), w);
        both += has ? counts[k] : 0;
      }
      if (both > static_cast<double>(p)) continue;
      throw Error(ErrorCode::kRefused,
                  fmt::format("{} rows{} have both {} and {}, which says too little of how they "
                              "go together",
                              both, InGroup(task, group), task.names[w], task.names[v]),
                  "leave one of the variables out, or check with their holders");
    }
  }
  if (rows < static_cast<double>(p + kRowsBeyondVariables)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} rows{} are not enough to impute {} variables: {} are needed", rows,
                            InGroup(task, group), p, p + kRowsBeyondVariables),
                "leave variables out, or use missing = \"fiml\"");
  }
  // Patterns that are equal on these variables are one.
  for (const std::vector<size_t>& observed : task.observed) {
    if (observed.empty() || observed.size() == p) continue;
    double same = 0;
    for (size_t k = 0; k < counts.size(); ++k) same += task.observed[k] == observed ? counts[k] : 0;
    if (same == 0 || same > static_cast<double>(observed.size())) continue;
    throw Error(ErrorCode::kRefused,
                fmt::format("only {} rows{} lack {} and have the {} other variables: their moments "
                            "do not say what they are like",
                            same, InGroup(task, group), Lacks(task, observed), observed.size()),
                "leave the pattern out with other_patterns = \"leave-out\", use fewer variables, "
                "or missing = \"fiml\"");
  }
}

void RequireDomain(Engine& engine, const ImputationTask& task, const Shared& beyond) {
  const std::vector<mpc::SharedBits> within = mpc::IsZero(engine, std::span(&beyond, 1));
  const mpc::BitMatrix bit =
      engine.RevealBits(DomainRelease(task), within, mpc::kEverybody).front();
  if (!engine.self() || mpc::GetBit(bit, 0, 0)) return;
  throw Error(ErrorCode::kRefused,
              "the rows could not be imputed: covariances of completed rows became singular, or "
              "rows of one pattern are spread far more widely than the others; nothing was opened",
              "leave out variables that determine each other or that are rarely observed, state "
              "bounds nearer to the values in the dictionary, or use missing = \"fiml\"");
}

MatrixXd DecodeCounts(const IntMatrix& matrix) {
  const auto rows = static_cast<Index>(matrix.shape.rows);
  const auto columns = static_cast<Index>(matrix.shape.cols);
  MatrixXd values(rows, columns);
  for (Index i = 0; i < rows * columns; ++i) {
    values(i / columns, i % columns) =
        mpc::DecodeFixed(matrix.values[static_cast<size_t>(i)], kSealedBits);
  }
  return values;
}

// Means, then the covariances of the task's pairs.
Shared OpenedValues(Engine& engine, const ImputationTask& task, const ImputedMoments& moments) {
  std::vector<Shared> parts = {AsRow(moments.mean)};
  for (const auto& [v, w] : task.pairs)
    parts.push_back(engine.Slice(moments.covariance, v, w, {1, 1}));
  for (Shared& part : parts) part.bound = kLargestEntry;
  return engine.Concatenate(parts, false);
}

stats::GroupMoments MomentsOf(const MatrixXd& row, const ImputationTask& task, double n) {
  const auto p = static_cast<Index>(task.variables.size());
  stats::GroupMoments moments{n, row.row(0).head(p).transpose(), MatrixXd::Zero(p, p)};
  Index next = p;
  for (const auto& pair : task.pairs) {
    const auto v = static_cast<Index>(pair.first), w = static_cast<Index>(pair.second);
    moments.covariance(v, w) = moments.covariance(w, v) = row(0, next++);
  }
  return moments;
}

}  // namespace

uint64_t NumImputedValues(const ImputationTask& task) {
  const uint64_t moments = task.variables.size() + task.pairs.size();
  return task.groups.size() * (task.observed.size() + task.options.imputations * moments);
}

std::vector<mpc::Release> ImputationReleases(const ImputationTask& task,
                                             const std::string& receiver_name) {
  const uint64_t groups = task.groups.size(), counts = groups * task.observed.size();
  const size_t list_pairs = task.names.size() * (task.names.size() + 1) / 2;
  std::string list;
  for (const std::string& name : task.names) list += (list.empty() ? "" : ", ") + name;
  return {{CountsRelease(task),
           fmt::format("how many rows have each of the {} patterns of missing values{}",
                       task.observed.size(), groups > 1 ? ", by group" : ""),
           "all", "exact", 1, mpc::kEverybody, counts},
          {DomainRelease(task), "whether the imputation stayed within its numeric bounds, one bit",
           "all", "exact", 1, mpc::kEverybody, 1},
          {ImputedMomentsRelease(task),
           fmt::format("means and covariances of {} in {} imputed tables{}{}", list,
                       task.options.imputations, groups > 1 ? ", by group" : "",
                       task.pairs.size() < list_pairs
                           ? "; only covariances of variables that one analysis uses together"
                           : ""),
           receiver_name, "exact", 1, task.receiver, NumImputedValues(task) - counts}};
}

OpenedImputations ImputeAndOpen(Engine& engine, const ImputationTask& task,
                                const std::vector<SharedMoments>& cells,
                                crypto::RandomSource* random, Progress& progress) {
  OpenedImputations opened;
  opened.counts = OpenCounts(engine, task, cells);
  const size_t patterns = task.observed.size();
  std::vector<PatternSums> sums;
  for (size_t g = 0; g < task.groups.size(); ++g) {
    if (engine.self()) RequireRows(task, g, opened.counts[g]);
    const auto first = cells.begin() + static_cast<std::ptrdiff_t>(g * patterns);
    sums.push_back({{first, first + static_cast<std::ptrdiff_t>(patterns)},
                    task.observed,
                    engine.self() ? opened.counts[g] : std::vector<double>(patterns, 1.0),
                    task.variables,
                    task.max_rows});
  }
  std::vector<std::unique_ptr<stats::VariateTape>> own;
  std::vector<stats::ImputationTape*> tapes;
  if (engine.self() && random == nullptr)
    throw Error(ErrorCode::kInternal, "a party of an imputation has no randomness");
  if (random != nullptr) own.push_back(std::make_unique<stats::VariateTape>(*random));
  for (size_t c = 0; c < task.groups.size() * task.options.imputations && !own.empty(); ++c)
    tapes.push_back(own.front().get());
  const SharedImputations imputed =
      ImputeOnShares(engine, StandardisePatterns(engine, sums), task.options, tapes, progress);
  RequireDomain(engine, task, imputed.beyond);
  std::vector<Shared> values;
  for (const auto& group : imputed.groups) {
    for (const ImputedMoments& moments : group)
      values.push_back(OpenedValues(engine, task, moments));
  }
  const std::vector<IntMatrix> rows =
      engine.Reveal(ImputedMomentsRelease(task), values, task.receiver);
  if (engine.self() != task.receiver) return opened;
  auto next = rows.begin();
  for (size_t g = 0; g < task.groups.size(); ++g) {
    double n = 0;
    for (size_t k = 0; k < patterns; ++k) n += task.observed[k].empty() ? 0 : opened.counts[g][k];
    opened.moments.emplace_back();
    for (size_t i = 0; i < task.options.imputations; ++i) {
      opened.moments.back().push_back(MomentsOf(DecodeCounts(*next++), task, n));
    }
  }
  return opened;
}

}  // namespace partita::methods::mle
