#include "methods/glm/sealed/shared_rows.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "methods/glm/counts.h"
#include "methods/glm/sealed/clusters.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/scoring_path.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::FixedOperand;
using mpc::PrivateMatrix;
using mpc::Shared;
using mpc::WithBound;
using stats::glm::Family;

double MostOutcome(const Spec& spec) {
  if (spec.law.family == Family::kGamma)
    return std::max({1.0, std::abs(std::log(spec.outcome.lower)), std::log(spec.outcome.upper)});
  return std::max({1.0, std::abs(spec.outcome.lower), std::abs(spec.outcome.upper)});
}

double MostOffset(const Spec& spec) {
  return std::max({1.0, std::abs(spec.offset_lower), std::abs(spec.offset_upper)});
}

// Of a weight as it is shared.
double MostWeight(const Spec& spec) { return spec.most_weight / spec.weight_unit(); }
double MostCopies(const Spec& spec) { return spec.copies() ? spec.most_weight : 1; }

// A holder's matrix; values: null elsewhere.
PrivateMatrix MatrixOf(mpc::PartyIndex owner, mpc::Shape shape, int fraction_bits, double bound,
                       const Eigen::MatrixXd* values) {
  PrivateMatrix matrix{owner, shape, fraction_bits, bound, {}};
  if (values == nullptr) return matrix;
  matrix.read = [values, fraction_bits](size_t first, size_t num, Int128* out) {
    for (size_t r = first; r < first + num; ++r) {
      for (Eigen::Index c = 0; c < values->cols(); ++c)
        *out++ = mpc::EncodeFixed((*values)(static_cast<Eigen::Index>(r), c), fraction_bits);
    }
  };
  return matrix;
}

// Everything of one holder's that is shared at once; kept until it was read.
struct Input {
  PrivateMatrix matrix;
  std::unique_ptr<Eigen::MatrixXd> made;
  Shared* place = nullptr;
};

Eigen::MatrixXd ConstantsOf(const Eigen::VectorXd& outcome) {
  Eigen::MatrixXd constants(outcome.size(), 2);
  for (Eigen::Index i = 0; i < outcome.size(); ++i) {
    const double y = outcome[i], log_y = y > 0 ? y * std::log(y) : 0;
    constants(i, 0) = log_y - y - std::lgamma(y + 1);
    constants(i, 1) = log_y;
  }
  return constants;
}

// Of an outcome above 0; of a row that is left out 0.
Eigen::VectorXd LogarithmsOf(const Eigen::VectorXd& outcome) {
  return outcome.unaryExpr([](double y) { return y > 0 ? std::log(y) : 0; });
}

class BlockMaker {
 public:
  BlockMaker(Engine& engine, const Task& task, const SealedBlock& block, const OwnBlock* own)
      : engine_(engine), task_(task), block_(block), own_(own) {
    made_.rows = block.rows;
    selectors_.resize(block.parts.size());
    factors_.resize(block.crossed.size());
    for (size_t p = 0; p < block.parts.size(); ++p) {
      if (block.parts[p].selects) selecting_.insert(p);
    }
  }

  void AddInputs(std::vector<Input>& inputs) {
    for (size_t p = 0; p < block_.parts.size(); ++p) {
      const SealedPart& part = block_.parts[p];
      if (block_.split() && part.selects)
        Add(
            part, 1, 0, 1, [](const OwnBlock& own) { return own.selector; }, selectors_[p], inputs);
      if (part.outcome) AddOutcome(part, inputs);
      if (part.offset) AddOffset(part, inputs);
      if (part.weights) {
        Add(
            part, 1, task_.spec.copies() ? 0 : kSealedWeightBits, MostWeight(task_.spec),
            [](const OwnBlock& own) { return own.weights; }, made_.weights, inputs);
      }
      for (size_t f = 0; f < part.factors.size(); ++f) {
        const size_t crossed = part.factors[f];
        const int bits = block_.crossed[crossed].zero_one ? 0 : kColumnBits;
        factors_[crossed].push_back({});
        owners_.insert({crossed, p});
        factor_of_.push_back({crossed, factors_[crossed].size() - 1});
        Add(
            part, 1, bits, 1,
            [f](const OwnBlock& own) {
              return Eigen::VectorXd(own.factors.col(static_cast<Eigen::Index>(f)));
            },
            pending_.emplace_back(std::make_unique<Shared>()), inputs);
      }
    }
  }

  // After the inputs were shared.
  void Take() {
    for (size_t i = 0; i < pending_.size(); ++i)
      factors_[factor_of_[i].first][factor_of_[i].second] = *pending_[i];
    for (const size_t p : selecting_) {
      if (block_.split()) chain_.push_back(selectors_[p]);
    }
  }

  // One factor of each chain of products; false: all are done.
  bool AddProducts(mpc::ProductRound& round) {
    bool any = Shorten(chain_, 0, round);
    for (size_t c = 0; c < factors_.size(); ++c)
      any = Shorten(factors_[c], block_.crossed[c].zero_one ? 0 : kColumnBits, round) || any;
    return any;
  }
  void TakeProducts() {
    Drop(chain_);
    for (std::vector<Shared>& factors : factors_) Drop(factors);
  }

  // What other holders leave out, one round.
  void AddMasks(mpc::ProductRound& round) {
    if (block_.split()) {
      made_.ones = chain_.empty() ? WithBound(mpc::ConstantLike(engine_, made_.outcome, 1, 0), 1)
                                  : chain_.front();
    }
    for (size_t p = 0; p < block_.parts.size(); ++p) {
      const SealedPart& part = block_.parts[p];
      if (part.outcome) Mask(p, made_.outcome, round);
      if (part.outcome && made_.constants.payload != nullptr) Mask(p, made_.constants, round);
      if (part.offset) Mask(p, made_.offset, round);
      if (part.offset && made_.rates.payload != nullptr) Mask(p, made_.rates, round);
      if (part.weights) Mask(p, made_.weights, round);
      AddColumns(p, round);
    }
    crossed_.resize(block_.crossed.size());
    for (size_t c = 0; c < block_.crossed.size(); ++c) {
      crossed_[c] = factors_[c].front();
      if (LeftOutByOthers(OwnersOf(c))) round.Add(made_.ones, crossed_[c], 1, crossed_[c]);
    }
  }

  // What a row adds once, one round.
  void AddWeighted(mpc::ProductRound& round) {
    made_.weighted_outcome = made_.outcome;
    if (made_.weights.payload == nullptr) return;
    Weight(made_.weighted_outcome, round);
    if (made_.constants.payload != nullptr) Weight(made_.constants, round);
    const bool gamma = task_.spec.law.family == Family::kGamma;
    if (made_.rates.payload != nullptr && !gamma) Weight(made_.rates, round);
  }

  SharedBlock Make() {
    for (size_t i = 0; i < masked_parts_.size(); ++i)
      made_.parts[masked_parts_[i]].operand = *masked_[i];
    for (size_t c = 0; c < block_.crossed.size(); ++c) {
      const bool zero_one = block_.crossed[c].zero_one;
      made_.products.push_back(zero_one ? crossed_[c] : Shared{});
      const Shared column = zero_one ? mpc::Lift(engine_, crossed_[c], kColumnBits) : crossed_[c];
      made_.parts.push_back({WithBound(column, 1), {block_.crossed[c].column}});
    }
    return std::move(made_);
  }

 private:
  const OwnBlock* OwnOf(const SealedPart& part) const {
    return engine_.self() == part.party ? own_ : nullptr;
  }

  template <typename Get>
  void Add(const SealedPart& part, size_t columns, int bits, double bound, Get get, Shared& place,
           std::vector<Input>& inputs) {
    Input input;
    if (const OwnBlock* own = OwnOf(part))
      input.made = std::make_unique<Eigen::MatrixXd>(get(*own));
    input.matrix = MatrixOf(part.party, {block_.rows, columns}, bits, bound, input.made.get());
    input.place = &place;
    inputs.push_back(std::move(input));
  }
  template <typename Get>
  void Add(const SealedPart& part, size_t columns, int bits, double bound, Get get,
           const std::unique_ptr<Shared>& place, std::vector<Input>& inputs) {
    Add(part, columns, bits, bound, get, *place, inputs);
  }

  void AddOutcome(const SealedPart& part, std::vector<Input>& inputs) {
    const Family family = task_.spec.law.family;
    const double most = MostOutcome(task_.spec);
    if (family == Family::kGamma) {
      const double upper = task_.spec.outcome.upper;
      Add(
          part, 1, mpc::kStepBits, most,
          [](const OwnBlock& own) { return LogarithmsOf(own.outcome); }, made_.outcome, inputs);
      Add(
          part, 1, kConstantBits, 1,
          [upper](const OwnBlock& own) { return Eigen::VectorXd(own.outcome / upper); },
          made_.constants, inputs);
      return;
    }
    Add(
        part, 1, family == Family::kGaussian ? kOutcomeBits : 0, most,
        [](const OwnBlock& own) { return own.outcome; }, made_.outcome, inputs);
    if (family != Family::kPoisson) return;
    Add(
        part, 2, kConstantBits, most * (2 + std::log(most)) + 1,
        [](const OwnBlock& own) { return ConstantsOf(own.outcome); }, made_.constants, inputs);
  }

  void AddOffset(const SealedPart& part, std::vector<Input>& inputs) {
    Add(
        part, 1, mpc::kStepBits, MostOffset(task_.spec),
        [](const OwnBlock& own) { return own.offset; }, made_.offset, inputs);
    const bool gamma = task_.spec.law.family == Family::kGamma;
    if (!gamma && task_.spec.law.family != Family::kPoisson) return;
    const double sign = gamma ? -1 : 1;
    const double largest = gamma ? -task_.spec.offset_lower : task_.spec.offset_upper;
    // Rows that are left out add nothing.
    Add(
        part, 1, kConstantBits, std::exp(largest) + 1,
        [sign](const OwnBlock& own) {
          return Eigen::VectorXd((sign * own.offset.array()).exp() * own.selector.array());
        },
        made_.rates, inputs);
  }

  bool Shorten(std::vector<Shared>& chain, int bits, mpc::ProductRound& round) {
    if (chain.size() < 2) return false;
    if (bits == 0) {
      round.Add(chain[0], chain[1], 1, chain[1]);
    } else {
      round.AddCut(chain[0], chain[1], 1, bits, chain[1]);
    }
    return true;
  }
  static void Drop(std::vector<Shared>& chain) {
    if (chain.size() > 1) chain.erase(chain.begin());
  }

  std::set<size_t> OwnersOf(size_t crossed) const {
    std::set<size_t> owners;
    for (const auto& [c, p] : owners_) {
      if (c == crossed) owners.insert(p);
    }
    return owners;
  }
  bool LeftOutByOthers(const std::set<size_t>& owners) const {
    return block_.split() &&
           !std::includes(owners.begin(), owners.end(), selecting_.begin(), selecting_.end());
  }
  void Mask(size_t part, Shared& value, mpc::ProductRound& round) {
    if (LeftOutByOthers({part})) round.Add(made_.ones, value, value.bound, value);
  }

  void Weight(Shared& value, mpc::ProductRound& round) {
    const double most = value.bound * MostWeight(task_.spec);
    if (task_.spec.copies() || value.fraction_bits == 0) {
      round.Add(made_.weights, value, most, value);
    } else {
      round.AddCut(made_.weights, value, most, value.fraction_bits, value);
    }
  }

  void AddColumns(size_t p, mpc::ProductRound& round) {
    const SealedPart& part = block_.parts[p];
    if (part.columns.empty()) return;
    const OwnBlock* own = OwnOf(part);
    const FixedOperand columns =
        engine_.Register(MatrixOf(part.party, {block_.rows, part.columns.size()}, kColumnBits, 1,
                                  own == nullptr ? nullptr : &own->columns));
    made_.parts.push_back({columns, part.columns});
    if (!LeftOutByOthers({p})) return;
    masked_parts_.push_back(made_.parts.size() - 1);
    round.Add(made_.ones, columns, 1, *masked_.emplace_back(std::make_unique<Shared>()));
  }

  Engine& engine_;
  const Task& task_;
  const SealedBlock& block_;
  const OwnBlock* own_;
  SharedBlock made_;
  std::set<size_t> selecting_;
  std::vector<Shared> selectors_, chain_, crossed_;
  std::vector<std::vector<Shared>> factors_;          // by crossed column
  std::set<std::pair<size_t, size_t>> owners_;        // crossed column and part
  std::vector<std::unique_ptr<Shared>> pending_;      // factors as they are shared
  std::vector<std::pair<size_t, size_t>> factor_of_;  // their places in factors_
  std::vector<size_t> masked_parts_;
  std::vector<std::unique_ptr<Shared>> masked_;
};

}  // namespace

std::vector<SharedBlock> ShareBlocks(Engine& engine, const Task& task, const SealedLayout& layout,
                                     const std::vector<OwnBlock>& own) {
  std::vector<BlockMaker> makers;
  makers.reserve(layout.blocks.size());
  std::vector<Input> inputs;
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    makers.emplace_back(engine, task, layout.blocks[b], own.empty() ? nullptr : &own[b]);
    makers.back().AddInputs(inputs);
  }
  std::vector<PrivateMatrix> matrices;
  for (const Input& input : inputs) matrices.push_back(input.matrix);
  const std::vector<Shared> shared = engine.Input(matrices);
  for (size_t i = 0; i < inputs.size(); ++i) *inputs[i].place = shared[i];
  for (BlockMaker& maker : makers) maker.Take();
  mpc::ProductRound round(engine);
  const auto add_products = [&] {
    bool any = false;
    for (BlockMaker& maker : makers) any = maker.AddProducts(round) || any;
    return any;
  };
  while (add_products()) {
    round.Run();
    for (BlockMaker& maker : makers) maker.TakeProducts();
  }
  for (BlockMaker& maker : makers) maker.AddMasks(round);
  round.Run();
  for (BlockMaker& maker : makers) maker.AddWeighted(round);
  round.Run();
  std::vector<SharedBlock> blocks;
  for (BlockMaker& maker : makers) blocks.push_back(maker.Make());
  if (task.spec.clustered()) RegisterClusters(engine, layout, own, blocks);
  return blocks;
}

std::vector<size_t> PlacesOfColumns(const SharedBlock& block) {
  std::vector<size_t> order;
  for (const ColumnPart& part : block.parts)
    order.insert(order.end(), part.columns.begin(), part.columns.end());
  std::vector<size_t> places(order.size());
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  return places;
}

namespace {

// Rows that take part, copies counted.
const Shared& CountsOfRows(const Task& task, const SharedBlock& block) {
  return task.spec.copies() ? block.weights : block.ones;
}

// The same, by outcome where that is 0 or 1: n x 1 or n x 2.
Shared ByOutcome(Engine& engine, const Task& task, const SharedBlock& block) {
  const Shared& rows = CountsOfRows(task, block);
  if (task.classes == 1) return rows;
  const double most = MostCopies(task.spec);
  const Shared& events = task.spec.copies() ? block.weighted_outcome : block.outcome;
  const std::vector<Shared> columns = {WithBound(engine.Subtract(rows, events), most),
                                       WithBound(events, most)};
  return WithBound(engine.Concatenate(columns, false), most);
}

Shared Flat(const Shared& matrix) {
  return mpc::Reshape(matrix, {matrix.shape.rows * matrix.shape.cols, 1});
}

// The counts of a split block: its tables, in order, outcomes, rows.
class SplitCounts {
 public:
  SplitCounts(Engine& engine, const Task& task, const SealedLayout& layout,
              const SealedBlock& block, const SharedBlock& shared, const OwnBlock* own)
      : engine_(engine), task_(task), layout_(layout), block_(block), shared_(shared), own_(own) {}

  void AddProducts(mpc::ProductRound& round) {
    rows_ = ByOutcome(engine_, task_, shared_);
    const double n = MostRows();
    counts_.resize(block_.parts.size());
    for (size_t p = 0; p < block_.parts.size(); ++p) {
      size_t cells = 0;
      for (const size_t t : block_.parts[p].tables) cells += layout_.table_cells[t];
      if (cells == 0) continue;
      const bool self = engine_.self() == block_.parts[p].party && own_ != nullptr;
      const FixedOperand operand = engine_.Register(MatrixOf(
          block_.parts[p].party, {block_.rows, cells}, 0, 1, self ? &own_->cells : nullptr));
      round.Add(mpc::Product::Kind::kGram, operand, rows_, n, counts_[p]);
    }
    crossed_.resize(block_.crossed.size());
    for (size_t c = 0; c < block_.crossed.size(); ++c) {
      if (shared_.products[c].payload == nullptr) continue;
      round.Add(mpc::Product::Kind::kGram, shared_.products[c], rows_, n, crossed_[c]);
    }
  }

  Shared Make() {
    std::vector<Shared> pieces(layout_.table_cells.size());
    for (size_t p = 0; p < block_.parts.size(); ++p) {
      size_t first = 0;
      for (const size_t t : block_.parts[p].tables) {
        const size_t cells = layout_.table_cells[t];
        pieces[t] = Flat(engine_.Slice(counts_[p], first, 0, {cells, task_.classes}));
        first += cells;
      }
    }
    for (size_t c = 0; c < block_.crossed.size(); ++c) {
      const auto& tables = layout_.product_tables;
      const auto found = std::find(tables.begin(), tables.end(), block_.crossed[c].column);
      if (found != tables.end())
        pieces[static_cast<size_t>(found - tables.begin())] = Flat(crossed_[c]);
    }
    if (task_.classes > 1) pieces.push_back(Flat(engine_.SumRows(rows_)));
    pieces.push_back(engine_.SumRows(CountsOfRows(task_, shared_)));
    return WithBound(engine_.Concatenate(pieces, true), MostRows());
  }

 private:
  double MostRows() const { return MostCopies(task_.spec) * static_cast<double>(block_.rows); }

  Engine& engine_;
  const Task& task_;
  const SealedLayout& layout_;
  const SealedBlock& block_;
  const SharedBlock& shared_;
  const OwnBlock* own_;
  Shared rows_;
  std::vector<Shared> counts_, crossed_;
};

}  // namespace

std::vector<Shared> RoomOfWeights(Engine& engine, const Task& task, const SealedLayout& layout,
                                  const std::vector<SharedBlock>& blocks) {
  std::vector<Shared> sums;
  for (const SharedBlock& block : blocks)
    sums.push_back(WithBound(engine.SumRows(block.weights), static_cast<double>(block.rows)));
  const double most = MostRoomOfWeights(task);
  std::vector<Shared> room;
  const size_t groups = layout.groups.size();
  // Without no group, then without each.
  for (size_t without = 0; without <= (groups > 1 ? groups : 0); ++without) {
    Shared sum;
    std::vector<size_t> kept;
    for (size_t g = 0; g < groups; ++g) {
      if (g + 1 == without) continue;
      for (const size_t b : layout.groups[g]) {
        sum = sum.payload == nullptr ? sums[b] : engine.Add(sum, sums[b]);
        kept.push_back(b);
      }
    }
    for (const size_t b : kept) {
      const Shared times = mpc::TimesConstant(engine, blocks[b].weights, kLeastTimesLargest, 0);
      const Shared all = engine.SelectRows(sum, std::vector<size_t>(blocks[b].rows, 0));
      room.push_back(WithBound(engine.Subtract(all, times), most));
    }
  }
  return room;
}

std::vector<Shared> CountsByGroup(Engine& engine, const Task& task, const SealedLayout& layout,
                                  const std::vector<SharedBlock>& blocks,
                                  const std::vector<OwnBlock>& own,
                                  const std::vector<Int128>& counts) {
  std::vector<Shared> by_group(layout.groups.size());
  std::vector<PrivateMatrix> inputs;
  std::vector<Shared*> places;
  std::vector<SplitCounts> split;
  std::vector<size_t> group_of;
  mpc::ProductRound round(engine);
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    if (!layout.blocks[b].split()) continue;
    split.emplace_back(engine, task, layout, layout.blocks[b], blocks[b],
                       own.empty() ? nullptr : &own[b]);
  }
  for (SplitCounts& one : split) one.AddProducts(round);
  round.Run();
  size_t next = 0;
  std::vector<Shared> of_block(layout.blocks.size());
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    if (layout.blocks[b].split()) of_block[b] = split[next++].Make();
  }
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    const std::vector<size_t>& group = layout.groups[g];
    if (layout.blocks[group.front()].split()) {
      by_group[g] = of_block[group.front()];
      for (size_t i = 1; i < group.size(); ++i)
        by_group[g] = engine.Add(by_group[g], of_block[group[i]]);
      continue;
    }
    inputs.push_back(
        run::SumsOfHolder(engine, task.holders[g], {NumCounts(task), 1}, 0, 1, counts));
    places.push_back(&by_group[g]);
  }
  if (inputs.empty()) return by_group;
  const std::vector<Shared> shared = engine.Input(inputs);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = shared[i];
  return by_group;
}

}  // namespace partita::methods::glm
