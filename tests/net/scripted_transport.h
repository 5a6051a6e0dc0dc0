// north's transport to a south that is a script: exact pieces in, a chosen number of bytes out.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "net/frame.h"
#include "net/transport.h"

namespace partita::net {

class ScriptedTransport : public Transport {
 public:
  // Each Read gives at most the rest of one piece; after every piece the stream says "not now"
  // once. After the last piece it is silent, or closed. After `write_limit` bytes there is no room
  // for more, and once the first piece was read, writing is closed.
  ScriptedTransport(std::vector<Bytes> pieces, bool closed_at_end, size_t write_limit)
      : pieces_(pieces.begin(), pieces.end()),
        all_pieces_(pieces.size()),
        closed_at_end_(closed_at_end),
        write_limit_(write_limit) {}

  PartyIndex self() const override { return 0; }
  const std::vector<std::string>& names() const override { return names_; }
  const crypto::Key& PairwiseSecret(PartyIndex) const override { return secret_; }

  Io Write(PartyIndex, ByteView bytes) override {
    const size_t taken = std::min(bytes.size(), write_limit_ - written_);
    written_ += taken;
    return {taken, taken == 0 && !bytes.empty() && pieces_.size() < all_pieces_};
  }
  bool Flush(PartyIndex) override { return true; }

  Io Read(PartyIndex, std::span<uint8_t> out) override {
    if (pieces_.empty()) return {0, closed_at_end_};
    Bytes& piece = pieces_.front();
    if (piece.empty()) {
      pieces_.pop_front();
      return {0, false};
    }
    const size_t size = std::min(out.size(), piece.size());
    std::copy_n(piece.begin(), size, out.begin());
    piece.erase(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(size));
    return {size, false};
  }

  void Wait(std::span<const Interest>, std::chrono::nanoseconds) override {}

 private:
  std::deque<Bytes> pieces_;
  size_t all_pieces_;
  bool closed_at_end_;
  size_t write_limit_, written_ = 0;
  std::vector<std::string> names_ = {"north", "south"};
  crypto::Key secret_;
};

}  // namespace partita::net
