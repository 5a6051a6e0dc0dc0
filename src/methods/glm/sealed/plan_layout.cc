#include "methods/glm/sealed/plan_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "methods/glm/sealed/plan_clusters.h"

namespace partita::methods::glm {
namespace {

using run::Refuse;
using stats::glm::Family;

constexpr char kTransfers[] = "ot";

const data::DesignColumn* CovariateOf(const GlmStudy& study, const std::string& name) {
  for (const data::DesignColumn& column : study.task.spec.covariates) {
    if (column.schema.name == name) return &column;
  }
  return nullptr;
}

// The variables of the dictionary behind a design column, or behind a factor.
std::vector<std::string> SourcesOfName(const GlmStudy& study, const std::string& name) {
  if (const data::DesignColumn* column = CovariateOf(study, name)) return data::SourcesOf(*column);
  for (const data::DerivedVariable& derived : study.derived) {
    if (derived.name != name) continue;
    std::vector<std::string> sources = {derived.from};
    if (!derived.with.empty()) sources.push_back(derived.with);
    return sources;
  }
  return {name};
}

// Which parts of a block hold what.
class BlockHolders {
 public:
  BlockHolders(const GlmStudy& study, const data::Segment& segment) : study_(study) {
    for (const data::SegmentPart& part : segment.parts) {
      held_.emplace_back();
      for (const size_t v : part.variables) held_.back().insert(study.partition.variables[v]);
    }
  }

  bool Holds(size_t part, const std::string& variable) const {
    return held_[part].count(variable) > 0;
  }
  size_t PartOf(const std::string& name) const {
    const std::string source = SourcesOfName(study_, name).front();
    for (size_t p = 0; p < held_.size(); ++p) {
      if (Holds(p, source)) return p;
    }
    return 0;
  }
  std::set<size_t> PartsOf(const std::vector<std::string>& names) const {
    std::set<size_t> parts;
    for (const std::string& name : names) parts.insert(PartOf(name));
    return parts;
  }
  bool Selects(size_t part) const {
    const auto holds = [&](const data::Condition& condition) {
      return Holds(part, run::SourceVariable(study_, condition.variable));
    };
    const auto any = [&](const std::vector<data::Condition>& conditions) {
      return std::any_of(conditions.begin(), conditions.end(), holds);
    };
    const bool lacks = study_.file.design.missing != study::MissingPolicy::kRefuse &&
                       std::any_of(study_.used.begin(), study_.used.end(),
                                   [&](const std::string& name) { return Holds(part, name); });
    return lacks || HoldsZeroWeights(part) || any(study_.file.population.subset) ||
           any(study_.Analysis().subset);
  }

 private:
  bool HoldsZeroWeights(size_t part) const {
    const std::string& weights = study_.task.spec.weights;
    return !weights.empty() && Holds(part, weights) &&
           study_.file.dictionary.Find(weights)->lower == 0;
  }

  const GlmStudy& study_;
  std::vector<std::set<std::string>> held_;
};

void PlaceColumns(const GlmStudy& study, const BlockHolders& holders, SealedBlock& block) {
  const Spec& spec = study.task.spec;
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    const data::ModelColumn& column = spec.columns[c];
    const std::set<size_t> parts = holders.PartsOf(column.parts);
    if (parts.size() <= 1) {
      block.parts[parts.empty() ? 0 : *parts.begin()].columns.push_back(c);
      continue;
    }
    for (const size_t p : parts) block.parts[p].factors.push_back(block.crossed.size());
    block.crossed.push_back({c, column.zero_one});
  }
}

void PlaceTables(const GlmStudy& study, const BlockHolders& holders, const SealedLayout& layout,
                 SealedBlock& block) {
  const Spec& spec = study.task.spec;
  for (size_t t = 0; t < layout.table_cells.size(); ++t) {
    const size_t column = layout.product_tables[t];
    const std::set<size_t> parts = column == kNoColumn
                                       ? std::set<size_t>{holders.PartOf(study.checked[t])}
                                       : holders.PartsOf(spec.columns[column].parts);
    if (parts.size() == 1) block.parts[*parts.begin()].tables.push_back(t);
  }
}

SealedBlock BlockOf(const GlmStudy& study, const data::Segment& segment,
                    const SealedLayout& layout) {
  const Spec& spec = study.task.spec;
  SealedBlock block;
  block.block = segment.block;
  block.rows = *study.partition.blocks[segment.block].count;
  const BlockHolders holders(study, segment);
  for (size_t p = 0; p < segment.parts.size(); ++p) {
    SealedPart& part = block.parts.emplace_back();
    part.party = segment.parts[p].party;
    part.selects = study.partition.blocks[segment.block].hidden || holders.Selects(p);
    part.outcome = holders.PartOf(spec.outcome.name) == p;
    part.offset = !spec.offsets.empty() && holders.PartOf(spec.offsets.front()) == p;
    part.weights = !spec.weights.empty() && holders.Holds(p, spec.weights);
    part.clusters = spec.clustered() && holders.Holds(p, spec.cluster);
  }
  PlaceColumns(study, holders, block);
  if (block.split()) PlaceTables(study, holders, layout, block);
  return block;
}

std::vector<mpc::PartyIndex> PartiesOf(const SealedBlock& block) {
  std::vector<mpc::PartyIndex> parties;
  for (const SealedPart& part : block.parts) parties.push_back(part.party);
  return parties;
}

void RequireModel(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  const study::Position& position = study.Analysis().position;
  const bool known = !spec.law.quasi && spec.law.link == stats::glm::LawOf(spec.law.family).link;
  if (!known) {
    Refuse(study, position,
           fmt::format("level sealed has no family {} with link {}", FamilyName(spec.law),
                       LinkName(spec.law.link)),
           "take family gaussian, binomial (link logit), poisson, modified-poisson or gamma, or, "
           "of rows "
           "that are not split by columns, protocol = \"iterates\"");
  }
  if (spec.sites > 0) {
    Refuse(
        study, position, "level sealed has no effects of sites",
        "write site = \"ignore\", with a factor of the sites in the formula if one holder has it, "
        "or, of rows that are not split by columns, take protocol = \"iterates\"");
  }
  const auto is_split = [](const data::Segment& segment) { return segment.parts.size() > 1; };
  if (spec.copies() &&
      std::any_of(study.partition.segments.begin(), study.partition.segments.end(), is_split)) {
    // One person may stand for min_cell rows there, and exact sums of copies tell who took part (0601).
    Refuse(
        study, position,
        "level sealed has no frequencies of rows whose columns are split: counts of copies would "
        "tell of single persons",
        "write equal rows as often as they are there, or give sampling weights or precisions");
  }
  const bool needs_fit = spec.law.family == Family::kGaussian ||
                         (spec.law.family == Family::kBinomial && !spec.intercept);
  if (needs_fit && !spec.offsets.empty()) {
    Refuse(study, position,
           fmt::format("level sealed has no offset in a {} model{}", FamilyName(spec.law),
                       spec.intercept ? "" : " without an intercept"),
           "leave the offset out");
  }
}

void RequireRows(const GlmStudy& study) {
  const study::Position& position = study.Analysis().position;
  for (const data::RowBlock& block : study.partition.blocks) {
    if (block.count) continue;
    Refuse(study, position,
           fmt::format("level sealed computes with each row, and block '{}' declares no number of "
                       "them",
                       block.name),
           "write count = ... in its [[rows]] entry");
  }
  const bool transfers = study.file.engine.name == kTransfers;
  const uint64_t most = transfers ? kMostSealedRowsByTransfers : kMostSealedRows;
  const uint64_t rows = *study.partition.TotalRows();
  if (rows > most) {
    Refuse(study, position,
           fmt::format("level sealed takes {} rows at most{}, and there are {}", most,
                       transfers ? " with engine 'ot'" : "", rows),
           transfers ? "take engine \"dealer\" or \"replicated\""
                     : "of rows that are not split by columns take protocol = \"iterates\"");
  }
}

// What a single holder has to compute.
void RequireHolders(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  const auto require = [&](const std::string& what, const std::vector<std::string>& names,
                           const std::string& hint) {
    for (const data::Segment& segment : study.partition.segments) {
      const BlockHolders holders(study, segment);
      if (holders.PartsOf(names).size() <= 1) continue;
      Refuse(study, study.Analysis().position,
             fmt::format("{} is made of variables of two holders", what), hint);
    }
  };
  require("the offset", spec.offsets, "let one of them hold it");
  for (const data::DesignColumn& column : spec.covariates) {
    require(fmt::format("the column {}", column.schema.name), data::SourcesOf(column),
            "write the product as a:b in the formula");
  }
  require("the outcome", SourcesOfName(study, spec.outcome.name), "let one of them hold it");
}

}  // namespace

void RequireSealed(const GlmStudy& study) {
  RequireModel(study);
  RequireRows(study);
  RequireClusters(study);
  RequireHolders(study);
}

std::vector<std::string> HeldBy(const GlmStudy& study, size_t party) {
  std::vector<std::string> held;
  for (const data::Segment& segment : study.partition.segments) {
    for (const data::SegmentPart& part : segment.parts) {
      if (part.party != party) continue;
      for (const size_t v : part.variables) held.push_back(study.partition.variables[v]);
    }
  }
  return held;
}

SealedLayout LayoutOf(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  SealedLayout layout;
  layout.cluster_values = NumClusterValues(study);
  const size_t named = spec.factors.size() + spec.binaries.size();
  for (size_t t = 0; t < study.task.table_sizes.size(); ++t) {
    layout.table_cells.push_back(study.task.table_sizes[t] / study.task.classes);
    layout.product_tables.push_back(t < named ? kNoColumn : spec.products[t - named]);
  }
  for (const data::Segment& segment : study.partition.segments)
    layout.blocks.push_back(BlockOf(study, segment, layout));
  std::vector<std::vector<mpc::PartyIndex>> parties;
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const std::vector<mpc::PartyIndex> own = PartiesOf(layout.blocks[b]);
    const auto found = std::find(parties.begin(), parties.end(), own);
    if (found == parties.end()) {
      parties.push_back(own);
      layout.groups.push_back({b});
    } else {
      layout.groups[static_cast<size_t>(found - parties.begin())].push_back(b);
    }
  }
  return layout;
}

}  // namespace partita::methods::glm
