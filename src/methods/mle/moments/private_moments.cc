#include "methods/mle/moments/private_moments.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "data/scaling.h"
#include "methods/mle/fit/released.h"
#include "privacy/rounded_text.h"
#include "privacy/sampling/clipping.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "privacy/sampling/moments_sensitivity.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::IntMatrix;
using mpc::PrivateMatrix;
using mpc::Shared;
using privacy::Adjacency;

constexpr int kGridBits = 2 * kPrivateFractionBits;
// A share beyond that many standard deviations has a probability below 2^-2900.
constexpr double kLargestShare = 64;
// Leaves room for the gap between a sum of shares and one discrete Gaussian.
constexpr double kCalibrationMargin = 1e-9;

double Up(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }

// Of the noised vector on real rows.
double RowSensitivity(const PrivateMoments& design, Adjacency adjacency) {
  const double norm = design.promise.norm;
  if (design.public_count) {
    return privacy::MomentsSensitivity({design.dimension, false}, norm, adjacency).value();
  }
  const double one_cell =
      privacy::MomentsSensitivity({design.dimension, true}, norm, Adjacency::kAddRemove).value();
  return adjacency == Adjacency::kAddRemove ? one_cell : Up(Up(std::sqrt(2.0)) * one_cell);
}

privacy::GridL2Sensitivity OnGrid(const PrivateMoments& design, Adjacency adjacency) {
  const double person = Up(RowSensitivity(design, adjacency) *
                           static_cast<double>(design.promise.max_rows_per_person));
  return privacy::ToGrid(privacy::L2Sensitivity(person), kGridBits, design.num_noised, 0);
}

bool AnySelects(const MomentsTask& task) {
  for (const RowBlock& block : task.blocks) {
    for (const BlockHolder& holder : block.holders) {
      if (std::find(holder.selects.begin(), holder.selects.end(), true) != holder.selects.end())
        return true;
    }
  }
  return false;
}

// A row of numbers with `bits` fewer fraction bits than the grid, moved onto it.
Shared LiftToGrid(Engine& engine, const Shared& row, int bits) {
  const IntMatrix factor{{1, 1}, {Int128{1} << bits}};
  return engine.MultiplyPublic(mpc::PublicMatrix{factor, bits}, row);
}

// The vector that is noised, by cell: count (unless public), sums, upper cross products.
Shared NoisedVector(Engine& engine, const std::vector<SharedMoments>& shared,
                    const PrivateMoments& design) {
  std::vector<std::pair<size_t, size_t>> sums;
  for (size_t v : design.release.variables) sums.emplace_back(0, v);
  std::vector<Shared> parts;
  for (size_t cell : design.release.cells) {
    const SharedMoments& moments = shared.at(cell);
    if (!design.public_count) parts.push_back(LiftToGrid(engine, moments.count, kGridBits));
    parts.push_back(LiftToGrid(engine, Gather(engine, moments.sums, sums), kPrivateFractionBits));
    parts.push_back(Gather(engine, moments.cross, design.release.pairs));
  }
  return engine.Concatenate(parts, false);
}

std::vector<PrivateMatrix> NoiseInputs(Engine& engine, const PrivateMoments& design,
                                       const std::vector<Int128>& own_share) {
  const double sigma = privacy::StddevUpperBound(design.noise.share_variance);
  std::vector<PrivateMatrix> inputs;
  for (uint32_t party = 0; party < design.noise.sharing.parties; ++party) {
    PrivateMatrix share{party,
                        {1, design.num_noised},
                        kGridBits,
                        std::ldexp(kLargestShare * sigma, -kGridBits),
                        nullptr};
    if (engine.self() == party) {
      if (own_share.size() != design.num_noised) {
        throw Error(ErrorCode::kInternal, "a computing party has no noise of its own to add");
      }
      share.read = [&own_share](size_t, size_t num_rows, Int128* out) {
        if (num_rows > 0) std::copy(own_share.begin(), own_share.end(), out);
      };
    }
    inputs.push_back(std::move(share));
  }
  return inputs;
}

// By cell, from the numbers in the order of NoisedVector.
std::vector<NoisedMoments> Place(const MomentsTask& task, const PrivateMoments& design,
                                 const std::vector<Int128>& numbers,
                                 const std::vector<Int128>& public_counts) {
  const size_t p = task.num_variables;
  std::vector<NoisedMoments> cells;
  size_t at = 0;
  for (size_t c = 0; c < design.release.cells.size(); ++c) {
    NoisedMoments moments{0, std::vector<Int128>(p), std::vector<Int128>(p * p)};
    moments.count = design.public_count ? public_counts.at(c) : numbers.at(at++);
    for (size_t v : design.release.variables) moments.sum[v] = numbers.at(at++);
    for (const auto& [a, b] : design.release.pairs)
      moments.cross[a * p + b] = moments.cross[b * p + a] = numbers.at(at++);
    cells.push_back(std::move(moments));
  }
  return cells;
}

double Real(Int128 grid) { return std::ldexp(static_cast<double>(grid), -kGridBits); }

// Eigenvalues below `floor` are raised to it. Returns how many.
int Repair(Eigen::MatrixXd& covariance, double floor) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  const Eigen::VectorXd& values = solver.eigenvalues();
  const auto raised = static_cast<int>((values.array() < floor).count());
  if (raised == 0) return 0;
  const Eigen::MatrixXd repaired = solver.eigenvectors() * values.cwiseMax(floor).asDiagonal() *
                                   solver.eigenvectors().transpose();
  covariance = (repaired + repaired.transpose()) / 2;
  return raised;
}

struct GroupSample {
  stats::GroupMoments moments;  // original units
  int repaired = 0;
};

GroupSample SampleOf(const MleAnalysis& analysis, const PrivateMoments& design,
                     const std::vector<size_t>& variables, const NoisedMoments& noised,
                     double smallest_n) {
  const auto p = static_cast<Eigen::Index>(variables.size());
  const size_t stride = noised.sum.size();
  const double counted =
      design.public_count ? static_cast<double>(noised.count) : std::round(Real(noised.count));
  GroupSample sample;
  sample.moments.n = design.public_count ? counted : std::max(counted, smallest_n);
  Eigen::VectorXd mean(p);
  Eigen::MatrixXd covariance(p, p);
  for (Eigen::Index i = 0; i < p; ++i) {
    const size_t a = variables[static_cast<size_t>(i)];
    mean[i] = Real(noised.sum[a]) / sample.moments.n;
    for (Eigen::Index j = 0; j < p; ++j)
      covariance(i, j) =
          Real(noised.cross[a * stride + variables[static_cast<size_t>(j)]]) / sample.moments.n;
  }
  covariance -= mean * mean.transpose();
  sample.repaired = Repair(covariance, NoiseStddev(design) / sample.moments.n);
  const stats::StatisticsScale scale = NoiseOf(analysis, design).scale;
  sample.moments.mean = scale.centre + scale.half_width.cwiseProduct(mean);
  sample.moments.covariance =
      scale.half_width.asDiagonal() * covariance * scale.half_width.asDiagonal();
  return sample;
}

}  // namespace

double HolderBound(double norm, size_t own_columns, size_t all_columns) {
  if (own_columns == all_columns) return norm;
  const double part = static_cast<double>(own_columns) / static_cast<double>(all_columns);
  return norm * std::sqrt(part) * (1 - 0x1p-40);
}

mpc::RowReader ClippedRows(mpc::RowReader values, size_t columns, double bound) {
  const privacy::ClipBound clip{privacy::Norm::kL2, bound, kPrivateFractionBits};
  return
      [values = std::move(values), columns, clip](size_t first_row, size_t num_rows, Int128* out) {
        values(first_row, num_rows, out);
        std::vector<double> row(columns);
        for (size_t r = 0; r < num_rows; ++r) {
          const std::span<Int128> grid(out + r * columns, columns);
          for (size_t c = 0; c < columns; ++c)
            row[c] = std::ldexp(static_cast<double>(grid[c]), -kPrivateFractionBits);
          privacy::ClipToGrid(row, clip, grid);
        }
      };
}

PrivateMoments DesignPrivateMoments(const PrivacyPromise& promise, const MomentsTask& task,
                                    const MomentsRelease& release, uint32_t num_computing) {
  PrivateMoments design;
  design.promise = promise;
  design.release = release;
  design.dimension = task.num_variables;
  // No row of p values in [-1, 1] is longer than that.
  design.promise.norm =
      std::min(promise.norm, Up(std::sqrt(static_cast<double>(design.dimension))));
  design.public_count =
      promise.adjacency == Adjacency::kReplace && release.cells.size() == 1 && !AnySelects(task);
  design.num_noised = NumReleasedValues(release) - (design.public_count ? 1 : 0);
  design.sensitivity = OnGrid(design, promise.adjacency);
  design.replace_sensitivity = OnGrid(design, Adjacency::kReplace);
  const privacy::GridVariance variance = privacy::CalibrateDiscreteGaussian(
      design.sensitivity, design.num_noised,
      privacy::Epsilon(promise.epsilon * (1 - kCalibrationMargin)), privacy::Delta(promise.delta));
  design.noise =
      privacy::ShareNoise(variance, {num_computing, promise.known_shares}, design.num_noised);
  return design;
}

std::vector<Int128> DrawNoiseShare(const PrivateMoments& design, crypto::RandomSource& random) {
  std::vector<Int128> share(design.num_noised);
  privacy::DiscreteGaussian(design.noise.share_variance).Sample(random, share);
  return share;
}

std::vector<NoisedMoments> OpenPrivateMoments(Engine& engine, const MomentsTask& task,
                                              const std::vector<SharedMoments>& shared,
                                              const PrivateMoments& design,
                                              const std::vector<Int128>& own_share) {
  Shared vector = NoisedVector(engine, shared, design);
  for (const Shared& share : engine.Input(NoiseInputs(engine, design, own_share)))
    vector = engine.Add(vector, share);
  std::vector<Shared> values = {std::move(vector)};
  if (design.public_count) values.push_back(shared.at(design.release.cells.front()).count);
  const std::vector<IntMatrix> opened =
      engine.Reveal(design.release.id, values, design.release.receiver);
  if (engine.self() != design.release.receiver) return {};
  const std::vector<Int128> counts = design.public_count ? opened[1].values : std::vector<Int128>{};
  for (Int128 count : counts) {
    if (count >= 0 && count <= static_cast<Int128>(task.max_rows)) continue;
    throw Error(ErrorCode::kPeerFault, "the opened number of rows is impossible",
                "a party departed from the protocol: compare versions and run the study again");
  }
  return Place(task, design, opened[0].values, counts);
}

double NoiseStddev(const PrivateMoments& design) {
  const double shares = design.noise.sharing.parties;
  return std::ldexp(std::sqrt(shares) * privacy::StddevUpperBound(design.noise.share_variance),
                    -kGridBits);
}

stats::MomentNoise NoiseOf(const MleAnalysis& analysis, const PrivateMoments& design) {
  const auto p = static_cast<Eigen::Index>(analysis.variables.size());
  stats::MomentNoise noise;
  noise.scale.centre.resize(p);
  noise.scale.half_width.resize(p);
  for (Eigen::Index i = 0; i < p; ++i) {
    const data::ColumnScale scale =
        data::ScaleOf(analysis.variables[static_cast<size_t>(i)].schema);
    noise.scale.centre[i] = scale.centre;
    noise.scale.half_width[i] = scale.half_width;
  }
  noise.variance = NoiseStddev(design) * NoiseStddev(design);
  noise.noised_count = !design.public_count;
  return noise;
}

MleResult FitPrivateMoments(const MleAnalysis& analysis, const PrivateMoments& design,
                            const std::vector<size_t>& variables,
                            const std::vector<NoisedMoments>& groups, Progress& progress) {
  const double smallest_n =
      1 +
      static_cast<double>(std::max(variables.size(), static_cast<size_t>(analysis.table.num_free)));
  ReleasedMoments moments;
  moments.noise = {NoiseOf(analysis, design), MechanismText(design), design.promise.norm};
  int repaired = 0;
  for (const NoisedMoments& group : groups) {
    GroupSample sample = SampleOf(analysis, design, variables, group, smallest_n);
    repaired += sample.repaired;
    moments.groups.push_back(std::move(sample.moments));
  }
  MleResult result = FitReleased(analysis, std::move(moments), progress);
  if (repaired > 0) {
    result.notes.push_back(fmt::format(
        "The noise left {} {} of the covariance matrices below its own size: raised to it.",
        repaired, repaired == 1 ? "eigenvalue" : "eigenvalues"));
  }
  return result;
}

std::string MechanismText(const PrivateMoments& design) {
  return fmt::format("discrete Gaussian, sigma = {}, eps = {}, delta = {}, {}",
                     privacy::RoundedText(NoiseStddev(design), 4, false),
                     privacy::GivenText(design.promise.epsilon, 6, true),
                     privacy::DeltaText(design.promise.delta),
                     privacy::AdjacencyName(design.promise.adjacency));
}

}  // namespace partita::methods::mle
