// A hostile peer's whole stream, fed to an exchange of every kind of receive: it ends with the
// expected messages or with a typed error, and memory stays within what was allowed.
#include <algorithm>
#include <cstdlib>

#include "net/channel.h"
#include "net/transport.h"

namespace {

using namespace partita;

// Delivers the input in pieces whose sizes it chooses itself, then closes. A stuttering one says
// "not now" between pieces, takes so many bytes of ours, and closes our direction after so many
// pieces, as chosen by the first two bytes of the input.
class Script : public net::Transport {
 public:
  Script(ByteView input, bool stutters) : rest_(input), stutters_(stutters) {
    if (!stutters) return;
    room_ = input.size() > 0 ? input[0] : 0;
    pieces_before_close_ = input.size() > 1 ? input[1] % 8 : 0;
    rest_ = input.subspan(std::min<size_t>(2, input.size()));
  }
  net::PartyIndex self() const override { return 0; }
  const std::vector<std::string>& names() const override { return names_; }
  const crypto::Key& PairwiseSecret(net::PartyIndex) const override { return secret_; }
  net::Io Write(net::PartyIndex, ByteView bytes) override {
    if (!stutters_) return {bytes.size(), false};
    const size_t taken = std::min(room_, bytes.size());
    room_ -= taken;
    return {taken, taken == 0 && (pieces_ >= pieces_before_close_ || rest_.empty())};
  }
  bool Flush(net::PartyIndex) override { return true; }
  net::Io Read(net::PartyIndex, std::span<uint8_t> out) override {
    if (rest_.empty()) return {0, true};
    rested_ = !rested_;
    if (stutters_ && rested_) return {0, false};
    const size_t piece = 1 + rest_.back() % 97;
    const size_t size = std::min({piece, out.size(), rest_.size()});
    std::copy_n(rest_.begin(), size, out.begin());
    rest_ = rest_.subspan(size);
    ++pieces_;
    return {size, false};
  }
  void Wait(std::span<const net::Interest>, std::chrono::nanoseconds) override {}

 private:
  ByteView rest_;
  bool stutters_;
  size_t room_ = 0;
  size_t pieces_ = 0, pieces_before_close_ = 0;
  bool rested_ = false;
  std::vector<std::string> names_ = {"north", "south"};
  crypto::Key secret_;
};

void Exchange(ByteView input, bool stutters) {
  const Bytes run_id = {1, 2, 3};
  net::Channel channel(std::make_unique<Script>(input, stutters), run_id, 1);
  std::array<uint8_t, 5> into{};
  Bytes body;
  uint64_t streamed = 0;
  const Bytes out(stutters ? 100 : 0);
  const net::Send send{1, out, 0, {}};
  const net::Receive receives[] = {{1, into, 0, {}, nullptr, 0},
                                   {1,
                                    {},
                                    9,
                                    [&](uint64_t offset, ByteView in) {
                                      if (offset != streamed || in.size() > 9 - streamed)
                                        std::abort();
                                      streamed += in.size();
                                    },
                                    nullptr,
                                    0},
                                   {1, {}, 0, {}, &body, 100}};
  try {
    channel.Exchange({&send, 1}, receives);
    if (streamed != 9) std::abort();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerFault && error.code() != ErrorCode::kPeerLost) std::abort();
  }
  if (body.size() > 100) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Exchange(ByteView(data, size), false);
  Exchange(ByteView(data, size), true);
  return 0;
}
