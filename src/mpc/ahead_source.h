// Correlated randomness that a party of an engine without a live dealer has when it is used.
//
// Timing  constant in what is handed out; not in offsets (public). Proved by tests/ctime.
#pragma once

#include <map>
#include <memory>

#include "mpc/correlation_source.h"

namespace partita::mpc {

// What a source hands out, by the offset that the schedule gave it: ring elements, words of bits or
// packed masks, as bytes.
using DealtPieces = std::map<uint64_t, Bytes>;

// Masks come from `own`, a tape that no other party has, unless there is a piece for them; what is
// dealt are pieces. A piece is handed out once.
template <typename R>
class AheadSource : public CorrelationSource<R> {
 public:
  // dealt_on_tape: a dealer made the pieces, so they are the last party's only; what others are
  // dealt is on their tapes.
  AheadSource(std::unique_ptr<Tape> own, bool dealt_on_tape)
      : own_(std::move(own)), dealt_on_tape_(dealt_on_tape) {}

  RowSource<R> Mask(Shape shape, uint64_t offset) override {
    auto piece = pieces_.find(offset);
    if (piece == pieces_.end() || shape.size() == 0) return FromTape<R>(shape, *own_, offset);
    auto words = std::make_shared<std::vector<typename R::Word>>(shape.size());
    Take(offset, WireBytes(Words<R>(*words)));
    RowSource<R> source;
    source.shape = shape;
    source.fill = [words, cols = shape.cols](size_t first, size_t count, Words<R> out) {
      std::copy_n(words->begin() + static_cast<ptrdiff_t>(first * cols), count * cols, out.begin());
    };
    return source;
  }

  void Deal(uint64_t offset, bool last, Words<R> out, StepMessages&) override {
    Dealt(offset, last, WireBytes(out));
    ReduceWords<R>(out);
  }
  void Random(uint64_t offset, std::span<uint8_t> out) override {
    if (out.empty()) return;
    if (pieces_.contains(offset)) {
      Take(offset, out);
    } else {
      own_->Read(offset, out);
    }
  }
  void DealBits(uint64_t offset, bool last, BitWords out, StepMessages&) override {
    Dealt(offset, last, BitBytes(out));
  }

 protected:
  Tape& own() { return *own_; }
  // For the next Execute. Throws kInternal if pieces of the last one were not used.
  void Give(DealtPieces pieces) {
    if (!pieces_.empty()) {
      throw Error(ErrorCode::kInternal, "correlated randomness of an operation was not used");
    }
    pieces_ = std::move(pieces);
  }

 private:
  void Dealt(uint64_t offset, bool last, std::span<uint8_t> out) {
    if (out.empty()) return;
    if (dealt_on_tape_ && !last) {
      own_->Read(offset, out);
    } else {
      Take(offset, out);
    }
  }

  void Take(uint64_t offset, std::span<uint8_t> out) {
    auto piece = pieces_.find(offset);
    if (piece == pieces_.end() || piece->second.size() != out.size()) {
      throw Error(ErrorCode::kInternal,
                  "correlated randomness was asked for that is not there or was used");
    }
    std::copy(piece->second.begin(), piece->second.end(), out.begin());
    Wipe(piece->second.data(), piece->second.size());
    pieces_.erase(piece);
  }

  std::unique_ptr<Tape> own_;
  bool dealt_on_tape_;
  DealtPieces pieces_;
};

}  // namespace partita::mpc
