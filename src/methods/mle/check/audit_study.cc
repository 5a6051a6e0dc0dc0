#include "methods/mle/check/audit_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <thread>

#include "base/error.h"
#include "crypto/prg.h"
#include "methods/mle/study/protocol.h"
#include "net/memory_transport.h"
#include "privacy/accounting/normal.h"
#include "privacy/audit/release_runs.h"
#include "privacy/audit/replay.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "run/party/local_data.h"
#include "run/party/study_engine.h"
#include "run/simulate/mock_tables.h"
#include "run/simulate/temporary_folder.h"

namespace partita::methods::mle {
namespace {

constexpr uint64_t kRunsAtOnce = 1000;
const Bytes kRunId = {'a', 'u', 'd', 'i', 't'};

using PartyRows = std::vector<std::vector<LocalBlock>>;  // by party, by block of the computation
using PartyNoise = std::vector<std::vector<Int128>>;     // by computing party

// The mock tables as every party reads its own.
PartyRows LoadMockRows(const MleStudy& study, const StudyAuditOptions& options,
                       crypto::RandomSource& random, Progress& progress) {
  const run::TemporaryFolder folder;
  const data::MockStudy mock = run::MakeMockTables(study, options.rows_per_block, options.seed);
  const std::vector<std::filesystem::path> paths = run::WriteMockTables(study, mock, folder.path());
  const crypto::Key salt = crypto::RandomKey(random);
  PartyRows rows;
  for (size_t party = 0; party < study.parties.size(); ++party) {
    run::LocalData local =
        study.parties[party].holder
            ? run::LoadLocalData(study, party, paths[party], salt, progress, run::Rows::kKept)
            : run::NoLocalData(study);
    rows.push_back(std::move(static_cast<LocalRows&>(*local.method).blocks.front()));
  }
  return rows;
}

// The opened numbers in the order in which noise is added to them, then the public count.
std::vector<Int128> OpenedNumbers(const PrivateMoments& design, size_t num_variables,
                                  const std::vector<NoisedMoments>& cells) {
  std::vector<Int128> numbers;
  std::vector<Int128> counts;
  for (const NoisedMoments& cell : cells) {
    (design.public_count ? counts : numbers).push_back(cell.count);
    for (const size_t variable : design.release.variables) numbers.push_back(cell.sum[variable]);
    for (const auto& [a, b] : design.release.pairs) {
      numbers.push_back(cell.cross[a * num_variables + b]);
    }
  }
  numbers.insert(numbers.end(), counts.begin(), counts.end());
  return numbers;
}

// One run of the study's protocol up to its release, all parties as threads. Returns what the
// receiver opens.
std::vector<Int128> RunRelease(const MleStudy& study, const PartyRows& rows,
                               const PartyNoise& noise, crypto::RandomSource& random) {
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(run::PartyNames(study), random);
  std::vector<std::optional<Error>> errors(transports.size());
  std::vector<NoisedMoments> opened;
  const auto party = [&](size_t self, std::unique_ptr<net::Transport> transport) {
    net::Channel channel(std::move(transport), kRunId, 1);
    mpc::CountingReleaseGate gate;
    gate.Reserve(study.releases);
    const std::unique_ptr<mpc::Engine> engine = run::MakeStudyEngine(study, channel, gate);
    const MomentsTask& task = study.computations.front().task;
    try {
      const auto shared =
          ComputeMoments(*engine, task, engine->self() ? rows[self] : std::vector<LocalBlock>{});
      auto cells = OpenPrivateMoments(*engine, task, shared, *study.privacy,
                                      self < noise.size() ? noise[self] : std::vector<Int128>{});
      if (self == study.receiver) opened = std::move(cells);
    } catch (const Error& error) {
      errors[self] = error;
      channel.Abort(error);
    }
  };
  std::vector<std::thread> threads;
  for (size_t self = 0; self < transports.size(); ++self) {
    threads.emplace_back(party, self, std::move(transports[self]));
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool any : {false, true}) {
    for (const std::optional<Error>& error : errors) {
      if (error && (any || error->code() != ErrorCode::kPeerLost)) throw Error(*error);
    }
  }
  return OpenedNumbers(*study.privacy, study.computations.front().task.num_variables, opened);
}

// The block with row 0 as row `with` is, values and sets of rows; under add-remove without its last
// row.
LocalBlock Neighbour(const LocalBlock& block, size_t with, privacy::Adjacency adjacency) {
  LocalBlock changed = block;
  if (adjacency == privacy::Adjacency::kAddRemove) {
    --changed.num_rows;
    for (std::vector<int32_t>& selector : changed.selectors) {
      if (!selector.empty()) selector.pop_back();
    }
    return changed;
  }
  for (std::vector<int32_t>& selector : changed.selectors) {
    if (!selector.empty()) selector[0] = selector[with];
  }
  if (!block.values) return changed;
  changed.values = [values = block.values, with](size_t first, size_t num, Int128* out) {
    values(first, num, out);
    if (first == 0 && num > 0) values(with, 1, out);
  };
  return changed;
}

PartyRows NeighbourRows(const PartyRows& rows, size_t block, size_t with,
                        privacy::Adjacency adjacency) {
  PartyRows changed = rows;
  for (std::vector<LocalBlock>& blocks : changed) {
    if (!blocks.empty() && blocks[block].num_rows > with)
      blocks[block] = Neighbour(blocks[block], with, adjacency);
  }
  return changed;
}

std::vector<Int128> DifferenceOf(const std::vector<Int128>& a, const std::vector<Int128>& b) {
  std::vector<Int128> difference(a.size());
  for (size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return difference;
}

// As the parties draw it, each from a tape of its own.
PartyNoise DrawNoise(const MleStudy& study, crypto::RandomSource& random) {
  PartyNoise noise;
  for (size_t party = 0; party < study.num_computing; ++party) {
    noise.push_back(DrawNoiseShare(*study.privacy, random));
  }
  return noise;
}

// The share of one party is what its sampler gives on the same tape.
bool DrawsFromTheDesign(const PrivateMoments& design, crypto::RandomSource& random) {
  const crypto::Key key = crypto::RandomKey(random);
  crypto::Prg tape(key);
  crypto::Prg twin(key);
  std::vector<Int128> expected(design.num_noised);
  privacy::DiscreteGaussian(design.noise.share_variance).Sample(twin, expected);
  return DrawNoiseShare(design, tape) == expected;
}

std::vector<std::string> Replay(const MleStudy& study, const StudyAuditOptions& options,
                                crypto::RandomSource& random, Progress& progress) {
  const PrivateMoments& design = *study.privacy;
  const PartyRows rows = LoadMockRows(study, options, random, progress);
  const PartyNoise noise = DrawNoise(study, random);
  const PartyNoise other = DrawNoise(study, random);
  const std::vector<Int128> base = RunRelease(study, rows, noise, random);
  std::vector<std::string> faults;
  if (!DrawsFromTheDesign(design, random)) {
    faults.emplace_back("a noise share is not what the declared sampler draws");
  }

  std::vector<Int128> moved = DifferenceOf(RunRelease(study, rows, other, random), base);
  for (size_t i = 0; i < design.num_noised; ++i) {
    for (size_t party = 0; party < noise.size(); ++party) {
      moved.at(i) -= other[party].at(i) - noise[party].at(i);
    }
  }
  if (std::any_of(moved.begin(), moved.end(), [](Int128 value) { return value != 0; })) {
    faults.emplace_back("the noise in what is opened is not the sum of all parties' shares");
  }

  const double declared = design.sensitivity.value();
  const size_t blocks = study.computations.front().task.blocks.size();
  for (size_t block = 0; block < blocks; ++block) {
    for (uint64_t k = 1; k <= options.neighbours; ++k) {
      progress.CheckCancelled();
      const PartyRows changed = NeighbourRows(rows, block, k, design.promise.adjacency);
      const std::vector<Int128> opened = RunRelease(study, changed, noise, random);
      const long double distance = privacy::GridDistance(opened, base, privacy::Norm::kL2);
      if (distance > static_cast<long double>(declared)) {
        faults.push_back(
            fmt::format("block '{}': neighbours differ by {:.6g} grid units, declared is {:.6g}",
                        study.computations.front().task.blocks[block].name,
                        static_cast<double>(distance), declared));
      }
    }
  }
  return faults;
}

// Outputs along the direction of a difference that is as long as the declared sensitivity and lies
// evenly in all coordinates.
StudyAuditView Observe(const PrivateMoments& design, std::string adversary,
                       const std::vector<size_t>& known, uint64_t runs,
                       crypto::RandomSource& random) {
  const auto dimension = static_cast<double>(design.num_noised);
  const auto step = static_cast<Int128>(design.sensitivity.value() / std::sqrt(dimension));
  const auto sampler = std::make_shared<privacy::DiscreteGaussian>(design.noise.share_variance);
  privacy::SharedRelease release;
  release.shares.assign(design.noise.sharing.parties,
                        [sampler](crypto::RandomSource& source, std::span<Int128> out) {
                          sampler->Sample(source, out);
                        });
  release.with.assign(design.num_noised, step);
  release.without.assign(design.num_noised, 0);
  StudyAuditView view{std::move(adversary), {}, {}};
  for (const privacy::World world : {privacy::World::kWith, privacy::World::kWithout}) {
    privacy::Outputs& outputs = world == privacy::World::kWith ? view.with : view.without;
    for (uint64_t done = 0; done < runs; done += kRunsAtOnce) {
      const privacy::Outputs vectors =
          privacy::ObserveRuns(release, world, known, std::min(kRunsAtOnce, runs - done), random);
      for (size_t run = 0; run < vectors.runs(); ++run) {
        const std::span<const double> numbers = vectors.Run(run);
        outputs.values.push_back(std::accumulate(numbers.begin(), numbers.end(), 0.0));
      }
    }
  }
  return view;
}

}  // namespace

StudyAudit AuditStudy(const MleStudy& study, const StudyAuditOptions& options,
                      crypto::RandomSource& random, Progress& progress) {
  if (!study.privacy) {
    throw Error(ErrorCode::kUsage, "the study releases exact results: there is no noise to audit",
                "give an analysis an [analysis.privacy] table");
  }
  const PrivateMoments& design = *study.privacy;
  const uint32_t known = design.promise.known_shares;
  StudyAudit audit;
  audit.mechanism = MechanismText(design);
  audit.epsilon = design.promise.epsilon;
  audit.delta = design.promise.delta;
  // The noise of all but the known shares meets the promise with next to nothing to spare, so this
  // is what it claims, and it does not come from the design under audit.
  audit.mu = privacy::GaussianMu(design.promise.epsilon, design.promise.delta) * (1 + 1e-9);
  progress.Phase("replay");
  audit.replay = Replay(study, options, random, progress);
  progress.Phase("runs");
  audit.views.push_back(Observe(design, "outside analyst", {}, options.runs, random));
  for (size_t party = 0; known >= 1 && party < study.num_computing; ++party) {
    progress.CheckCancelled();
    audit.views.push_back(
        Observe(design, "party " + study.parties[party].name, {party}, options.runs, random));
  }
  if (known >= 2) {
    std::vector<size_t> coalition(known);
    std::iota(coalition.begin(), coalition.end(), size_t{0});
    audit.views.push_back(Observe(design, fmt::format("{} parties together", known), coalition,
                                  options.runs, random));
  }
  return audit;
}

}  // namespace partita::methods::mle
