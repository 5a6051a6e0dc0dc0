#include "mpc/dealer_schedule.h"

#include <algorithm>

#include "base/error.h"
#include "mpc/scheduled_cost.h"

namespace partita::mpc {
namespace {

// Intervals of tapes begin at whole cipher blocks.
constexpr uint64_t kAlignment = 16;

// An oracle's dealer sends the rows of so many of the largest evaluations at once.
constexpr uint64_t kEvaluationsPerChunk = 4;

using Route = ScheduledProduct::Route;

bool IsPublic(const Operand& operand) { return std::holds_alternative<PublicMatrix>(operand); }

Route RouteOf(const Product& product) {
  auto left = OwnerOf(product.left), right = OwnerOf(product.right);
  if (IsPublic(product.left) || IsPublic(product.right)) return Route::kLocal;
  if (left && right) return *left == *right ? Route::kLocal : Route::kPrivate;
  return left || right ? Route::kMixed : Route::kShared;
}

bool IsSquare(const Product& product) {
  auto* left = std::get_if<Shared>(&product.left);
  auto* right = std::get_if<Shared>(&product.right);
  return left != nullptr && right != nullptr && left->payload == right->payload;
}

Correlation::Kind CorrelationOf(Route route) {
  if (route == Route::kShared) return Correlation::Kind::kTriple;
  if (route == Route::kMixed) return Correlation::Kind::kMixedTriple;
  return Correlation::Kind::kPrivateProduct;
}

}  // namespace

Shape ScheduledExecution::LeftShape(const ScheduledProduct& product) const {
  const Shape shape = masked[product.left].shape;
  return product.left_rows == nullptr ? shape : Shape{product.left_rows->size(), shape.cols};
}

Shape ScheduledExecution::RightShape(const ScheduledProduct& product) const {
  const Shape shape = masked[product.right].shape;
  return product.right_rows == nullptr ? shape : Shape{product.right_rows->size(), shape.cols};
}

DealerSchedule::DealerSchedule(size_t num_parties, size_t element_bytes,
                               const DealerOptions& options)
    : num_parties_(num_parties), element_bytes_(element_bytes), options_(options) {
  if (num_parties < 2) {
    throw Error(ErrorCode::kBadInput, "the engine dealer needs at least two computing parties",
                "add a party to the roster");
  }
}

uint64_t DealerSchedule::Reserve(uint64_t elements) {
  return ReserveBytes(elements * element_bytes_);
}

uint64_t DealerSchedule::ReserveBytes(uint64_t bytes) {
  uint64_t begin = next_offset_;
  next_offset_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return begin;
}

void DealerSchedule::Register(const FixedOperand& operand) {
  Fixed& fixed = fixed_[operand.id];
  fixed.mask_offset = Reserve(operand.matrix.shape.size());
  fixed.shape = operand.matrix.shape;
  fixed.owner = operand.matrix.owner;
}

bool DealerSchedule::Holds(uint64_t fixed_id, PartyIndex party) const {
  auto fixed = fixed_.find(fixed_id);
  return fixed != fixed_.end() && fixed->second.holders.contains(party);
}

// Finds or adds the masked operand; a fixed one appears once however many products use it.
size_t DealerSchedule::Mask(ScheduledExecution& execution, const Operand& operand,
                            Product::Kind kind) {
  auto* fixed = std::get_if<FixedOperand>(&operand);
  const bool by_rows = kind != Product::Kind::kMatrix;
  for (size_t i = 0; fixed != nullptr && i < execution.masked.size(); ++i) {
    MaskedOperand& known = execution.masked[i];
    if (known.fixed_id != fixed->id) continue;
    known.by_rows = known.by_rows && by_rows;
    CheckRowsAreKept(*fixed, known.keep);
    return i;
  }
  MaskedOperand masked;
  masked.operand = operand;
  masked.shape = fixed != nullptr ? fixed->matrix.shape : ShapeOf(operand);
  masked.owner = OwnerOf(operand);
  masked.receivers.assign(num_parties_, false);
  masked.by_rows = by_rows;
  if (fixed != nullptr) {
    auto known = fixed_.find(fixed->id);
    if (known == fixed_.end() || known->second.shape != fixed->matrix.shape ||
        known->second.owner != fixed->matrix.owner) {
      throw Error(ErrorCode::kUsage, "a fixed operand was registered with another engine",
                  "register it with the engine that uses it");
    }
    masked.fixed_id = fixed->id;
    masked.mask_offset = known->second.mask_offset;
    masked.keep = masked.shape.size() * element_bytes_ <= options_.max_kept_bytes;
    CheckRowsAreKept(*fixed, masked.keep);
  } else {
    masked.mask_offset = Reserve(masked.shape.size());
  }
  execution.masked.push_back(std::move(masked));
  return execution.masked.size() - 1;
}

void DealerSchedule::AddProduct(ScheduledExecution& execution, const Product& product,
                                ScheduledProduct scheduled) {
  scheduled.kind = product.kind;
  scheduled.route = RouteOf(product);
  if (scheduled.route == Route::kLocal) {
    execution.products.push_back(std::move(scheduled));
    return;
  }
  scheduled.left_rows = RowsOf(product.left);
  scheduled.right_rows = RowsOf(product.right);
  scheduled.left = Mask(execution, product.left, product.kind);
  scheduled.right =
      IsSquare(product) ? scheduled.left : Mask(execution, product.right, product.kind);
  // Who gets an opening: everybody, or in a mixed product the private operand's owner only gets
  // the shared one; nobody needs the opening of an own matrix.
  const auto left_owner = execution.masked[scheduled.left].owner;
  const auto right_owner = execution.masked[scheduled.right].owner;
  scheduled.sharers.assign(num_parties_, scheduled.route != Route::kPrivate);
  if (scheduled.route == Route::kPrivate) {
    scheduled.sharers[*left_owner] = scheduled.sharers[*right_owner] = true;
  }
  auto open = [&](size_t index, std::optional<PartyIndex> other_owner) {
    MaskedOperand& masked = execution.masked[index];
    for (PartyIndex party = 0; party < num_parties_; ++party) {
      if (party == masked.owner || (other_owner && party != *other_owner)) continue;
      if (!Holds(masked.fixed_id, party)) masked.receivers[party] = true;
    }
  };
  open(scheduled.left, right_owner);
  open(scheduled.right, left_owner);
  for (PartyIndex party = 0; party < num_parties_; ++party) {
    if (scheduled.sharers[party]) scheduled.last = party;
  }
  scheduled.dealt_offset = Reserve(scheduled.shape.size());
  execution.cost.requirements.push_back({CorrelationOf(scheduled.route), product.kind,
                                         ShapeOf(product.left), ShapeOf(product.right)});
  execution.products.push_back(std::move(scheduled));
}

ScheduledExecution DealerSchedule::Next(std::span<const Operation> operations) {
  ScheduledExecution execution;
  Requirements& requirements = execution.cost.requirements;
  for (size_t op = 0; op < operations.size(); ++op) {
    if (auto* multiply = std::get_if<MultiplyOperation>(&operations[op])) {
      for (size_t i = 0; i < multiply->products.size(); ++i) {
        ScheduledProduct scheduled;
        scheduled.operation = op;
        scheduled.index = i;
        scheduled.shape = multiply->results[i].shape;
        AddProduct(execution, multiply->products[i], std::move(scheduled));
      }
    }
    if (auto* rescale = std::get_if<RescaleOperation>(&operations[op])) {
      for (size_t i = 0; i < rescale->values.size(); ++i) {
        const Shared& value = rescale->values[i];
        const int shift = value.fraction_bits - rescale->fraction_bits;
        if (shift <= 0) continue;
        execution.rescales.push_back({op, i, shift, Reserve(value.shape.size()),
                                      Reserve(2 * value.shape.size()), value.shape});
        requirements.push_back({Correlation::Kind::kTruncation, {}, value.shape, {}});
      }
    }
    if (auto* reveal = std::get_if<RevealOperation>(&operations[op])) {
      for (size_t i = 0; i < reveal->values.size(); ++i) {
        Shape shape = reveal->values[i].shape;
        execution.reveals.push_back({op, i, reveal->to, Reserve(shape.size()), shape});
        requirements.push_back({Correlation::Kind::kRandomSharing, {}, shape, {}});
      }
    }
  }
  AddBits(execution, operations);
  AddCost(execution);
  for (const MaskedOperand& masked : execution.masked) {
    if (!masked.keep) continue;
    for (PartyIndex party = 0; party < num_parties_; ++party) {
      if (masked.receivers[party]) fixed_[masked.fixed_id].holders.insert(party);
    }
  }
  return execution;
}

// The order of the parts is the order in which DealerEngine and DealerNode queue them.
void DealerSchedule::AddCost(ScheduledExecution& execution) const {
  ExecutionCost& cost = execution.cost;
  const PartyIndex dealer = num_parties_;
  auto add = [&](PartyIndex from, PartyIndex to, Shape shape, uint64_t per_entry) {
    if (from == dealer && options_.dealt_ahead) return;
    const uint64_t bytes = per_entry * shape.size() * element_bytes_;
    if (from != to && bytes > 0) cost.parts.push_back({0, from, to, bytes});
  };
  for (const MaskedOperand& masked : execution.masked) {
    for (PartyIndex from = 0; from < num_parties_; ++from) {
      if (masked.owner && from != *masked.owner) continue;
      for (PartyIndex to = 0; to < num_parties_; ++to) {
        if (masked.receivers[to]) add(from, to, masked.shape, 1);
      }
    }
  }
  for (const ScheduledProduct& product : execution.products) {
    if (product.route != Route::kLocal) add(dealer, product.last, product.shape, 1);
  }
  for (const ScheduledRescale& rescale : execution.rescales) {
    for (PartyIndex from = 0; from < num_parties_; ++from) {
      for (PartyIndex to = 0; to < num_parties_; ++to) add(from, to, rescale.shape, 1);
    }
    add(dealer, num_parties_ - 1, rescale.shape, 2);
  }
  for (const ScheduledReveal& reveal : execution.reveals) {
    for (PartyIndex from = 0; from < num_parties_; ++from) {
      for (PartyIndex to = 0; to < num_parties_; ++to) {
        if (reveal.to == kEverybody || reveal.to == to) add(from, to, reveal.shape, 1);
      }
    }
  }
  AddBitCost(execution);
  cost.steps = cost.parts.empty() ? 0 : 1;
}

DealerOracleLayout DealerSchedule::NextOracle(Shape values, const OracleTask& task) {
  const uint64_t rows = MaxOracleRows(task);
  const PartyIndex dealer = num_parties_, centre = task.centre;
  DealerOracleLayout layout;
  OracleCost& cost = layout.cost;
  const uint64_t chunk_rows = std::min(rows, kEvaluationsPerChunk * MaxOracleRowsAtOnce(task));
  const uint64_t num_chunks = (rows + chunk_rows - 1) / chunk_rows;
  layout.centre = centre;
  layout.values = values;
  layout.dealt_rows = num_chunks * chunk_rows;
  // The same places whoever deals, and whenever.
  layout.mask_offset = Reserve(values.size());
  layout.row_offset = Reserve(layout.dealt_rows * values.rows);
  layout.dealt_offset = Reserve(layout.dealt_rows * values.cols);

  const uint64_t row_bytes = values.cols * element_bytes_;
  cost.evaluations.resize(task.kinds.size());
  for (PartyIndex party = 0; party < num_parties_; ++party) {
    if (party == centre) continue;
    cost.setup.parts.push_back({0, party, centre, values.size() * element_bytes_});
    for (size_t k = 0; k < task.kinds.size(); ++k) {
      const uint64_t q = task.kinds[k].rows;
      auto& parts = cost.evaluations[k].parts;
      parts.push_back({0, centre, party, kOracleHeadBytes + q * values.rows * element_bytes_});
      parts.push_back({1, party, centre, q * values.cols * element_bytes_});
    }
    cost.stop.parts.push_back({0, centre, party, kOracleHeadBytes});
  }
  if (options_.oracles_at_once) {
    cost.setup.parts.push_back({0, dealer, centre, layout.dealt_rows * row_bytes});
  } else if (!options_.dealt_ahead) {
    cost.rows_per_chunk = chunk_rows;
    cost.num_chunks = num_chunks;
    const uint64_t chunk_bytes = chunk_rows * row_bytes;
    const uint64_t first_chunks = std::min(kFirstChunks, num_chunks);
    cost.setup.parts.push_back({0, dealer, centre, first_chunks * chunk_bytes});
    cost.chunk.parts = {{0, centre, dealer, kOracleHeadBytes}, {1, dealer, centre, chunk_bytes}};
    cost.chunk.steps = 2;
    cost.stop.parts.push_back({0, centre, dealer, kOracleHeadBytes});
  }
  cost.setup.steps = cost.stop.steps = 1;
  for (ExecutionCost& evaluation : cost.evaluations) evaluation.steps = 2;
  cost.setup.requirements = {
      {Correlation::Kind::kOracleRows, {}, values, {static_cast<size_t>(rows), values.rows}}};
  return layout;
}

const Capabilities& DealerCapabilities() {
  static const Capabilities capabilities = {
      "dealer",
      "Semi-honest: all computing parties but one may collude; the dealer sees no data and must "
      "collude with nobody.",
      2, 0, true};
  return capabilities;
}

std::unique_ptr<CostModel> MakeDealerCostModel(size_t num_parties, int ring_bits,
                                               const DealerOptions& options) {
  return MakeScheduledCostModel(
      {DealerCapabilities(), num_parties, num_parties + (options.dealt_ahead ? 0 : 1), ring_bits},
      DealerSchedule(num_parties, static_cast<size_t>(ring_bits + 7) / 8, options));
}

}  // namespace partita::mpc
