#include "mpc/ot/round.h"

#include <algorithm>

#include "mpc/bit_kernels.h"

namespace partita::mpc::ot {

using crypto::Block;
using Item = OtTask::Item;
using Route = ScheduledProduct::Route;

namespace {

template <typename Word>
Bytes BytesOf(const std::vector<Word>& words) {
  const auto* begin = reinterpret_cast<const uint8_t*>(words.data());
  return {begin, begin + words.size() * sizeof(Word)};
}

// Where the results of a number that selects stand: the first, and from entry to entry.
struct Place {
  size_t first = 0, step = 1;
};

Place PlaceOf(const OuterLayout& layout, uint64_t group) {
  const size_t cols = layout.a_selects ? layout.p : layout.q;
  const size_t term = group / cols, number = group % cols;
  const size_t begin = layout.sum ? 0 : term * layout.p * layout.q;
  return layout.a_selects ? Place{begin + number * layout.q, 1} : Place{begin + number, layout.q};
}

}  // namespace

template <typename R>
Round<R>::Round(const ScheduledExecution& execution, Tape& own, net::Channel& channel)
    : execution_(execution),
      own_(own),
      channel_(channel),
      self_(channel.self()),
      products_(execution.products.size()),
      rescales_(execution.rescales.size()),
      ands_(execution.bits.ands.size()),
      decomposes_(execution.bits.decomposes.size()),
      to_rings_(execution.bits.to_rings.size()) {
  for (size_t i = 0; i < products_.size(); ++i) BeginProduct(i);
  for (size_t i = 0; i < rescales_.size(); ++i) BeginRescale(i);
  for (size_t i = 0; i < ands_.size(); ++i) BeginAnd(i);
  for (size_t i = 0; i < decomposes_.size(); ++i) BeginDecompose(i);
  for (size_t i = 0; i < to_rings_.size(); ++i) BeginToRing(i);
}

// --- what each party has alone

template <typename R>
void Round<R>::BeginProduct(size_t index) {
  const ScheduledProduct& product = execution_.products[index];
  if (product.route == Route::kLocal || !product.sharers[self_]) return;
  ProductState& state = products_[index];
  state.out.resize(product.shape.size());
  const MaskedOperand& left = execution_.masked[product.left];
  const MaskedOperand& right = execution_.masked[product.right];
  const OuterLayout layout =
      LayoutOf(product.kind, execution_.LeftShape(product), execution_.RightShape(product));
  if (layout.NumResults() == 0 || layout.terms == 0) return;
  // In a mixed product the private operand's owner knows its whole mask and a share of the other.
  const bool knows_left = !left.owner || *left.owner == self_;
  const bool knows_right = !right.owner || *right.owner == self_;
  if (knows_left) state.a = MakeFactor(layout, true, left, product.left_rows);
  if (knows_right) state.b = MakeFactor(layout, false, right, product.right_rows);
  if (product.left == product.right) state.mirrored.resize(layout.NumResults());
  if (product.route == Route::kPrivate || !knows_left || !knows_right) return;
  AccumulateProduct<R>(product.kind, MaskRows(left, product.left_rows),
                       MaskRows(right, product.right_rows), product.shape, state.out);
}

template <typename R>
RowSource<R> Round<R>::MaskRows(const MaskedOperand& masked, const RowList& rows) {
  return TakeRows<R>(FromTape<R>(masked.shape, own_, masked.mask_offset), rows);
}

template <typename R>
auto Round<R>::MakeFactor(const OuterLayout& layout, bool left, const MaskedOperand& masked,
                          const RowList& rows) -> Factor {
  const Shape shape = {layout.terms, left ? layout.p : layout.q};
  Factor factor;
  if (rows == nullptr && (!left || !layout.left_is_transposed)) {
    factor.rows = FromTape<R>(shape, own_, masked.mask_offset);
    return factor;
  }
  Vector plain(shape.size());
  const RowSource<R> mask = MaskRows(masked, rows);
  if (!plain.empty()) mask.fill(0, mask.shape.rows, plain);
  if (!left || !layout.left_is_transposed) {
    factor.transposed = std::move(plain);
    factor.rows = FromMemory<R>(shape, factor.transposed);
    return factor;
  }
  factor.transposed.resize(shape.size());
  for (size_t i = 0; i < layout.p; ++i) {
    for (size_t t = 0; t < layout.terms; ++t) {
      factor.transposed[t * layout.p + i] = plain[i * layout.terms + t];
    }
  }
  factor.rows = FromMemory<R>(shape, factor.transposed);
  return factor;
}

// One's own bits of r as a word have, as weights, what they add to r, t and m.
template <typename R>
void Round<R>::BeginRescale(size_t index) {
  const ScheduledRescale& rescale = execution_.rescales[index];
  RescaleState& state = rescales_[index];
  const size_t size = rescale.shape.size();
  state.bits.resize(size);
  if (size > 0) {
    FromTape<R>({size, 1}, own_, rescale.mask_offset).fill(0, size, state.bits);
  }
  state.r = state.bits;
  state.dealt.resize(2 * size);
  for (size_t e = 0; e < size; ++e) {
    const auto top = static_cast<Word>(state.bits[e] >> (R::kBits - 1));
    const Word low = R::Sub(state.bits[e], static_cast<Word>(top << (R::kBits - 1)));
    state.dealt[e] = static_cast<Word>(low >> rescale.shift);
    state.dealt[size + e] = top;
  }
}

template <typename R>
std::vector<uint8_t> Round<R>::OwnPlanes(uint64_t offset, size_t size, size_t width) {
  const size_t per_plane = (size + 63) / 64;
  std::vector<uint64_t> words(per_plane * width);
  if (!words.empty()) own_.Read(offset, BitBytes(BitWords(words)));
  std::vector<uint8_t> bits(size * width);
  for (size_t plane = 0; plane < width; ++plane) {
    for (size_t e = 0; e < size; ++e) {
      bits[plane * size + e] = words[plane * per_plane + e / 64] >> (e % 64) & 1;
    }
  }
  return bits;
}

template <typename R>
void Round<R>::BeginAnd(size_t index) {
  const ScheduledAnd& conjunction = execution_.bits.ands[index];
  const MaskedBits& left = execution_.bits.masked[conjunction.left];
  const MaskedBits& right = execution_.bits.masked[conjunction.right];
  const size_t size = left.operand.shape.size(), width = left.operand.width;
  AndState& state = ands_[index];
  state.left = OwnPlanes(left.mask_offset, size, width);
  state.right = OwnPlanes(right.mask_offset, size, width);
  state.out.resize(state.left.size());
  for (size_t i = 0; i < state.out.size(); ++i) state.out[i] = state.left[i] & state.right[i];
}

template <typename R>
void Round<R>::BeginDecompose(size_t index) {
  const ScheduledDecompose& decompose = execution_.bits.decomposes[index];
  std::vector<uint8_t> packed(decompose.size * PackedBytes(decompose.width));
  if (!packed.empty()) own_.Read(decompose.mask_offset, packed);
  DecomposeState& state = decomposes_[index];
  state.bits = UnpackLow<R>(packed, decompose.width);
  state.r = state.bits;
}

template <typename R>
void Round<R>::BeginToRing(size_t index) {
  const ScheduledToRing& to_ring = execution_.bits.to_rings[index];
  const std::vector<uint8_t> bits = OwnPlanes(to_ring.mask_offset, to_ring.size, to_ring.width);
  to_rings_[index].bits.assign(bits.begin(), bits.end());
  to_rings_[index].out = to_rings_[index].bits;
}

// --- transfers

template <typename R>
void Round<R>::Run(const std::vector<OtTask>& tasks, Link& link) {
  link_ = &link;
  const std::vector<OtBatch> batches = BatchesOf(tasks);
  const ExecutionCost cost = CostOfBatches(batches);
  for (size_t b = 0; b < batches.size(); ++b) RunBatch(tasks, batches[b], cost, 2 * b);
}

template <typename R>
void Round<R>::RunBatch(const std::vector<OtTask>& tasks, const OtBatch& batch,
                        const ExecutionCost& cost, size_t step) {
  const PartyIndex peer = 1 - self_;
  // As the receiver.
  const size_t received = batch.transfers[self_];
  BitAppender choices;
  for (const OtPiece& piece : batch.pieces[self_]) Choose(tasks[piece.task], piece, choices);
  choices.PadTo(received);
  auto& [rows_sent, rows_received, columns_in, columns_out, payload_in, payload_out] = buffers_;
  rows_received.resize(received);
  columns_out.resize(ExtensionBytes(received));
  if (received > 0) link_->receiver().Extend(choices.words(), columns_out, rows_received);
  const uint64_t index_received = link_->TakeIndices(peer, received);

  const size_t sent = batch.transfers[peer];
  columns_in.resize(ExtensionBytes(sent));
  StepMessages messages;
  messages.Send(peer, columns_out);
  messages.Receive(peer, columns_in);
  messages.Exchange(channel_, cost, step);

  // As the sender.
  rows_sent.resize(sent);
  if (sent > 0) link_->sender().Extend(columns_in, rows_sent);
  const uint64_t index_sent = link_->TakeIndices(self_, sent);
  payload_out.resize(batch.payload[peer] + kSlackBytes);
  payload_in.resize(batch.payload[self_] + kSlackBytes);
  size_t transfer = 0, byte = 0;
  for (const OtPiece& piece : batch.pieces[peer]) {
    const OtTask& task = tasks[piece.task];
    const size_t count = piece.count * task.transfers;
    SendPiece({task, link_->permutation(),
               std::span<const Block>(rows_sent).subspan(transfer, count), index_sent + transfer},
              piece, payload_out.data() + byte);
    transfer += count;
    byte += task.PayloadBytes(piece.count);
  }
  messages.Send(peer, ByteView(payload_out).first(batch.payload[peer]));
  messages.Receive(peer, std::span(payload_in).first(batch.payload[self_]));
  messages.Exchange(channel_, cost, step + 1);

  transfer = byte = 0;
  for (const OtPiece& piece : batch.pieces[self_]) {
    const OtTask& task = tasks[piece.task];
    const size_t count = piece.count * task.transfers;
    ReceivePiece(
        {task, link_->permutation(), std::span<const Block>(rows_received).subspan(transfer, count),
         index_received + transfer},
        piece, choices.words(), transfer, payload_in.data() + byte);
    transfer += count;
    byte += task.PayloadBytes(piece.count);
  }
}

template <typename R>
Block Round<R>::OwnBits(const OtTask& task, uint64_t group) const {
  if (task.item == Item::kRescale) return rescales_[task.index].bits[group];
  if (task.item == Item::kDecompose) return decomposes_[task.index].bits[group];
  return to_rings_[task.index].bits[group];
}

template <typename R>
auto Round<R>::OutOf(const OtTask& task) -> Vector& {
  ProductState& state = products_[task.index];
  return task.outer.mirrored ? state.mirrored : state.out;
}

template <typename R>
void Round<R>::Choose(const OtTask& task, const OtPiece& piece, BitAppender& choices) {
  if (task.item == Item::kProduct) {
    const OuterLayout& layout = task.outer;
    const size_t cols = layout.a_selects ? layout.p : layout.q;
    const ProductState& state = products_[task.index];
    const RowSource<R>& rows = (layout.a_selects ? state.a : state.b).rows;
    const size_t row = piece.first / cols, end = (piece.first + piece.count - 1) / cols + 1;
    const ConstWords<R> numbers = rows.Rows(row, end - row);
    for (uint64_t i = 0; i < piece.count; ++i) {
      choices.Append(numbers[piece.first - row * cols + i], R::kBits);
    }
    return;
  }
  for (uint64_t group = piece.first; group < piece.first + piece.count; ++group) {
    if (task.item == Item::kAnd) {
      choices.Append(ands_[task.index].left[group], 1);
    } else {
      choices.Append(OwnBits(task, group), task.transfers);
    }
  }
}

template <typename R>
void Round<R>::SendPiece(const Transfers& t, const OtPiece& piece, uint8_t* payload) {
  const Block difference = link_->sender().difference();
  if (t.task.item == Item::kAnd) {
    AndState& state = ands_[t.task.index];
    std::memset(payload, 0, t.task.PayloadBytes(piece.count));
    SendBits(
        t, difference, payload, [&](size_t i) { return state.right[piece.first + i]; },
        [&](size_t i, uint8_t share) { state.out[piece.first + i] ^= share; });
    return;
  }
  if (t.task.item != Item::kProduct) {
    struct Bits {
      uint64_t group;
      Block own;
    };
    SendProducts(
        t, difference, payload,
        [&](size_t g) {
          return Bits{piece.first + g, OwnBits(t.task, piece.first + g)};
        },
        [](const Bits& bits, size_t j, size_t) { return bits.own >> j & 1; },
        [&](const Bits& bits, size_t j, size_t, Block share) {
          AddBit(t.task, bits.group, j, share);
        });
    return;
  }
  const OuterLayout& layout = t.task.outer;
  const size_t cols = layout.a_selects ? layout.p : layout.q, entries = t.task.entries;
  const ProductState& state = products_[t.task.index];
  const RowSource<R>& rows = (layout.a_selects ? state.b : state.a).rows;
  const size_t row = piece.first / cols, end = (piece.first + piece.count - 1) / cols + 1;
  const ConstWords<R> numbers = rows.Rows(row, end - row);
  struct Number {
    const Word* messages;
    Word* out;
    size_t step;
  };
  Vector& out = OutOf(t.task);
  SendProducts(
      t, difference, payload,
      [&](size_t g) {
        const Place place = PlaceOf(layout, piece.first + g);
        return Number{numbers.data() + ((piece.first + g) / cols - row) * entries,
                      out.data() + place.first, place.step};
      },
      [](const Number& number, size_t, size_t c) -> Block { return number.messages[c]; },
      [](const Number& number, size_t j, size_t c, Block share) {
        Word& sum = number.out[c * number.step];
        sum = R::Add(sum, R::Reduce(share << j));
      });
}

template <typename R>
void Round<R>::ReceivePiece(const Transfers& t, const OtPiece& piece,
                            std::span<const uint64_t> choices, size_t first_choice,
                            const uint8_t* payload) {
  if (t.task.item == Item::kAnd) {
    AndState& state = ands_[t.task.index];
    ReceiveBits(t, choices, first_choice, payload,
                [&](size_t i, uint8_t share) { state.out[piece.first + i] ^= share; });
    return;
  }
  if (t.task.item != Item::kProduct) {
    ReceiveProducts(
        t, choices, first_choice, payload, [&](size_t g) { return piece.first + g; },
        [&](uint64_t group, size_t j, size_t, Block share) { AddBit(t.task, group, j, share); });
    return;
  }
  struct Number {
    Word* out;
    size_t step;
  };
  Vector& out = OutOf(t.task);
  ReceiveProducts(
      t, choices, first_choice, payload,
      [&](size_t g) {
        const Place place = PlaceOf(t.task.outer, piece.first + g);
        return Number{out.data() + place.first, place.step};
      },
      [](const Number& number, size_t j, size_t c, Block share) {
        Word& sum = number.out[c * number.step];
        sum = R::Add(sum, R::Reduce(share << j));
      });
}

// A bit is the sum of both parties' bits less twice their product, of which this is a share.
template <typename R>
void Round<R>::AddBit(const OtTask& task, uint64_t group, size_t j, Block share) {
  auto subtract = [](Word& from, Block value) { from = R::Sub(from, R::Reduce(value)); };
  const Block twice = share << 1;
  if (task.item == Item::kToRing) {
    subtract(to_rings_[task.index].out[group], twice);
  } else if (task.item == Item::kDecompose) {
    subtract(decomposes_[task.index].r[group], twice << j);
  } else {
    RescaleState& state = rescales_[task.index];
    const auto shift = static_cast<size_t>(execution_.rescales[task.index].shift);
    subtract(state.r[group], twice << j);
    if (j + 1 == static_cast<size_t>(R::kBits)) {
      subtract(state.dealt[state.r.size() + group], twice);
    } else if (j >= shift) {
      subtract(state.dealt[group], twice << (j - shift));
    }
  }
}

// --- results

template <typename R>
DealtPieces Round<R>::TakeResults() {
  DealtPieces pieces;
  auto put = [&](uint64_t offset, Bytes bytes) {
    // An empty piece has no place of its own.
    if (!bytes.empty()) pieces.emplace(offset, std::move(bytes));
  };
  for (size_t i = 0; i < products_.size(); ++i) {
    ProductState& state = products_[i];
    const ScheduledProduct& product = execution_.products[i];
    if (product.route == Route::kLocal || !product.sharers[self_]) continue;
    if (!state.mirrored.empty() && product.kind != Product::Kind::kMatrix) {
      const bool sum = product.kind == Product::Kind::kGram;
      const size_t p = sum ? product.shape.cols : 1;
      for (size_t e = 0; e < state.out.size(); ++e) {
        const size_t across = sum ? e % p * p + e / p : e;
        state.out[e] = R::Add(state.out[e], R::Add(state.mirrored[e], state.mirrored[across]));
      }
    }
    put(product.dealt_offset, BytesOf(state.out));
  }
  for (size_t i = 0; i < rescales_.size(); ++i) {
    put(execution_.rescales[i].mask_offset, BytesOf(rescales_[i].r));
    put(execution_.rescales[i].dealt_offset, BytesOf(rescales_[i].dealt));
  }
  for (size_t i = 0; i < ands_.size(); ++i) {
    const ScheduledAnd& conjunction = execution_.bits.ands[i];
    const SharedBits& operand = execution_.bits.masked[conjunction.left].operand;
    BitMatrix words = MakeBits(operand.shape, operand.width);
    const size_t size = operand.shape.size();
    for (size_t b = 0; b < ands_[i].out.size(); ++b) {
      const size_t e = b % size;
      words.words[b / size * WordsPerPlane(operand.shape) + e / 64] |=
          static_cast<uint64_t>(ands_[i].out[b]) << (e % 64);
    }
    put(conjunction.dealt_offset, BytesOf(words.words));
  }
  for (size_t i = 0; i < decomposes_.size(); ++i) {
    const ScheduledDecompose& decompose = execution_.bits.decomposes[i];
    put(decompose.mask_offset, PackLow<R>(ConstWords<R>(decomposes_[i].r), decompose.width));
    put(decompose.dealt_offset,
        BytesOf(ToPlanes<R>(ConstWords<R>(decomposes_[i].bits), decompose.width)));
  }
  for (size_t i = 0; i < to_rings_.size(); ++i) {
    put(execution_.bits.to_rings[i].dealt_offset, BytesOf(to_rings_[i].out));
  }
  return pieces;
}

template class Round<Ring128>;
template class Round<Ring64>;
template class Round<Ring16>;
template class Round<Ring8>;
template class Round<Ring4>;

}  // namespace partita::mpc::ot
