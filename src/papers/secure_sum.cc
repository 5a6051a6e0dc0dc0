#include "papers/secure_sum.h"

#include <fmt/format.h>

#include "base/error.h"
#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "net/memory_transport.h"
#include "papers/smle_parties.h"

namespace partita::papers {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;

constexpr size_t kHolders = 2;

// One process of the engine; its members are used by one thread at a time.
struct Process {
  std::unique_ptr<net::Channel> channel;
  mpc::CountingReleaseGate gate;
  std::unique_ptr<mpc::Engine> engine;
  stats::mixture::Rows rows;  // of a holder, on the grid of statistics
  std::unique_ptr<methods::mixture::SecureStep> step;
};

std::unique_ptr<mpc::Engine> MakeEngine(const std::string& name, Process& process) {
  if (name == "replicated") return mpc::MakeReplicatedEngine(*process.channel, process.gate);
  if (name == "ot") return mpc::MakeOtEngine(*process.channel, process.gate);
  return mpc::MakeDealerEngine(*process.channel, process.gate);
}

std::vector<std::string> ProcessNames(const std::string& engine) {
  std::vector<std::string> names = {"demographic", "financial"};
  if (engine == "replicated") names.emplace_back("third");
  if (engine == "dealer") names.emplace_back("dealer");
  return names;
}

class SecureSum {
 public:
  SecureSum(const std::string& engine, const stats::mixture::Layout& layout,
            const stats::mixture::Rows& rows, methods::mixture::RunPlan plan,
            stats::mixture::NoiseAdder add_noise)
      : plan_(std::move(plan)), add_noise_(std::move(add_noise)) {
    crypto::SystemRandom random;
    const std::vector<std::string> names = ProcessNames(engine);
    Bytes run_id(crypto::Digest{}.size());
    random.Fill(run_id);
    auto transports = net::MakeMemoryTransports(names, random);
    processes_.resize(names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      processes_[i].channel = std::make_unique<net::Channel>(std::move(transports[i]), run_id, 1);
      processes_[i].gate.Reserve({methods::mixture::GradientRelease(plan_)});
    }
    OnAll([&](Process& process, size_t self) {
      process.engine = MakeEngine(engine, process);
      std::vector<methods::mixture::StatisticReader> readers(plan_.holders.size());
      if (self < kHolders) {
        const methods::mixture::HolderModel& holder = plan_.holders[self];
        process.rows = methods::mixture::OnStatisticGrid(
            holder.layout, stats::mixture::PartyRows(layout, self, rows),
            plan_.step.holders[self].statistic_bound);
        readers[self] = methods::mixture::ReaderOf(holder.layout, process.rows);
      }
      process.step =
          std::make_unique<methods::mixture::SecureStep>(*process.engine, plan_.step, readers);
    });
  }

  ArrayXXd operator()(const ArrayXXd& theta, std::span<const uint32_t> batch) {
    const std::vector<Int128> noise = DrawNoise();
    ArrayXXd sum;
    OnAll([&](Process& process, size_t self) {
      const bool knows = process.engine->self().has_value();
      methods::mixture::ModelAt model;
      if (knows) {
        model = methods::mixture::MakeModelAt(plan_.holders, theta);
      } else {
        model.parameters = methods::mixture::NoParameters(plan_.holders, plan_.request.components);
      }
      model.parameters.batch.assign(batch.begin(), batch.end());
      std::optional<methods::mixture::HolderValues> values;
      if (self < kHolders) {
        values = methods::mixture::ValuesAt(plan_.holders[self], model.components[self],
                                            process.rows, batch);
      }
      ArrayXXd opened = process.step->Run(model.parameters, values,
                                          self == 0 ? noise : std::span<const Int128>());
      if (self == 0) sum = std::move(opened);
    });
    return methods::mixture::InModelOrder(plan_.holders, sum);
  }

 private:
  // In the order and on the grid of the opened sum.
  std::vector<Int128> DrawNoise() {
    const auto components = static_cast<Index>(plan_.request.components);
    ArrayXXd drawn =
        ArrayXXd::Zero(components, 1 + static_cast<Index>(plan_.request.layout.num_columns));
    add_noise_(drawn);
    std::vector<Index> order = {0};
    for (const methods::mixture::HolderModel& holder : plan_.holders) {
      for (const size_t column : holder.columns) order.push_back(1 + static_cast<Index>(column));
    }
    std::vector<Int128> noise;
    noise.reserve(static_cast<size_t>(drawn.size()));
    for (Index k = 0; k < components; ++k) {
      for (const Index column : order)
        noise.push_back(methods::mixture::ToGrid(drawn(k, column), methods::mixture::kGridBits));
    }
    return noise;
  }

  template <typename Body>
  void OnAll(const Body& body) {
    std::vector<net::Channel*> channels;
    for (const Process& process : processes_) channels.push_back(process.channel.get());
    RunTogether(channels, [&](size_t self) { body(processes_[self], self); });
  }

  methods::mixture::RunPlan plan_;
  stats::mixture::NoiseAdder add_noise_;
  std::vector<Process> processes_;
};

}  // namespace

stats::mixture::Arm SecureArm(const std::string& engine, const stats::mixture::Layout& layout,
                              const stats::mixture::Rows& rows,
                              const methods::mixture::RunPlan& plan) {
  return {fmt::format("protocol, engine {}", engine),
          [=, &layout, &rows](const stats::mixture::ClippedNoise& options,
                              crypto::RandomSource& noise) {
            const auto sum = std::make_shared<SecureSum>(
                engine, layout, rows, plan, stats::mixture::MakeNoiseAdder(options, noise));
            return [sum](const ArrayXXd& theta, std::span<const uint32_t> batch) {
              return (*sum)(theta, batch);
            };
          }};
}

methods::mixture::RunPlan SecureArmPlan(const stats::mixture::Layout& layout, uint32_t num_rows,
                                        const stats::mixture::ExperimentOptions& options) {
  methods::mixture::RunRequest request;
  request.layout = layout;
  request.party_index = {0, 1};
  request.num_rows = num_rows;
  request.components = options.components;
  request.variational = options.variational;
  request.batch_mode = options.batch_mode;
  request.batch_size = options.batch_size;
  request.clip = options.noise.clip;
  request.noise_multiplier = options.noise.noise_multiplier;
  request.noise_parties = {0};
  return methods::mixture::PlanRun(std::move(request));
}

}  // namespace partita::papers
