// A hostile peer's whole stream, fed to an exchange of every kind of receive: it ends with the
// expected messages or with a typed error, and memory stays within what was allowed.
#include <algorithm>
#include <cstdlib>

#include "net/channel.h"
#include "net/transport.h"

namespace {

using namespace partita;

// Delivers the input in pieces whose sizes it chooses itself, then closes.
class Script : public net::Transport {
 public:
  explicit Script(ByteView input) : rest_(input) {}
  net::PartyIndex self() const override { return 0; }
  const std::vector<std::string>& names() const override { return names_; }
  const crypto::Key& PairwiseSecret(net::PartyIndex) const override { return secret_; }
  net::Io Write(net::PartyIndex, ByteView bytes) override { return {bytes.size(), false}; }
  bool Flush(net::PartyIndex) override { return true; }
  net::Io Read(net::PartyIndex, std::span<uint8_t> out) override {
    if (rest_.empty()) return {0, true};
    const size_t piece = 1 + rest_.back() % 97;
    const size_t size = std::min({piece, out.size(), rest_.size()});
    std::copy_n(rest_.begin(), size, out.begin());
    rest_ = rest_.subspan(size);
    return {size, false};
  }
  void Wait(std::span<const net::Interest>, std::chrono::nanoseconds) override {}

 private:
  ByteView rest_;
  std::vector<std::string> names_ = {"north", "south"};
  crypto::Key secret_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes run_id = {1, 2, 3};
  net::Channel channel(std::make_unique<Script>(ByteView(data, size)), run_id, 1);
  std::array<uint8_t, 5> into{};
  Bytes body;
  uint64_t streamed = 0;
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
    channel.Exchange({}, receives);
    if (streamed != 9) std::abort();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerFault && error.code() != ErrorCode::kPeerLost) std::abort();
  }
  if (body.size() > 100) std::abort();
  return 0;
}
