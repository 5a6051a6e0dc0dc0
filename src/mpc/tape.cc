#include "mpc/tape.h"

#include "crypto/prg.h"

namespace partita::mpc {
namespace {

class PrgTape : public Tape {
 public:
  explicit PrgTape(const crypto::Key& key) : prg_(key) {}

  void Read(uint64_t offset, std::span<uint8_t> out) override {
    if (prg_.offset() != offset) prg_.Seek(offset);
    prg_.Fill(out);
  }

 private:
  crypto::Prg prg_;
};

}  // namespace

TapeFactory ChannelTapes(net::Channel& channel, std::string_view purpose) {
  const uint64_t instance = channel.NextInstance(purpose);
  return [&channel, purpose = std::string(purpose),
          instance](PartyIndex peer) -> std::unique_ptr<Tape> {
    return std::make_unique<PrgTape>(channel.PairwiseKey(peer, purpose, instance));
  };
}

std::unique_ptr<Tape> TapeOf(const crypto::Key& key) { return std::make_unique<PrgTape>(key); }

}  // namespace partita::mpc
