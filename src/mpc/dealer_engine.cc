#include "mpc/dealer_engine.h"

#include <algorithm>

#include "base/error.h"
#include "mpc/dealer_bits.h"
#include "mpc/dealer_node.h"
#include "mpc/dealer_oracle.h"
#include "mpc/release_ok.h"

namespace partita::mpc {

using Route = ScheduledProduct::Route;

// One Execute: prepare all messages, exchange them, combine what arrived. The parts of messages are
// queued in the order that DealerSchedule lists them in.
template <typename R>
class DealerEngine<R>::Run {
 public:
  using Word = typename R::Word;
  using Vector = std::vector<Word>;
  using Engine = DealerEngine<R>;

  Run(Engine& engine, std::span<Operation> operations)
      : engine_(engine),
        operations_(operations),
        me_(*engine.facts().self),
        num_parties_(engine.facts().num_parties),
        plan_(engine.schedule_.Next(operations)),
        masked_(plan_.masked.size()),
        products_(plan_.products.size()),
        rescales_(plan_.rescales.size()),
        reveals_(plan_.reveals.size()),
        bits_(plan_.bits, operations, me_, num_parties_, *engine.source_, engine.peer_tapes_) {}

  void Execute() {
    engine_.source_->Prepare(plan_);
    ShareInputs();
    for (size_t i = 0; i < products_.size(); ++i) PrepareProduct(i);
    for (size_t i = 0; i < masked_.size(); ++i) PrepareMasked(i);
    for (size_t i = 0; i < rescales_.size(); ++i) PrepareRescale(i);
    for (size_t i = 0; i < reveals_.size(); ++i) PrepareReveal(i);
    bits_.Prepare(messages_);
    for (size_t step = 0; step < plan_.cost.steps; ++step) {
      messages_.Exchange(engine_.channel_, plan_.cost, step);
    }
    for (size_t i = 0; i < masked_.size(); ++i) FinishMasked(i);
    for (size_t i = 0; i < products_.size(); ++i) FinishProduct(i);
    for (size_t i = 0; i < rescales_.size(); ++i) FinishRescale(i);
    for (size_t i = 0; i < reveals_.size(); ++i) FinishReveal(i);
    bits_.Finish();
    ScaleUp();
  }

 private:
  // Shares sent to and got from others; afterwards their sum.
  struct Opening {
    Vector own;
    std::vector<Vector> received;
  };

  struct MaskedState {
    Opening opening;                // of a shared operand
    Vector whole;                   // of a private operand that is not kept
    const Vector* value = nullptr;  // the opened matrix, once it is there
    RowSource<R> mask;              // shared: of the own share; private: at the owner
  };

  struct ProductState {
    Vector out;        // the share of the product, accumulated
    Vector dealt;      // the correction, while `out` may not be written by the transport
    RowSource<R> own;  // this party's side of a product with another's private matrix
  };

  struct RescaleState {
    Opening opening;
    Vector dealt;  // shares of t, then of m
  };

  const Product& ProductOf(const ScheduledProduct& plan) const {
    return std::get<MultiplyOperation>(operations_[plan.operation]).products[plan.index];
  }
  const Vector& ShareOf(const Shared& value) const { return Engine::SharesOf(value).components[0]; }
  RowSource<R> ShareRows(const Operand& operand) const {
    const Shared& value = std::get<Shared>(operand);
    return FromMemory<R>(value.shape, ShareOf(value));
  }
  RowSource<R> OwnRows(const Operand& operand) const {
    auto* fixed = std::get_if<FixedOperand>(&operand);
    if (fixed != nullptr) return TakeRows<R>(FromPrivate<R>(fixed->matrix), fixed->rows);
    return FromPrivate<R>(std::get<PrivateMatrix>(operand));
  }

  // Whatever rows the first product that uses it chose of a fixed operand, all are opened.
  RowSource<R> AllRows(const Operand& operand) const {
    auto* fixed = std::get_if<FixedOperand>(&operand);
    return fixed != nullptr ? FromPrivate<R>(fixed->matrix) : OwnRows(operand);
  }

  // The own matrix as a product uses it. Products share a masked operand whatever rows they choose.
  RowSource<R> ProductRows(const Operand& operand, const RowList& rows) const {
    return TakeRows<R>(AllRows(operand), rows);
  }

  void ShareInputs() {
    for (Operation& operation : operations_) {
      auto* input = std::get_if<InputOperation>(&operation);
      for (size_t i = 0; input != nullptr && i < input->inputs.size(); ++i) {
        const PrivateMatrix& matrix = input->inputs[i];
        Vector share(matrix.shape.size());
        if (matrix.owner == me_ && !share.empty()) {
          FromPrivate<R>(matrix).fill(0, matrix.shape.rows, share);
        }
        input->results[i] = Engine::WithShares(input->results[i], {std::move(share)});
      }
    }
  }

  // Sends the own share to everybody who receives the sum, and expects theirs if this party does.
  void Open(Opening& opening, const std::function<bool(PartyIndex)>& receives) {
    for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
      if (peer == me_) continue;
      if (receives(peer)) messages_.Send(peer, WireBytes(ConstWords<R>(opening.own)));
      if (!receives(me_)) continue;
      opening.received.emplace_back(opening.own.size());
      messages_.Receive(peer, WireBytes(Words<R>(opening.received.back())));
    }
  }
  void AddUp(Opening& opening) {
    for (Vector& share : opening.received) {
      ReduceWords<R>(share);
      Add<R>(opening.own, share, opening.own);
      share = {};
    }
  }

  // --- masked operands

  void PrepareMasked(size_t index) {
    const MaskedOperand& plan = plan_.masked[index];
    MaskedState& state = masked_[index];
    if (!plan.owner) {
      state.mask = engine_.source_->Mask(plan.shape, plan.mask_offset);
      state.opening.own.resize(plan.shape.size());
      auto masked_share = Difference<R>(ShareRows(plan.operand), state.mask);
      FillBlocks(masked_share, state.opening.own);
      Open(state.opening, [&](PartyIndex party) { return plan.receivers[party]; });
      return;
    }
    if (plan.owner == me_) {
      state.mask = engine_.source_->Mask(plan.shape, plan.mask_offset);
      SendPrivate(plan);
      return;
    }
    if (plan.receivers[me_]) {
      ReceivePrivate(index);
    } else if (engine_.schedule_.Holds(plan.fixed_id, me_)) {
      state.value = &engine_.fixed_[plan.fixed_id].opening;
    }
  }

  static void FillBlocks(const RowSource<R>& source, Words<R> out) {
    const size_t cols = source.shape.cols;
    ForEachBlock(source.shape.rows, RowsPerBlock(cols, R::kBytes), [&](size_t first, size_t count) {
      if (cols > 0) source.fill(first, count, out.subspan(first * cols, count * cols));
    });
  }

  void SendPrivate(const MaskedOperand& plan) {
    const uint64_t bytes = plan.shape.size() * R::kBytes;
    for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
      if (!plan.receivers[peer] || bytes == 0) continue;
      auto opening =
          Difference<R>(AllRows(plan.operand), engine_.source_->Mask(plan.shape, plan.mask_offset));
      std::function<void(size_t, ConstWords<R>)> check;
      if (plan.fixed_id != 0) check = SameAsBefore(plan);
      messages_.SendStream(peer, bytes, ProduceRows<R>(std::move(opening), std::move(check)));
    }
  }

  // A mask may be used again only for the same matrix: a second opening of other values under it
  // would give their difference away. Compares digests of the opening's blocks.
  std::function<void(size_t, ConstWords<R>)> SameAsBefore(const MaskedOperand& plan) {
    const size_t block = RowsPerBlock(plan.shape.cols, R::kBytes);
    return [&sent = engine_.fixed_[plan.fixed_id].sent, block](size_t first, ConstWords<R> rows) {
      crypto::Digest digest = crypto::Sha256Of(WireBytes(rows));
      const size_t number = first / block;
      if (number == sent.size()) sent.push_back(digest);
      if (sent[number] == digest) return;
      throw Error(ErrorCode::kBadData,
                  "a private matrix changed after it was registered as a fixed operand",
                  "the table must not change during a run; start the study again");
    };
  }

  void ReceivePrivate(size_t index) {
    const MaskedOperand& plan = plan_.masked[index];
    MaskedState& state = masked_[index];
    if (plan.only_cross_products && !plan.keep) {
      auto visit = [this, index](size_t first, size_t count, ConstWords<R> rows) {
        UseOpening(index, FromMemory<R>(plan_.masked[index].shape, rows, first), first, count);
      };
      messages_.ReceiveStream(*plan.owner, plan.shape.size() * R::kBytes,
                              ConsumeRows<R>(plan.shape, visit));
      return;
    }
    Vector& buffer = plan.keep ? engine_.fixed_[plan.fixed_id].opening : state.whole;
    buffer.resize(plan.shape.size());
    messages_.Receive(*plan.owner, WireBytes(Words<R>(buffer)));
    state.value = &buffer;
  }

  void FinishMasked(size_t index) {
    const MaskedOperand& plan = plan_.masked[index];
    MaskedState& state = masked_[index];
    if (!plan.owner) {
      AddUp(state.opening);
      state.value = &state.opening.own;
      return;
    }
    if (state.value == nullptr || plan.owner == me_) return;
    if (plan.receivers[me_]) {
      ReduceWords<R>(plan.keep ? engine_.fixed_[plan.fixed_id].opening : state.whole);
    }
    auto opening = FromMemory<R>(plan.shape, *state.value);
    const size_t block =
        plan.only_cross_products ? RowsPerBlock(plan.shape.cols, R::kBytes) : plan.shape.rows;
    if (plan.shape.size() == 0) return;
    UseChosenRows(index, opening);
    if (!UsesAllRows(index)) return;
    ForEachBlock(plan.shape.rows, block,
                 [&](size_t first, size_t count) { UseOpening(index, opening, first, count); });
  }

  // Whether this party's share of the product gains from the opening of that operand.
  bool Uses(const ScheduledProduct& plan, size_t operand) const {
    if (plan.route == Route::kLocal || !plan.sharers[me_]) return false;
    return (plan.left == operand) != (plan.right == operand);
  }
  static bool ChoosesRows(const ScheduledProduct& plan, size_t operand) {
    return (plan.left == operand ? plan.left_rows : plan.right_rows) != nullptr;
  }
  bool UsesAllRows(size_t index) const {
    return std::any_of(plan_.products.begin(), plan_.products.end(),
                       [&](const ScheduledProduct& plan) {
                         return Uses(plan, index) && !ChoosesRows(plan, index);
                       });
  }

  // As UseOpening, in products that use some rows only.
  void UseChosenRows(size_t index, const RowSource<R>& opening) {
    for (size_t i = 0; i < products_.size(); ++i) {
      const ScheduledProduct& plan = plan_.products[i];
      if (!Uses(plan, index) || !ChoosesRows(plan, index)) continue;
      ProductState& state = products_[i];
      if (plan.left == index) {
        AccumulateProduct<R>(plan.kind, TakeRows<R>(opening, plan.left_rows), state.own, plan.shape,
                             state.out);
      } else {
        AccumulateProduct<R>(plan.kind, state.own, TakeRows<R>(opening, plan.right_rows),
                             plan.shape, state.out);
      }
    }
  }

  // Rows of another party's private matrix, masked, enter every product that this party shares.
  void UseOpening(size_t index, const RowSource<R>& opening, size_t first, size_t count) {
    for (size_t i = 0; i < products_.size(); ++i) {
      const ScheduledProduct& plan = plan_.products[i];
      if (!Uses(plan, index) || ChoosesRows(plan, index)) continue;
      if (plan.left == index) {
        AccumulateRows<R>(plan.kind, opening, products_[i].own, first, count, plan.shape,
                          products_[i].out);
      } else {
        AccumulateRows<R>(plan.kind, products_[i].own, opening, first, count, plan.shape,
                          products_[i].out);
      }
    }
  }

  // --- products

  void PrepareProduct(size_t index) {
    const ScheduledProduct& plan = plan_.products[index];
    ProductState& state = products_[index];
    state.out.resize(plan.shape.size());
    if (plan.route == Route::kLocal || !plan.sharers[me_]) return;
    // Cross products are accumulated while messages arrive, so the correction needs its own place.
    const bool in_place = plan.kind != Product::Kind::kGram;
    if (!in_place) state.dealt.resize(plan.shape.size());
    engine_.source_->Deal(plan.dealt_offset, plan.last == me_, in_place ? state.out : state.dealt,
                          messages_);
    ChooseOwnSide(plan, state);
  }

  // What meets another party's opened matrix here: the own share in a mixed product; in a private
  // one the mask of the left matrix, or the plain right matrix.
  void ChooseOwnSide(const ScheduledProduct& plan, ProductState& state) {
    const MaskedOperand &left = plan_.masked[plan.left], &right = plan_.masked[plan.right];
    if (plan.route == Route::kPrivate) {
      state.own =
          left.owner == me_
              ? TakeRows<R>(engine_.source_->Mask(left.shape, left.mask_offset), plan.left_rows)
              : ProductRows(right.operand, plan.right_rows);
    }
    if (plan.route == Route::kMixed) state.own = ShareRows((left.owner ? right : left).operand);
  }

  void FinishProduct(size_t index) {
    const ScheduledProduct& plan = plan_.products[index];
    ProductState& state = products_[index];
    if (plan.route == Route::kLocal) FinishLocal(plan, state.out);
    if (plan.route == Route::kShared) FinishShared(plan, state.out);
    if (plan.route == Route::kMixed) FinishMixed(plan, state.out);
    ReduceWords<R>(state.out);
    if (!state.dealt.empty()) {
      ReduceWords<R>(state.dealt);
      Add<R>(state.out, state.dealt, state.out);
    }
    Shared& result = std::get<MultiplyOperation>(operations_[plan.operation]).results[plan.index];
    result = Engine::WithShares(result, {std::move(state.out)});
  }

  // Everything is public, or one party's, or linear in the shares.
  void FinishLocal(const ScheduledProduct& plan, Vector& out) {
    const Product& product = ProductOf(plan);
    auto owner = OwnerOf(product.left) ? OwnerOf(product.left) : OwnerOf(product.right);
    const bool shared = std::holds_alternative<Shared>(product.left) ||
                        std::holds_alternative<Shared>(product.right);
    if (!shared && me_ != owner.value_or(0)) return;
    Vector left_words, right_words;
    AccumulateProduct<R>(plan.kind, LocalRows(product.left, left_words),
                         LocalRows(product.right, right_words), plan.shape, out);
  }

  RowSource<R> LocalRows(const Operand& operand, Vector& words) {
    if (auto* matrix = std::get_if<PublicMatrix>(&operand)) {
      words = ToWords<R>(matrix->values);
      return FromMemory<R>(matrix->values.shape, words);
    }
    return std::holds_alternative<Shared>(operand) ? ShareRows(operand) : OwnRows(operand);
  }

  // E * y_i + u_i * F.
  void FinishShared(const ScheduledProduct& plan, Vector& out) {
    const MaskedOperand &left = plan_.masked[plan.left], &right = plan_.masked[plan.right];
    auto e = FromMemory<R>(left.shape, *masked_[plan.left].value);
    auto f = FromMemory<R>(right.shape, *masked_[plan.right].value);
    AccumulateProduct<R>(plan.kind, e, ShareRows(right.operand), plan.shape, out);
    AccumulateProduct<R>(plan.kind, masked_[plan.left].mask, f, plan.shape, out);
  }

  // At the private operand's owner: x * Y + (E - x) * V.
  void FinishMixed(const ScheduledProduct& plan, Vector& out) {
    const bool left_private = plan_.masked[plan.left].owner.has_value();
    const size_t hidden = left_private ? plan.left : plan.right;
    const size_t shared = left_private ? plan.right : plan.left;
    if (plan_.masked[hidden].owner != me_) return;
    const MaskedOperand& shared_plan = plan_.masked[shared];
    auto x = ShareRows(shared_plan.operand);
    const RowList& rows = left_private ? plan.left_rows : plan.right_rows;
    auto y = ProductRows(plan_.masked[hidden].operand, rows);
    auto rest = Difference<R>(FromMemory<R>(shared_plan.shape, *masked_[shared].value),
                              ShareRows(shared_plan.operand));
    const RowSource<R> v = TakeRows<R>(masked_[hidden].mask, rows);
    if (left_private) {
      AccumulateProduct<R>(plan.kind, y, x, plan.shape, out);
      AccumulateProduct<R>(plan.kind, v, rest, plan.shape, out);
    } else {
      AccumulateProduct<R>(plan.kind, x, y, plan.shape, out);
      AccumulateProduct<R>(plan.kind, rest, v, plan.shape, out);
    }
  }

  // --- rescaling

  static Word PowerOfTwo(int exponent) { return R::Reduce(UInt128{1} << exponent); }

  void PrepareRescale(size_t index) {
    const ScheduledRescale& plan = plan_.rescales[index];
    RescaleState& state = rescales_[index];
    const Shared& value =
        std::get<RescaleOperation>(operations_[plan.operation]).values[plan.index];
    Vector& own = state.opening.own;
    own.resize(plan.shape.size());
    state.dealt.resize(2 * plan.shape.size());
    FillBlocks(engine_.source_->Mask(plan.shape, plan.mask_offset), own);
    Add<R>(own, ShareOf(value), own);
    if (me_ == 0) {
      for (Word& c : own) c = R::Add(c, PowerOfTwo(R::kBits - 2));
    }
    Open(state.opening, [](PartyIndex) { return true; });
    engine_.source_->Deal(plan.dealt_offset, me_ + 1 == num_parties_, state.dealt, messages_);
  }

  void FinishRescale(size_t index) {
    const ScheduledRescale& plan = plan_.rescales[index];
    RescaleState& state = rescales_[index];
    AddUp(state.opening);
    ReduceWords<R>(state.dealt);
    const size_t size = plan.shape.size();
    const Word top_weight = PowerOfTwo(R::kBits - 1 - plan.shift);
    const Word offset = PowerOfTwo(R::kBits - 2 - plan.shift);
    Vector& out = state.opening.own;
    for (size_t i = 0; i < size; ++i) {
      const Word c = out[i], t = state.dealt[i], m = state.dealt[size + i];
      const auto top = static_cast<Word>(c >> (R::kBits - 1)), if_top = R::Neg(top);
      // top xor m, linear in the share of m: top + (-m if top, else m).
      Word flipped = R::Sub(static_cast<Word>(m ^ if_top), if_top);
      Word constant = 0;
      if (me_ == 0) {
        flipped = R::Add(flipped, top);
        const Word low = static_cast<Word>(c & static_cast<Word>(PowerOfTwo(R::kBits - 1) - 1));
        constant = R::Sub(static_cast<Word>(low >> plan.shift), offset);
      }
      out[i] = R::Add(R::Sub(constant, t), R::Mul(top_weight, flipped));
    }
    Shared& result = std::get<RescaleOperation>(operations_[plan.operation]).results[plan.index];
    result = Engine::WithShares(result, {std::move(out)});
  }

  // Rescaling to as many or more fraction bits is exact and local.
  void ScaleUp() {
    for (Operation& operation : operations_) {
      auto* rescale = std::get_if<RescaleOperation>(&operation);
      for (size_t i = 0; rescale != nullptr && i < rescale->values.size(); ++i) {
        const Shared& value = rescale->values[i];
        const int shift = rescale->fraction_bits - value.fraction_bits;
        if (shift < 0) continue;
        Vector out(value.shape.size());
        Scale<R>(ShareOf(value), PowerOfTwo(shift), out);
        rescale->results[i] = Engine::WithShares(rescale->results[i], {std::move(out)});
      }
    }
  }

  // --- openings

  void PrepareReveal(size_t index) {
    const ScheduledReveal& plan = plan_.reveals[index];
    const Shared& value = std::get<RevealOperation>(operations_[plan.operation]).values[plan.index];
    Opening& opening = reveals_[index];
    opening.own = ShareOf(value);
    AddZeroShare(plan, opening.own);
    Open(opening, [&](PartyIndex party) { return plan.to == kEverybody || plan.to == party; });
  }

  // Makes the share uniform but for the sum: every pair adds and subtracts the same random matrix.
  void AddZeroShare(const ScheduledReveal& plan, Words<R> share) {
    const size_t cols = plan.shape.cols;
    if (cols == 0) return;
    for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
      if (peer == me_) continue;
      auto random = FromTape<R>(plan.shape, *engine_.peer_tapes_[peer], plan.zero_offset);
      ForEachBlock(plan.shape.rows, RowsPerBlock(cols, R::kBytes), [&](size_t first, size_t count) {
        auto rows = share.subspan(first * cols, count * cols);
        if (me_ < peer) {
          Add<R>(rows, random.Rows(first, count), rows);
        } else {
          Sub<R>(rows, random.Rows(first, count), rows);
        }
      });
    }
  }

  void FinishReveal(size_t index) {
    const ScheduledReveal& plan = plan_.reveals[index];
    if (plan.to != kEverybody && plan.to != me_) return;
    AddUp(reveals_[index]);
    std::get<RevealOperation>(operations_[plan.operation]).results[plan.index] =
        FromWords<R>(plan.shape, reveals_[index].own);
  }

  Engine& engine_;
  std::span<Operation> operations_;
  PartyIndex me_;
  size_t num_parties_;
  ScheduledExecution plan_;
  StepMessages messages_;
  std::vector<MaskedState> masked_;
  std::vector<ProductState> products_;
  std::vector<RescaleState> rescales_;
  std::vector<Opening> reveals_;
  DealerBits<R> bits_;
};

template <typename R>
DealerEngine<R>::DealerEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
                              const DealerOptions& options)
    : LinearEngine<R, 1>({channel.num_parties() - 1, channel.self(), R::kBits},
                         {channel.self() == 0}),
      channel_(channel),
      gate_(gate),
      has_dealer_(true),
      schedule_(channel.num_parties() - 1, R::kBytes, options),
      source_(std::make_unique<LiveDealer<R>>(channel.num_parties() - 1,
                                              tapes(channel.num_parties() - 1))) {
  OpenTapes(tapes);
}

namespace {

DealerOptions DealtAhead(DealerOptions options) {
  options.dealt_ahead = true;
  return options;
}

}  // namespace

template <typename R>
DealerEngine<R>::DealerEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
                              std::unique_ptr<CorrelationSource<R>> source, DealerOptions options)
    : LinearEngine<R, 1>({channel.num_parties(), channel.self(), R::kBits}, {channel.self() == 0}),
      channel_(channel),
      gate_(gate),
      has_dealer_(false),
      schedule_(channel.num_parties(), R::kBytes, DealtAhead(options)),
      source_(std::move(source)) {
  OpenTapes(tapes);
}

template <typename R>
void DealerEngine<R>::OpenTapes(const TapeFactory& tapes) {
  for (PartyIndex peer = 0; peer < this->num_parties(); ++peer) {
    peer_tapes_.push_back(peer == channel_.self() ? nullptr : tapes(peer));
  }
}

template <typename R>
void DealerEngine<R>::AgreeToOpen() {
  mpc::AgreeToOpen(channel_, gate_, this->num_parties());
}

template <typename R>
FixedOperand DealerEngine<R>::Register(PrivateMatrix matrix) {
  CheckPrivate(matrix, this->facts());
  FixedOperand operand{std::move(matrix), ++num_registered_};
  schedule_.Register(operand);
  return operand;
}

template <typename R>
OracleUse DealerEngine<R>::RunOracle(const Shared& values, const OracleTask& task,
                                     const OracleQueries& queries) {
  OracleSession session(channel_, gate_, values, task, this->facts());
  const DealerOracleLayout layout = schedule_.NextOracle(values.shape, task);
  source_->PrepareOracle(layout);
  DealerOracle<R>(session, *source_, layout, this->num_parties(), has_dealer_,
                  this->SharesOf(values).components[0])
      .Run(queries);
  return session.use();
}

template <typename R>
SharedBits DealerEngine<R>::RandomBits(Shape shape, size_t width, crypto::RandomSource& own) {
  BitMatrix share = MakeBits(shape, width);
  own.Fill(BitBytes(BitWords(share.words)));
  return this->WithBits({shape, width, nullptr}, {std::move(share.words)});
}

template <typename R>
void DealerEngine<R>::Execute(std::span<Operation> operations) {
  for (Operation& operation : operations) CheckOperation(operation, this->facts());
  AskGate(gate_, operations);
  Run(*this, operations).Execute();
}

template class DealerEngine<Ring128>;
template class DealerEngine<Ring64>;
template class DealerEngine<Ring16>;
template class DealerEngine<Ring8>;
template class DealerEngine<Ring4>;

std::unique_ptr<Engine> MakeDealerEngine(net::Channel& channel, ReleaseGate& gate) {
  TapeFactory tapes = ChannelTapes(channel, kDealerTapes);
  if (channel.self() + 1 == channel.num_parties()) {
    return std::make_unique<DealerNode<Ring128>>(channel, tapes, DealerOptions{}, &gate);
  }
  return std::make_unique<DealerEngine<Ring128>>(channel, gate, tapes);
}

}  // namespace partita::mpc
