// A step of DPVI in two worlds: every row at one end of its columns, or at the other. What crosses
// any link must look the same in both, the opened sums aside, which differ by design and cross as
// fresh shares. (That the engines' views are equal exactly is counted on tiny rings,
// tests/mpc/*_view_test.)
#include <gtest/gtest.h>

#include <numeric>

#include "crypto/prg.h"
#include "methods/mixture/mixture.h"
#include "stats/blr/variates.h"
#include "tests/mpc/evaluate.h"
#include "tests/mpc/two_worlds.h"

namespace partita::methods::mixture::view_test {
namespace {

using mpc::testing::Comparisons;
using mpc::testing::Links;
using mpc::testing::Setting;
using stats::mixture::Family;

constexpr size_t kRows = 110, kComponents = 10;  // enough for every byte of a message's elements

stats::mixture::Layout LayoutFor(size_t holders) {
  std::vector<stats::mixture::Feature> features;
  for (size_t p = 0; p < holders; ++p) {
    features.push_back({"level" + std::to_string(p), Family::kCategorical, 6, 1, p});
    features.push_back({"share" + std::to_string(p), Family::kBeta, 0, 1, p});
  }
  return stats::mixture::MakeLayout(std::move(features));
}

stats::mixture::Rows RowsAt(const stats::mixture::Layout& layout, bool high) {
  std::vector<std::vector<double>> values;
  for (const stats::mixture::Feature& feature : layout.features) {
    const double low_value = feature.family == Family::kBeta ? 0.02 : 0;
    const double high_value = feature.family == Family::kBeta ? 0.98 : 5;
    values.emplace_back(kRows, high ? high_value : low_value);
  }
  return OnStatisticGrid(layout, stats::mixture::MakeRows(layout, values), 64);
}

Links MessagesOf(mpc::testing::RunOptions options, size_t holders, bool high) {
  mpc::testing::Transcript transcript;
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<mpc::testing::RecordingTransport>(std::move(inner), transcript);
  };
  options.releases = {{kGradientRelease, "noisy sum", "all", "", 1}};
  const stats::mixture::Layout layout = LayoutFor(holders);
  std::vector<mpc::PartyIndex> index(holders);
  std::iota(index.begin(), index.end(), mpc::PartyIndex{0});
  const std::vector<HolderModel> models = HoldersOf(layout, index);
  const stats::mixture::Rows all = RowsAt(layout, high);
  std::vector<stats::mixture::Rows> rows;
  for (size_t p = 0; p < holders; ++p) rows.push_back(stats::mixture::PartyRows(layout, p, all));
  StepDesign design;
  design.num_rows = design.batch_rows = kRows;
  design.components = kComponents;
  design.noise_parties = {0, 1};
  design.noise_bound = 1;
  design = DesignFor(models, std::move(design));
  crypto::Prg prg(crypto::Key(std::array<uint8_t, 32>{3}));
  stats::blr::Variates variates(prg);
  Eigen::ArrayXXd theta(kComponents, 1 + layout.num_columns);
  for (Eigen::Index i = 0; i < theta.size(); ++i) theta.data()[i] = variates.Normal();
  const std::vector<uint32_t> batch = stats::mixture::AllRows(kRows);
  const std::vector<Int128> noise(design.num_values());
  mpc::testing::RunAll(options, [&](mpc::Engine& engine, size_t) {
    ModelAt model = MakeModelAt(models, theta);
    std::vector<StatisticReader> readers(holders);
    std::optional<HolderValues> own;
    for (size_t h = 0; h < holders; ++h) {
      if (engine.self() != h) continue;
      readers[h] = ReaderOf(models[h].layout, rows[h]);
      own = ValuesAt(models[h], model.components[h], rows[h], batch);
    }
    StepParameters parameters =
        engine.self() ? model.parameters : NoParameters(models, kComponents);
    parameters.batch = batch;
    SecureStep step(engine, design, readers);
    step.Run(parameters, own, noise);
  }).ThrowIfFailed();
  return mpc::testing::LinksOf(transcript, options);
}

Comparisons CompareWorlds(const mpc::testing::RunOptions& options, size_t holders) {
  return mpc::testing::CompareLinks(MessagesOf(options, holders, false),
                                    MessagesOf(options, holders, true));
}

TEST(DpviViewTest, RowsDoNotShowInWhatIsSent) {
  size_t tests = 0;
  for (const auto& [setting, holders] :
       std::vector<std::pair<Setting, size_t>>{{{"dealer", 2}, 2},
                                               {{"dealer", 3}, 3},
                                               {{"replicated", 3}, 2},
                                               {{"replicated", 3}, 3}}) {
    const Comparisons found = CompareWorlds(mpc::testing::OptionsOf(setting), holders);
    EXPECT_GT(found.tests, 100u) << setting.kind;
    EXPECT_LT(found.worst, mpc::testing::kLargest) << setting.kind << holders;
    tests += found.tests;
  }
  EXPECT_LE(tests, mpc::testing::kMostTests);
}

TEST(DpviViewFaultTest, MissingMasksAreSeen) {
  mpc::testing::RunOptions options = mpc::testing::OptionsOf({"dealer", 2});
  options.make = mpc::testing::MakeDealerWithoutMasks;
  EXPECT_GT(CompareWorlds(options, 2).worst, mpc::testing::kLargest);
  options = mpc::testing::OptionsOf({"replicated", 3});
  options.make = mpc::testing::MakeReplicatedWithoutMasks;
  EXPECT_GT(CompareWorlds(options, 3).worst, mpc::testing::kLargest);
}

}  // namespace
}  // namespace partita::methods::mixture::view_test
