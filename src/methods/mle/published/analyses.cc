#include "methods/mle/published/analyses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "methods/mle/fit/families.h"
#include "methods/mle/moments/public_scale.h"
#include "methods/mle/published/published.h"

namespace partita::methods::mle::published {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr Protocol kProtocols[] = {Protocol::kConditional, Protocol::kSecureSum,
                                   Protocol::kSecureMatmul, Protocol::kObliviousTransfer,
                                   Protocol::kPlainPassing};

// Where a variable of the computation stands in the model; empty: it is not there.
std::optional<Index> PlaceOf(const PreparedAnalysis& analysis, size_t variable) {
  const auto found = std::find(analysis.variables.begin(), analysis.variables.end(), variable);
  if (found == analysis.variables.end()) return std::nullopt;
  return found - analysis.variables.begin();
}

Layout LayoutOf(const MleStudy& study, size_t index) {
  const PreparedAnalysis& analysis = study.analyses[index];
  Layout layout;
  layout.centre = static_cast<net::PartyIndex>(study.receiver);
  layout.num_variables = static_cast<Index>(analysis.variables.size());
  for (const RowBlock& rows : study.computations[analysis.computation].task.blocks) {
    Block block;
    for (const data::RowBlock& declared : study.partition.blocks) {
      if (declared.name == rows.name) block.rows = static_cast<Index>(declared.count.value_or(0));
    }
    for (const BlockHolder& holder : rows.holders) {
      BlockNode node{static_cast<net::PartyIndex>(holder.party), {}};
      for (const size_t v : holder.variables) {
        if (const auto place = PlaceOf(analysis, v)) node.columns.push_back(*place);
      }
      if (!node.columns.empty()) block.nodes.push_back(std::move(node));
    }
    layout.blocks.push_back(std::move(block));
  }
  return layout;
}

Task TaskOf(const MleStudy& study, size_t index) {
  const study::AnalysisSpec& spec = study.file.analyses[index];
  Task task;
  task.protocol = *std::find_if(std::begin(kProtocols), std::end(kProtocols), [&](auto protocol) {
    return ProtocolName(protocol) == spec.protocol;
  });
  task.masks = MleOf(spec).masks == "paper" ? Masks::kPaper : Masks::kRing;
  task.layout = LayoutOf(study, index);
  task.table = study.analyses[index].analysis.table;
  task.scale = PublicScale(study.analyses[index].analysis);
  task.rows_may_leak = MleOf(spec).rows_may_leak;
  return task;
}

// The own columns of the model in natural units, by block.
OwnRows OwnRowsOf(const MleStudy& study, size_t index, size_t self,
                  const std::vector<LocalBlock>& local, const Task& task) {
  const PreparedAnalysis& analysis = study.analyses[index];
  const MomentsTask& moments = study.computations[analysis.computation].task;
  OwnRows own(moments.blocks.size());
  for (size_t b = 0; b < local.size(); ++b) {
    for (const BlockHolder& holder : moments.blocks[b].holders) {
      if (holder.party != self || holder.variables.empty()) continue;
      const size_t rows = local[b].num_rows, columns = holder.variables.size();
      if (static_cast<Index>(rows) != task.layout.blocks[b].rows) {
        throw Error(ErrorCode::kBadData,
                    fmt::format("row block '{}' has {} rows, and the study says {}",
                                moments.blocks[b].name, rows, task.layout.blocks[b].rows),
                    "correct the count in the study file");
      }
      std::vector<Int128> values(rows * columns);
      local[b].values(0, rows, values.data());
      std::vector<Index> places;
      std::vector<size_t> taken;
      for (size_t c = 0; c < columns; ++c) {
        const auto place = PlaceOf(analysis, holder.variables[c]);
        if (!place) continue;
        places.push_back(*place);
        taken.push_back(c);
      }
      own[b].resize(static_cast<Index>(rows), static_cast<Index>(taken.size()));
      for (size_t i = 0; i < taken.size(); ++i) {
        const double centre = task.scale.centre(places[i]);
        const double half_width = task.scale.half_width(places[i]);
        for (size_t r = 0; r < rows; ++r) {
          const double z = mpc::DecodeFixed(values[r * columns + taken[i]], moments.fraction_bits);
          own[b](static_cast<Index>(r), static_cast<Index>(i)) = centre + half_width * z;
        }
      }
    }
  }
  return own;
}

MleResult ResultOf(const MleStudy& study, size_t index, const Task& task, Result&& fitted) {
  const MleAnalysis& analysis = study.analyses[index].analysis;
  MleResult result = ResultWithoutFit(analysis);
  result.fit = std::move(fitted.fit);
  result.group_n = {RowsOf(task.layout, 0)};
  result.fit_measures_available = result.fit.fit_measures.count("chisq") > 0;
  result.notes.push_back(PublishedNote(study.file.analyses[index].protocol) + " What it showed:");
  for (std::string& leak : fitted.leaks) result.notes.push_back(std::move(leak));
  return result;
}

uint64_t Cells(const MleStudy& study, size_t index) {
  uint64_t cells = 0;
  for (const Block& block : LayoutOf(study, index).blocks)
    cells += static_cast<uint64_t>(block.rows) * study.analyses[index].variables.size();
  return cells;
}

}  // namespace

bool IsPublished(const std::string& protocol) {
  return std::any_of(std::begin(kProtocols), std::end(kProtocols),
                     [&](auto known) { return ProtocolName(known) == protocol; });
}

std::string PublishedNote(const std::string& protocol) {
  return fmt::format("Protocol '{}' is for simulation and comparison.", protocol);
}

bool HasPublished(const MleStudy& study) {
  return std::any_of(
      study.computations.begin(), study.computations.end(),
      [](const Computation& computation) { return IsPublished(computation.protocol); });
}

void RequireSupportedPublished(const MleStudy& study, size_t index) {
  const study::AnalysisSpec& spec = study.file.analyses[index];
  const MleSection& own = MleOf(spec);
  const study::DesignSpec& design = study.file.design;
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    run::Refuse(study, spec.position, fmt::format("protocol '{}' {}", spec.protocol, what), hint);
  };
  if (study.parties[study.receiver].holder) {
    refuse(fmt::format("needs a central node without rows, and {}, the receiver, holds some",
                       study.parties[study.receiver].name),
           "give another party the role \"receiver\" alone");
  }
  for (const data::RowBlock& block : study.partition.blocks) {
    if (block.count) continue;
    refuse(fmt::format("needs the number of rows of block '{}'", block.name),
           "write count = ... in its [[rows]] entry");
  }
  if (design.missing != study::MissingPolicy::kRefuse || !spec.subset.empty() ||
      !study.file.population.subset.empty() || !design.weights.empty() || !own.group.empty() ||
      design.site != study::SiteEffect::kIgnore) {
    refuse(
        "takes all rows, complete and in one group, as they are",
        "write missing = \"refuse\" and site = \"ignore\", and leave subsets, weights and groups "
        "out");
  }
  if (own.privacy || own.bootstrap > 0) {
    refuse("has no noise and no bootstrap", "leave them out");
  }
  try {
    CheckTask(TaskOf(study, index), study.parties.size());
  } catch (const Error& error) {
    refuse("does not fit: " + error.message(), error.hint());
  }
}

mpc::Release PublishedReleaseOf(const MleStudy& study, size_t index) {
  const study::AnalysisSpec& spec = study.file.analyses[index];
  return {"published/" + spec.name,
          fmt::format("what protocol '{}' shows of the rows of analysis '{}': all of them may "
                      "become known to other parties",
                      spec.protocol, spec.name),
          "all",
          "exact",
          1,
          mpc::kEverybody,
          Cells(study, index)};
}

study::PlanExposure PublishedExposure(const MleStudy& study, const Computation& computation,
                                      const RowSet& rows) {
  study::PlanExposure exposure;
  exposure.to = "all";
  exposure.level = kRowsLeak;
  std::string names;
  for (const size_t a : rows.analyses) {
    names += (names.empty() ? "" : ", ") + study.file.analyses[a].name;
    exposure.opened += Cells(study, a);
  }
  exposure.statistics = exposure.opened;
  exposure.of = fmt::format("protocol {} for {}", computation.protocol, names);
  exposure.exposes = {
      "to the central node, as many likelihoods or products as determine all means and covariances",
      "to other parties, what determines rows of their neighbours: attacks that find them are part "
      "of this program (partita reproduce smle-protocols)"};
  return exposure;
}

std::vector<std::string> PublishedAssumptions(const MleStudy& study) {
  std::vector<std::string> assumptions;
  for (const Computation& computation : study.computations) {
    if (!IsPublished(computation.protocol)) continue;
    assumptions.push_back(fmt::format(
        "Protocol '{}' is for simulation and comparison: the study says that rows may leak, and "
        "they do, whatever the engine, on which only the checks before it run. Its messages are "
        "not "
        "part of the plan's costs, because it asks as often as the optimiser needs to.",
        computation.protocol));
  }
  return assumptions;
}

void FitPublishedAnalyses(const MleStudy& study, size_t computation,
                          const std::vector<LocalBlock>& local, const run::RunInput& input,
                          ProtocolResult& result, Progress& progress) {
  crypto::SystemRandom unused;  // by a dealer, which draws nothing
  for (const RowSet& rows : study.computations[computation].row_sets) {
    for (const size_t a : rows.analyses) {
      progress.Phase("protocol of " + study.file.analyses[a].name);
      const Task task = TaskOf(study, a);
      const OwnRows own = OwnRowsOf(study, a, input.channel->self(), local, task);
      const mpc::Release release = PublishedReleaseOf(study, a);
      if (input.channel->self() < study.num_computing)
        input.gate->Opening(release.id, mpc::kEverybody, *release.num_values);
      std::optional<Result> fitted = FitPublished(
          *input.channel, task, own, input.random != nullptr ? *input.random : unused, progress);
      if (fitted) result.results[a] = ResultOf(study, a, task, std::move(*fitted));
    }
  }
}

}  // namespace partita::methods::mle::published
