#include "mpc/dealer_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "mpc/dealer_bits.h"
#include "mpc/oracle_session.h"
#include "mpc/release_ok.h"

namespace partita::mpc {

using Route = ScheduledProduct::Route;

namespace {

// Of all rows of both matrices.
bool IsWholeCrossProduct(const ScheduledProduct& product) {
  return product.kind == Product::Kind::kGram && product.left_rows == nullptr &&
         product.right_rows == nullptr;
}

}  // namespace

template <typename R>
DealerNode<R>::DealerNode(net::Channel& channel, const TapeFactory& tapes,
                          const DealerOptions& options, ReleaseGate* gate)
    : ShapeEngine({channel.num_parties() - 1, {}, R::kBits}),
      channel_(channel),
      gate_(gate),
      options_(options),
      schedule_(channel.num_parties() - 1, R::kBytes, options) {
  for (PartyIndex party = 0; party < num_parties(); ++party) tapes_.push_back(tapes(party));
}

template <typename R>
void DealerNode<R>::AgreeToOpen() {
  if (gate_ != nullptr) mpc::AgreeToOpen(channel_, *gate_, num_parties());
}

template <typename R>
FixedOperand DealerNode<R>::Register(PrivateMatrix matrix) {
  CheckPrivate(matrix, facts());
  FixedOperand operand{std::move(matrix), ++num_registered_};
  schedule_.Register(operand);
  return operand;
}

template <typename R>
RowSource<R> DealerNode<R>::MaskOf(const MaskedOperand& masked) {
  if (masked.owner) return FromTape<R>(masked.shape, *tapes_[*masked.owner], masked.mask_offset);
  std::vector<RowSource<R>> shares;
  for (const auto& tape : tapes_) {
    shares.push_back(FromTape<R>(masked.shape, *tape, masked.mask_offset));
  }
  RowSource<R> sum;
  sum.shape = masked.shape;
  sum.fill = [shares = std::move(shares)](size_t first, size_t count, Words<R> out) {
    shares[0].fill(first, count, out);
    for (size_t i = 1; i < shares.size(); ++i) mpc::Add<R>(out, shares[i].Rows(first, count), out);
  };
  return sum;
}

template <typename R>
auto DealerNode<R>::MultiplyMasks(const ScheduledExecution& plan) -> std::vector<Vector> {
  std::vector<Vector> products(plan.products.size());
  for (size_t i = 0; i < products.size(); ++i) {
    const ScheduledProduct& product = plan.products[i];
    if (product.route == Route::kLocal || product.kind == Product::Kind::kElementwise) continue;
    products[i].resize(product.shape.size());
    if (IsWholeCrossProduct(product)) continue;
    AccumulateProduct<R>(product.kind,
                         TakeRows<R>(MaskOf(plan.masked[product.left]), product.left_rows),
                         TakeRows<R>(MaskOf(plan.masked[product.right]), product.right_rows),
                         product.shape, products[i]);
  }
  MultiplyCrossProducts(plan, products);
  return products;
}

template <typename R>
void DealerNode<R>::MultiplyCrossProducts(const ScheduledExecution& plan,
                                          std::vector<Vector>& products) {
  std::map<size_t, std::vector<size_t>> by_rows;  // products with so many rows
  for (size_t i = 0; i < products.size(); ++i) {
    const ScheduledProduct& product = plan.products[i];
    if (product.route == Route::kLocal || !IsWholeCrossProduct(product)) continue;
    by_rows[plan.masked[product.left].shape.rows].push_back(i);
  }
  for (const auto& [rows, members] : by_rows) MultiplyGroup(plan, rows, members, products);
}

// Cross products over the same number of rows: every mask is generated once per block.
template <typename R>
void DealerNode<R>::MultiplyGroup(const ScheduledExecution& plan, size_t rows,
                                  const std::vector<size_t>& members,
                                  std::vector<Vector>& products) {
  std::map<size_t, RowSource<R>> masks;
  size_t widest = 1;
  for (size_t i : members) {
    for (size_t index : {plan.products[i].left, plan.products[i].right}) {
      masks.try_emplace(index, MaskOf(plan.masked[index]));
      widest = std::max(widest, plan.masked[index].shape.cols);
    }
  }
  ForEachBlock(rows, RowsPerBlock(widest, R::kBytes), [&](size_t first, size_t count) {
    std::map<size_t, RowSource<R>> blocks;
    for (const auto& [index, mask] : masks) {
      blocks.emplace(index, FromMemory<R>(mask.shape, mask.Rows(first, count), first));
    }
    for (size_t i : members) {
      const ScheduledProduct& product = plan.products[i];
      AccumulateRows<R>(product.kind, blocks.at(product.left), blocks.at(product.right), first,
                        count, product.shape, products[i]);
    }
  });
}

template <typename R>
void DealerNode<R>::SubtractShares(const std::vector<bool>& sharers, PartyIndex last,
                                   uint64_t offset, Words<R> value) {
  for (PartyIndex party = 0; party < num_parties(); ++party) {
    if (!sharers[party] || party == last) continue;
    auto shares = FromTape<R>({value.size(), 1}, *tapes_[party], offset);
    ForEachBlock(value.size(), RowsPerBlock(1, R::kBytes), [&](size_t first, size_t count) {
      auto block = value.subspan(first, count);
      Sub<R>(block, shares.Rows(first, count), block);
    });
  }
}

// t = (r mod 2^(k-1)) >> shift for every entry, then r's top bits.
template <typename R>
auto DealerNode<R>::DealTruncation(const ScheduledRescale& plan) -> Vector {
  using Word = typename R::Word;
  const size_t size = plan.shape.size();
  MaskedOperand r;
  r.shape = {size, 1};
  r.mask_offset = plan.mask_offset;
  Vector dealt(2 * size);
  const RowSource<R> masks = MaskOf(r);
  ForEachBlock(size, RowsPerBlock(1, R::kBytes), [&](size_t first, size_t count) {
    const ConstWords<R> block = masks.Rows(first, count);
    for (size_t i = 0; i < count; ++i) {
      const Word top = static_cast<Word>(block[i] >> (R::kBits - 1));
      const Word low = R::Sub(block[i], static_cast<Word>(top << (R::kBits - 1)));
      dealt[first + i] = static_cast<Word>(low >> plan.shift);
      dealt[size + first + i] = top;
    }
  });
  SubtractShares(std::vector<bool>(num_parties(), true), num_parties() - 1, plan.dealt_offset,
                 dealt);
  return dealt;
}

template <typename R>
RowSource<R> DealerNode<R>::ElementwiseCorrection(const ScheduledExecution& plan,
                                                  const ScheduledProduct& product) {
  std::vector<RowSource<R>> shares;
  for (PartyIndex party = 0; party < num_parties(); ++party) {
    if (product.sharers[party] && party != product.last)
      shares.push_back(FromTape<R>(product.shape, *tapes_[party], product.dealt_offset));
  }
  RowSource<R> correction;
  correction.shape = product.shape;
  correction.fill = [left = TakeRows<R>(MaskOf(plan.masked[product.left]), product.left_rows),
                     right = TakeRows<R>(MaskOf(plan.masked[product.right]), product.right_rows),
                     shares = std::move(shares)](size_t first, size_t count, Words<R> out) {
    std::fill(out.begin(), out.end(), typename R::Word{0});
    AccumulateEntries<R>(left, right, first, count, out);
    for (const RowSource<R>& share : shares) Sub<R>(out, share.Rows(first, count), out);
  };
  return correction;
}

template <typename R>
void DealerNode<R>::Execute(std::span<Operation> operations) {
  for (Operation& operation : operations) RunOnShapes(operation);
  ScheduledExecution plan = schedule_.Next(operations);
  std::vector<Vector> corrections = MultiplyMasks(plan);
  StepMessages messages;
  for (size_t i = 0; i < plan.products.size(); ++i) {
    const ScheduledProduct& product = plan.products[i];
    if (product.route == Route::kLocal) continue;
    if (product.kind == Product::Kind::kElementwise) {
      messages.SendStream(product.last, product.shape.size() * R::kBytes,
                          ProduceRows<R>(ElementwiseCorrection(plan, product)));
      continue;
    }
    SubtractShares(product.sharers, product.last, product.dealt_offset, corrections[i]);
    messages.Send(product.last, WireBytes(ConstWords<R>(corrections[i])));
  }
  std::vector<Vector> truncations;
  for (const ScheduledRescale& rescale : plan.rescales) {
    truncations.push_back(DealTruncation(rescale));
    messages.Send(num_parties() - 1, WireBytes(ConstWords<R>(truncations.back())));
  }
  BitDealer<R> bits(plan.bits, tapes_);
  bits.Deal(messages);
  for (size_t step = 0; step < plan.cost.steps; ++step) {
    messages.Exchange(channel_, plan.cost, step);
  }
}

// A b - sum C_i.
template <typename R>
void DealerNode<R>::DealOracleRows(const DealerOracleLayout& layout, ConstWords<R> b, uint64_t row,
                                   size_t num_rows, Words<R> dealt) {
  const auto [d, m] = layout.values;
  Vector weights(num_rows * d);
  FromTape<R>({num_rows, d}, *tapes_[layout.centre], layout.row_offset + row * d * R::kBytes)
      .fill(0, num_rows, weights);
  MatMul<R>(weights, b, num_rows, d, m, dealt);
  const std::vector<bool> sharers(num_parties(), true);
  SubtractShares(sharers, layout.centre, layout.dealt_offset + row * m * R::kBytes, dealt);
}

template <typename R>
void DealerNode<R>::SendOracleRows(const DealerOracleLayout& layout, ConstWords<R> b, uint64_t row,
                                   uint64_t num_rows) {
  if (num_rows * layout.values.cols == 0) return;
  RowSource<R> rows;
  rows.shape = {num_rows, layout.values.cols};
  rows.fill = [&](size_t first, size_t count, Words<R> out) {
    DealOracleRows(layout, b, row + first, count, out);
  };
  net::Send send;
  send.to = layout.centre;
  send.size = rows.shape.size() * R::kBytes;
  send.producer = ProduceRows<R>(std::move(rows), {});
  channel_.Exchange({&send, 1}, {});
}

template <typename R>
OracleUse DealerNode<R>::RunOracle(const Shared& values, const OracleTask& task,
                                   const OracleQueries&) {
  CheckOracle(values, task, facts());
  const DealerOracleLayout layout = schedule_.NextOracle(values.shape, task);
  Vector b(values.shape.size()), mask(b.size());
  for (PartyIndex party = 0; party < num_parties(); ++party) {
    if (party == task.centre) continue;
    FromTape<R>(values.shape, *tapes_[party], layout.mask_offset).fill(0, values.shape.rows, mask);
    mpc::Add<R>(b, mask, b);
  }
  if (options_.oracles_at_once) {
    SendOracleRows(layout, b, 0, layout.dealt_rows);
    return {};
  }
  uint64_t row = std::min(kFirstChunks, layout.cost.num_chunks) * layout.cost.rows_per_chunk;
  SendOracleRows(layout, b, 0, row);
  for (;;) {
    std::array<uint8_t, kOracleHeadBytes> head{};
    net::Receive receive;
    receive.from = task.centre;
    receive.into = head;
    channel_.Exchange({}, {&receive, 1});
    if (head == OracleHead(kOracleStop)) return {};
    if (head != OracleHead(kOracleMore) || row >= layout.dealt_rows) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("party {}, the centre of an oracle, asked the dealer for rows beyond "
                              "the plan",
                              channel_.names()[task.centre]),
                  "compare versions and run the study again");
    }
    SendOracleRows(layout, b, row, layout.cost.rows_per_chunk);
    row += layout.cost.rows_per_chunk;
  }
}

template class DealerNode<Ring128>;
template class DealerNode<Ring64>;
template class DealerNode<Ring16>;
template class DealerNode<Ring8>;
template class DealerNode<Ring4>;

}  // namespace partita::mpc
