#include "mpc/replicated_execution.h"

#include <algorithm>

namespace partita::mpc {

namespace {

// Elements that stay in the inner caches while tapes and shares meet.
constexpr size_t kPairBlock = 2048;

}  // namespace

template <typename R>
ReplicatedExecution<R>::ReplicatedExecution(Engine& engine, std::span<Operation> operations)
    : engine_(engine),
      operations_(operations),
      schedule_(engine.scheduler_.Next(operations)),
      self_(engine.channel_.self()),
      inputs_(schedule_.inputs.size()),
      dealt_(schedule_.dealt.size()),
      products_(schedule_.products.size()),
      reveals_(schedule_.reveals.size()),
      bits_(schedule_.bits, operations, self_, *engine.own_tape_, *engine.previous_tape_) {
  for (const replicated::ScheduledRescale& at : schedule_.rescales) {
    rescales_.emplace_back(at, self_, OwnTape(), PreviousTape());
  }
}

template <typename R>
void ReplicatedExecution<R>::Run() {
  for (size_t i = 0; i < inputs_.size(); ++i) StartInput(i);
  for (size_t i = 0; i < dealt_.size(); ++i) StartDealing(i);
  for (size_t i = 0; i < products_.size(); ++i) PrepareProduct(i);
  for (size_t step = 0; step < schedule_.cost.steps; ++step) RunStep(step);
  StoreResults();
}

// Parts are queued in the order of Scheduler::AddCost.
template <typename R>
void ReplicatedExecution<R>::RunStep(size_t step) {
  for (size_t i = 0; i < products_.size(); ++i) {
    if (schedule_.products[i].step == step) ShareProduct(i);
  }
  for (size_t i = 0; i < rescales_.size(); ++i) {
    const size_t first = schedule_.rescales[i].step;
    if (step == first) StartRescale(i);
    if (step == first + 1) rescales_[i].Share(messages_);
  }
  if (step == 0) {
    for (size_t i = 0; i < reveals_.size(); ++i) StartReveal(i);
  }
  if (step < 2) bits_.Start(step, messages_);
  messages_.Exchange(engine_.channel_, schedule_.cost, step);
}

template <typename R>
void ReplicatedExecution<R>::StoreResults() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const replicated::ScheduledInput& at = schedule_.inputs[i];
    Shared& result = std::get<InputOperation>(operations_[at.operation]).results[at.index];
    for (Vector& component : inputs_[i]) ReduceWords<R>(component);
    result = Engine::WithShares(std::move(result), std::move(inputs_[i]));
  }
  for (size_t i = 0; i < products_.size(); ++i) {
    const replicated::ScheduledProduct& at = schedule_.products[i];
    if (at.rescale != replicated::kNone) continue;  // below
    Shared& result = std::get<MultiplyOperation>(operations_[at.operation]).results[at.index];
    for (Vector& component : products_[i].shares) ReduceWords<R>(component);
    result = Engine::WithShares(std::move(result), std::move(products_[i].shares));
  }
  for (Operation& operation : operations_) {
    auto* rescale = std::get_if<RescaleOperation>(&operation);
    if (rescale == nullptr) continue;
    for (size_t i = 0; i < rescale->values.size(); ++i) {
      const Shared& value = rescale->values[i];
      const int shift = rescale->fraction_bits - value.fraction_bits;
      if (shift < 0) continue;  // truncated below
      Components scaled;
      for (size_t c = 0; c < 2; ++c) {
        scaled[c].resize(value.shape.size());
        Scale<R>(Engine::SharesOf(value).components[c], R::Reduce(static_cast<UInt128>(1) << shift),
                 scaled[c]);
      }
      rescale->results[i] = Engine::WithShares(std::move(rescale->results[i]), std::move(scaled));
    }
  }
  for (size_t i = 0; i < rescales_.size(); ++i) {
    const replicated::ScheduledRescale& at = schedule_.rescales[i];
    Operation& operation = operations_[at.operation];
    Shared& result = at.product == replicated::kNone
                         ? std::get<RescaleOperation>(operation).results[at.index]
                         : std::get<MultiplyOperation>(operation).results[at.index];
    result = Engine::WithShares(std::move(result), rescales_[i].Finish());
  }
  for (size_t i = 0; i < reveals_.size(); ++i) FinishReveal(i);
  bits_.Finish();
}

template <typename R>
auto ReplicatedExecution<R>::FromTapeWhole(Tape& tape, uint64_t offset, size_t size) -> Vector {
  Vector words(size);
  if (size > 0) tape.Read(offset, WireBytes(std::span(words)));
  ReduceWords<R>(words);
  return words;
}

// ---- input and private operands

template <typename R>
void ReplicatedExecution<R>::ShareFrom(PartyIndex owner, uint64_t mask_offset, Shape shape,
                                       Components& shares) {
  auto& [own, previous] = shares;
  if (self_ == owner) {
    own = FromTapeWhole(OwnTape(), mask_offset, shape.size());
    Sub<R>(previous, own, previous);
    messages_.Send(replicated::Previous(owner), WireBytes(std::span<const Word>(previous)));
  } else if (self_ == replicated::Next(owner)) {
    own.resize(shape.size());
    previous = FromTapeWhole(PreviousTape(), mask_offset, shape.size());
  } else {
    own.resize(shape.size());
    previous.resize(shape.size());
    messages_.Receive(owner, WireBytes(std::span(own)));
  }
}

template <typename R>
void ReplicatedExecution<R>::StartInput(size_t i) {
  const replicated::ScheduledInput& at = schedule_.inputs[i];
  if (self_ == at.owner) {
    const PrivateMatrix& matrix =
        std::get<InputOperation>(operations_[at.operation]).inputs[at.index];
    inputs_[i][1].resize(at.shape.size());
    if (at.shape.size() > 0) FromPrivate<R>(matrix).fill(0, at.shape.rows, inputs_[i][1]);
  }
  ShareFrom(at.owner, at.mask_offset, at.shape, inputs_[i]);
}

template <typename R>
RowSource<R> ReplicatedExecution<R>::MaskAt(PartyIndex holder,
                                            const replicated::DealtOperand& dealt,
                                            const RowList& rows) {
  Tape& tape = holder == dealt.matrix.owner ? OwnTape() : PreviousTape();
  return TakeRows<R>(FromTape<R>(dealt.matrix.shape, tape, dealt.mask_offset), rows);
}

template <typename R>
void ReplicatedExecution<R>::StartDealing(size_t i) {
  const replicated::DealtOperand& dealt = schedule_.dealt[i];
  const PartyIndex owner = dealt.matrix.owner;
  const Shape shape = dealt.matrix.shape;
  const uint64_t bytes = shape.size() * R::kBytes;
  if (self_ == owner && dealt.sent) {
    std::function<void(size_t, ConstWords<R>)> check;
    if (dealt.fixed_id != 0 && !dealt.keep) check = SameAsBefore(dealt);
    auto difference = Difference<R>(FromPrivate<R>(dealt.matrix), MaskAt(self_, dealt, nullptr));
    messages_.SendStream(replicated::Previous(owner), bytes,
                         ProduceRows<R>(std::move(difference), std::move(check)));
  }
  if (self_ != replicated::Previous(owner)) return;
  DealtWork& work = dealt_[i];
  Vector& whole = dealt.keep ? engine_.kept_[dealt.fixed_id] : work.received;
  work.difference = &whole;
  if (!dealt.sent) return;
  work.streamed = !dealt.keep && dealt.by_rows;
  if (work.streamed) {
    messages_.ReceiveStream(
        owner, bytes,
        ConsumeRows<R>(shape, [this, i](size_t first, size_t count, ConstWords<R> rows) {
          ConsumeDifference(i, first, count, rows);
        }));
  } else {
    whole.resize(shape.size());
    messages_.Receive(owner, WireBytes(std::span(whole)));
  }
}

// The mask of a fixed operand is used again only for the same matrix: another matrix under it would
// give the difference of the two away. Compares digests of the blocks that are sent again.
template <typename R>
std::function<void(size_t, ConstWords<R>)> ReplicatedExecution<R>::SameAsBefore(
    const replicated::DealtOperand& dealt) {
  const size_t block = RowsPerBlock(dealt.matrix.shape.cols, R::kBytes);
  return [&sent = engine_.sent_[dealt.fixed_id], block](size_t first, ConstWords<R> rows) {
    const crypto::Digest digest = crypto::Sha256Of(WireBytes(rows));
    const size_t number = first / block;
    if (number == sent.size()) sent.push_back(digest);
    if (sent[number] == digest) return;
    throw Error(ErrorCode::kBadData,
                "a private matrix changed after it was registered as a fixed operand",
                "the table must not change during a run; start the study again");
  };
}

// All products that need these rows of a difference, while the rows are in the cache.
template <typename R>
void ReplicatedExecution<R>::ConsumeDifference(size_t dealt, size_t first, size_t count,
                                               ConstWords<R> rows) {
  const auto block = FromMemory<R>(schedule_.dealt[dealt].matrix.shape, rows, first);
  for (const StreamedTerm& term : dealt_[dealt].terms) {
    const replicated::ScheduledProduct& at = schedule_.products[term.product];
    AccumulateRows<R>(ProductOf(at).kind, term.other_left ? term.other : block,
                      term.other_left ? block : term.other, first, count, at.shape,
                      products_[term.product].shares[0]);
  }
}

// ---- products

template <typename R>
const Product& ReplicatedExecution<R>::ProductOf(
    const replicated::ScheduledProduct& scheduled) const {
  return std::get<MultiplyOperation>(operations_[scheduled.operation]).products[scheduled.index];
}

template <typename R>
void ReplicatedExecution<R>::AddTerm(ProductWork& work, bool swapped, RowSource<R> first,
                                     RowSource<R> second) {
  if (swapped) std::swap(first, second);
  work.terms.push_back({std::move(first), std::move(second)});
}

template <typename R>
void ReplicatedExecution<R>::AddDifferenceTerm(size_t i, bool swapped, size_t dealt,
                                               RowSource<R> second) {
  const replicated::ScheduledProduct& at = schedule_.products[i];
  const RowList& rows = dealt == at.left ? at.left_rows : at.right_rows;
  DealtWork& difference = dealt_[dealt];
  if (difference.streamed) {
    difference.terms.push_back({i, std::move(second), swapped});
  } else {
    const Shape shape = schedule_.dealt[dealt].matrix.shape;
    AddTerm(products_[i], swapped, TakeRows<R>(FromMemory<R>(shape, *difference.difference), rows),
            std::move(second));
  }
}

template <typename R>
void ReplicatedExecution<R>::PrepareProduct(size_t i) {
  const replicated::ScheduledProduct& at = schedule_.products[i];
  const Product& product = ProductOf(at);
  ProductWork& work = products_[i];
  work.shares[0].resize(at.shape.size());
  if (at.rescale == replicated::kNone) work.shares[1].resize(at.shape.size());
  switch (at.route) {
    case replicated::Route::kLocal:
      return LocalProduct(i);
    case replicated::Route::kOwned:
      return;
    case replicated::Route::kShared:
      return AddSharedTerms(product, work);
    case replicated::Route::kMixed:
      return AddMixedTerms(i);
    case replicated::Route::kPrivate:
      return AddPrivateTerms(i);
  }
}

template <typename R>
void ReplicatedExecution<R>::AddSharedTerms(const Product& product, ProductWork& work) {
  const Shared &x = std::get<Shared>(product.left), &y = std::get<Shared>(product.right);
  const Components& xs = Engine::SharesOf(x).components;
  const Components& ys = Engine::SharesOf(y).components;
  auto sum = [](const Components& components, Vector& out) {
    out.resize(components[0].size());
    Add<R>(components[0], components[1], out);
  };
  if (self_ == 0) {
    sum(xs, work.left_sum);
    if (x.payload != y.payload) sum(ys, work.right_sum);
    AddTerm(work, false, FromMemory<R>(x.shape, work.left_sum),
            FromMemory<R>(y.shape, x.payload == y.payload ? work.left_sum : work.right_sum));
    return;
  }
  if (self_ == 2) {
    AddTerm(work, false, FromMemory<R>(x.shape, xs[0]), FromMemory<R>(y.shape, ys[1]));
    AddTerm(work, false, FromMemory<R>(x.shape, xs[1]), FromMemory<R>(y.shape, ys[0]));
    return;
  }
  // The sum is formed of the smaller operand's components.
  if (xs[0].size() < ys[0].size()) {
    sum(xs, work.left_sum);
    AddTerm(work, false, FromMemory<R>(x.shape, work.left_sum), FromMemory<R>(y.shape, ys[0]));
    AddTerm(work, false, FromMemory<R>(x.shape, xs[0]), FromMemory<R>(y.shape, ys[1]));
    return;
  }
  sum(ys, work.right_sum);
  AddTerm(work, false, FromMemory<R>(x.shape, xs[0]), FromMemory<R>(y.shape, work.right_sum));
  AddTerm(work, false, FromMemory<R>(x.shape, xs[1]), FromMemory<R>(y.shape, ys[0]));
}

template <typename R>
void ReplicatedExecution<R>::AddMixedTerms(size_t i) {
  const replicated::ScheduledProduct& at = schedule_.products[i];
  const Product& product = ProductOf(at);
  ProductWork& work = products_[i];
  const bool swapped = at.left == replicated::kNone;  // the private operand stands right
  const size_t dealt = swapped ? at.right : at.left;
  const replicated::DealtOperand& x = schedule_.dealt[dealt];
  const RowList& rows = swapped ? at.right_rows : at.left_rows;
  const Shared& y = std::get<Shared>(swapped ? product.left : product.right);
  const Components& ys = Engine::SharesOf(y).components;
  if (self_ == x.matrix.owner) {
    AddTerm(work, swapped, TakeRows<R>(FromPrivate<R>(x.matrix), rows),
            FromMemory<R>(y.shape, ys[0]));
    AddTerm(work, swapped, MaskAt(self_, x, rows), FromMemory<R>(y.shape, ys[1]));
  } else if (self_ == replicated::Next(x.matrix.owner)) {
    AddTerm(work, swapped, MaskAt(self_, x, rows), FromMemory<R>(y.shape, ys[0]));
  } else {
    work.left_sum.resize(ys[0].size());
    Add<R>(ys[0], ys[1], work.left_sum);
    AddDifferenceTerm(i, swapped, dealt, FromMemory<R>(y.shape, work.left_sum));
  }
}

template <typename R>
void ReplicatedExecution<R>::AddPrivateTerms(size_t i) {
  const replicated::ScheduledProduct& at = schedule_.products[i];
  // `first` belongs to party s, `second` to party s + 1.
  const bool swapped = schedule_.dealt[at.right].matrix.owner !=
                       replicated::Next(schedule_.dealt[at.left].matrix.owner);
  const size_t first = swapped ? at.right : at.left, second = swapped ? at.left : at.right;
  const replicated::DealtOperand &x = schedule_.dealt[first], &y = schedule_.dealt[second];
  const RowList& x_rows = swapped ? at.right_rows : at.left_rows;
  const RowList& y_rows = swapped ? at.left_rows : at.right_rows;
  if (self_ == x.matrix.owner) {
    AddDifferenceTerm(i, !swapped, second, TakeRows<R>(FromPrivate<R>(x.matrix), x_rows));
  } else if (self_ == y.matrix.owner) {
    AddTerm(products_[i], swapped, MaskAt(replicated::Next(x.matrix.owner), x, x_rows),
            MaskAt(self_, y, y_rows));
  } else {
    AddDifferenceTerm(i, swapped, first, MaskAt(self_, y, y_rows));
  }
}

template <typename R>
void ReplicatedExecution<R>::ShareProduct(size_t i) {
  const replicated::ScheduledProduct& at = schedule_.products[i];
  if (at.route == replicated::Route::kLocal) return;
  if (at.route == replicated::Route::kOwned) return ShareOwnedProduct(i);
  ProductWork& work = products_[i];
  auto& [own, previous] = work.shares;
  for (const Term& term : work.terms) {
    AccumulateProduct<R>(ProductOf(at).kind, term.left, term.right, at.shape, own);
  }
  if (at.rescale != replicated::kNone) return;  // the summands are truncated
  AddZeroShares(at.offset, own);
  messages_.Send(replicated::Next(self_), WireBytes(std::span<const Word>(own)));
  messages_.Receive(replicated::Previous(self_), WireBytes(std::span(previous)));
}

template <typename R>
void ReplicatedExecution<R>::AddZeroShares(uint64_t offset, Vector& out) {
  Vector scratch(std::min(kPairBlock, out.size()));
  ForEachBlock(out.size(), kPairBlock, [&](size_t first, size_t count) {
    Words<R> block(out.data() + first, count), random(scratch.data(), count);
    OwnTape().Read(offset + first * R::kBytes, WireBytes(random));
    Add<R>(block, random, block);
    PreviousTape().Read(offset + first * R::kBytes, WireBytes(random));
    Sub<R>(block, random, block);
  });
}

template <typename R>
void ReplicatedExecution<R>::ShareOwnedProduct(size_t i) {
  const replicated::ScheduledProduct& at = schedule_.products[i];
  const Product& product = ProductOf(at);
  ProductWork& work = products_[i];
  if (self_ == at.owner) {
    Vector words[2];
    auto source = [&](const Operand& operand, Vector& memory) {
      if (auto* matrix = std::get_if<PrivateMatrix>(&operand)) return FromPrivate<R>(*matrix);
      if (auto* fixed = std::get_if<FixedOperand>(&operand)) {
        return TakeRows<R>(FromPrivate<R>(fixed->matrix), fixed->rows);
      }
      const PublicMatrix& known = std::get<PublicMatrix>(operand);
      memory = ToWords<R>(known.values);
      return FromMemory<R>(known.values.shape, memory);
    };
    AccumulateProduct<R>(product.kind, source(product.left, words[0]),
                         source(product.right, words[1]), at.shape,
                         work.shares[at.rescale == replicated::kNone ? 1 : 0]);
  }
  if (at.rescale != replicated::kNone) return;  // the summands are truncated
  ShareFrom(at.owner, at.offset, at.shape, work.shares);
}

// A public matrix times a shared one, component by component; two public ones in component 0.
template <typename R>
void ReplicatedExecution<R>::LocalProduct(size_t i) {
  const replicated::ScheduledProduct& at = schedule_.products[i];
  const Product& product = ProductOf(at);
  const bool both_public = std::holds_alternative<PublicMatrix>(product.left) &&
                           std::holds_alternative<PublicMatrix>(product.right);
  for (size_t c = 0; c < (at.rescale == replicated::kNone ? 2 : 1); ++c) {
    if (both_public && !engine_.carries_public(c)) continue;
    Vector words[2];
    auto source = [&](const Operand& operand, Vector& memory) {
      if (auto* shared = std::get_if<Shared>(&operand)) {
        return FromMemory<R>(shared->shape, Engine::SharesOf(*shared).components[c]);
      }
      const PublicMatrix& known = std::get<PublicMatrix>(operand);
      memory = ToWords<R>(known.values);
      return FromMemory<R>(known.values.shape, memory);
    };
    AccumulateProduct<R>(product.kind, source(product.left, words[0]),
                         source(product.right, words[1]), at.shape, products_[i].shares[c]);
  }
}

// ---- rescale

template <typename R>
void ReplicatedExecution<R>::StartRescale(size_t i) {
  const replicated::ScheduledRescale& at = schedule_.rescales[i];
  if (at.product != replicated::kNone) {
    Vector& summand = products_[at.product].shares[0];
    ReduceWords<R>(summand);
    rescales_[i].Open(summand, {}, messages_);
    return;
  }
  const Shared& value = std::get<RescaleOperation>(operations_[at.operation]).values[at.index];
  const auto& [own, previous] = Engine::SharesOf(value).components;
  // Component 0 and 2 together, component 1, nothing.
  if (self_ == replicated::kTruncationFirst) rescales_[i].Open(own, previous, messages_);
  if (self_ == replicated::kTruncationSecond) rescales_[i].Open(own, {}, messages_);
  if (self_ == replicated::kTruncationDealer) rescales_[i].Open({}, {}, messages_);
}

// ---- reveal

template <typename R>
void ReplicatedExecution<R>::StartReveal(size_t i) {
  const replicated::ScheduledReveal& at = schedule_.reveals[i];
  const Shared& value = std::get<RevealOperation>(operations_[at.operation]).values[at.index];
  const PartyIndex to = replicated::Previous(self_);  // lacks this party's own component
  if (at.to == kEverybody || at.to == to) {
    messages_.Send(to, WireBytes(std::span<const Word>(Engine::SharesOf(value).components[0])));
  }
  if (at.to == kEverybody || at.to == self_) {
    reveals_[i].resize(at.shape.size());
    messages_.Receive(replicated::Next(self_), WireBytes(std::span(reveals_[i])));
  }
}

template <typename R>
void ReplicatedExecution<R>::FinishReveal(size_t i) {
  const replicated::ScheduledReveal& at = schedule_.reveals[i];
  if (at.to != kEverybody && at.to != self_) return;
  auto& reveal = std::get<RevealOperation>(operations_[at.operation]);
  Vector& sum = reveals_[i];
  ReduceWords<R>(sum);
  for (const Vector& component : Engine::SharesOf(reveal.values[at.index]).components) {
    Add<R>(sum, component, sum);
  }
  reveal.results[at.index] = FromWords<R>(at.shape, sum);
}

template class ReplicatedExecution<Ring128>;
template class ReplicatedExecution<Ring64>;
template class ReplicatedExecution<Ring16>;
template class ReplicatedExecution<Ring8>;
template class ReplicatedExecution<Ring4>;

}  // namespace partita::mpc
