#include "mpc/dealer_engine.h"

#include <algorithm>
#include <optional>

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
    for (size_t i = 0; i < products_.size(); ++i) ChooseSides(i);
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
    Opening opening;                // of a shared operand; `own` alone, the sum, of a large one
    RowSource<R> share;             // of the opening of a shared operand: this party's
    Vector passing;                 // rows of an opening that passes by
    Vector whole;                   // of a private operand that is not kept
    const Vector* value = nullptr;  // the opened matrix, once it is there
    RowSource<R> mask;              // shared: of the own share; private: at the owner
  };

  struct ProductState {
    Vector out;  // the share of the product, accumulated
    // What the opening of that operand meets at this party; none: it gains nothing from it.
    std::optional<RowSource<R>> with_left, with_right;
    // Of a mixed product at its private operand's owner.
    std::optional<RowSource<R>> own_share, own_plain;
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
      state.share = Difference<R>(ShareRows(plan.operand), state.mask);
      if (IsLarge(plan)) {
        OpenLarge(index);
      } else {
        OpenSmall(index);
      }
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

  uint64_t BytesOf(const MaskedOperand& plan) const { return plan.shape.size() * R::kBytes; }
  bool IsLarge(const MaskedOperand& plan) const { return BytesOf(plan) > engine_.max_whole_bytes_; }
  // With a single peer, rows of a large opening are complete when its share of them arrives.
  bool Passes(const MaskedOperand& plan) const {
    return num_parties_ == 2 && plan.by_rows && IsLarge(plan);
  }

  void OpenSmall(size_t index) {
    const MaskedOperand& plan = plan_.masked[index];
    Opening& opening = masked_[index].opening;
    opening.own.resize(plan.shape.size());
    FillBlocks(masked_[index].share, opening.own);
    Open(opening, [&](PartyIndex party) { return plan.receivers[party]; });
  }

  // The own share is made while it leaves. A party to which the operand is opened adds up what
  // arrives, or uses it at once.
  void OpenLarge(size_t index) {
    const MaskedOperand& plan = plan_.masked[index];
    MaskedState& state = masked_[index];
    if (plan.receivers[me_] && !Passes(plan)) state.opening.own.resize(plan.shape.size());
    for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
      if (peer == me_) continue;
      if (plan.receivers[peer]) {
        auto share = Difference<R>(ShareRows(plan.operand), state.mask);
        messages_.SendStream(peer, BytesOf(plan), ProduceRows<R>(std::move(share)));
      }
      if (!plan.receivers[me_]) continue;
      auto visit = [this, index](size_t first, size_t count, ConstWords<R> theirs) {
        if (Passes(plan_.masked[index])) {
          UsePassing(index, first, count, theirs);
        } else {
          AddRows(index, first, theirs);
        }
      };
      messages_.ReceiveStream(peer, BytesOf(plan), ConsumeRows<R>(plan.shape, visit));
    }
  }

  void UsePassing(size_t index, size_t first, size_t count, ConstWords<R> theirs) {
    MaskedState& state = masked_[index];
    state.passing.resize(theirs.size());
    Add<R>(theirs, state.share.Rows(first, count), state.passing);
    UseRows(index, FromMemory<R>(plan_.masked[index].shape, state.passing, first), first, count);
  }

  void AddRows(size_t index, size_t first, ConstWords<R> rows) {
    const Words<R> sum = masked_[index].opening.own;
    const Words<R> place = sum.subspan(first * plan_.masked[index].shape.cols, rows.size());
    Add<R>(place, rows, place);
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
    if (plan.by_rows && !plan.keep) {
      auto visit = [this, index](size_t first, size_t count, ConstWords<R> rows) {
        UseRows(index, FromMemory<R>(plan_.masked[index].shape, rows, first), first, count);
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
      if (!plan.receivers[me_] || Passes(plan)) return;
      AddUp(state.opening);
      if (IsLarge(plan)) AddOwnShare(index);
      state.value = &state.opening.own;
    }
    if (state.value == nullptr || plan.owner == me_ || plan.shape.size() == 0) return;
    if (plan.owner && plan.receivers[me_])
      ReduceWords<R>(plan.keep ? engine_.fixed_[plan.fixed_id].opening : state.whole);
    UseWhole(index, FromMemory<R>(plan.shape, *state.value));
  }

  void AddOwnShare(size_t index) {
    const Shape shape = plan_.masked[index].shape;
    ForEachBlock(shape.rows, RowsPerBlock(shape.cols, R::kBytes), [&](size_t first, size_t count) {
      AddRows(index, first, masked_[index].share.Rows(first, count));
    });
  }

  // Calls accumulate(product, left, right) with the factors whose products this party adds to its
  // share when it knows (rows of) the opening of an operand.
  template <typename Accumulate>
  void ForEachUse(size_t index, const RowSource<R>& opening, const Accumulate& accumulate) {
    for (size_t i = 0; i < products_.size(); ++i) {
      const ScheduledProduct& plan = plan_.products[i];
      const ProductState& state = products_[i];
      if (plan.route == Route::kLocal) continue;
      if (plan.left == index && state.with_left) {
        auto opened = TakeRows<R>(opening, plan.left_rows);
        if (state.own_share) {
          accumulate(i, *state.own_share, *state.own_plain);
          opened = Difference<R>(std::move(opened), *state.own_share);
        }
        accumulate(i, opened, *state.with_left);
      }
      if (plan.right == index && state.with_right) {
        auto opened = TakeRows<R>(opening, plan.right_rows);
        if (state.own_share) {
          accumulate(i, *state.own_plain, *state.own_share);
          opened = Difference<R>(std::move(opened), *state.own_share);
        }
        accumulate(i, *state.with_right, opened);
      }
    }
  }

  void UseRows(size_t index, const RowSource<R>& opening, size_t first, size_t count) {
    ForEachUse(index, opening, [&](size_t i, const RowSource<R>& left, const RowSource<R>& right) {
      const ScheduledProduct& plan = plan_.products[i];
      AccumulateRows<R>(plan.kind, left, right, first, count, plan.shape, products_[i].out);
    });
  }

  void UseWhole(size_t index, const RowSource<R>& opening) {
    ForEachUse(index, opening, [&](size_t i, const RowSource<R>& left, const RowSource<R>& right) {
      const ScheduledProduct& plan = plan_.products[i];
      AccumulateProduct<R>(plan.kind, left, right, plan.shape, products_[i].out);
    });
  }

  // --- products

  void PrepareProduct(size_t index) {
    const ScheduledProduct& plan = plan_.products[index];
    ProductState& state = products_[index];
    state.out.resize(plan.shape.size());
    if (plan.route == Route::kLocal || !plan.sharers[me_]) return;
    engine_.source_->Deal(plan.dealt_offset, plan.last == me_, state.out, messages_);
  }

  void ChooseSides(size_t index) {
    const ScheduledProduct& plan = plan_.products[index];
    ProductState& state = products_[index];
    if (plan.route == Route::kLocal || !plan.sharers[me_]) return;
    const MaskedOperand &left = plan_.masked[plan.left], &right = plan_.masked[plan.right];
    if (plan.route == Route::kShared) {
      // E * y_i + u_i * F.
      state.with_left = ShareRows(right.operand);
      state.with_right = masked_[plan.left].mask;
    } else if (plan.route == Route::kPrivate) {
      // U * F at the left matrix's owner, E * Y at the right one's.
      if (left.owner == me_) {
        state.with_right = TakeRows<R>(masked_[plan.left].mask, plan.left_rows);
      } else {
        state.with_left = ProductRows(right.operand, plan.right_rows);
      }
    } else {
      ChooseMixedSides(plan, state);
    }
  }

  // x_i * F; at the private operand's owner, who alone knows E, x * Y + (E - x) * V.
  void ChooseMixedSides(const ScheduledProduct& plan, ProductState& state) {
    const bool left_private = plan_.masked[plan.left].owner.has_value();
    const size_t hidden = left_private ? plan.left : plan.right;
    const size_t shared = left_private ? plan.right : plan.left;
    const MaskedOperand& hidden_plan = plan_.masked[hidden];
    const auto share = ShareRows(plan_.masked[shared].operand);
    if (hidden_plan.owner != me_) {
      (left_private ? state.with_left : state.with_right) = share;
      return;
    }
    const RowList& rows = left_private ? plan.left_rows : plan.right_rows;
    state.own_share = share;
    state.own_plain = ProductRows(hidden_plan.operand, rows);
    (left_private ? state.with_right : state.with_left) = TakeRows<R>(masked_[hidden].mask, rows);
  }

  void FinishProduct(size_t index) {
    const ScheduledProduct& plan = plan_.products[index];
    ProductState& state = products_[index];
    if (plan.route == Route::kLocal) FinishLocal(plan, state.out);
    ReduceWords<R>(state.out);
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
      max_whole_bytes_(options.max_whole_bytes),
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
      max_whole_bytes_(options.max_whole_bytes),
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
