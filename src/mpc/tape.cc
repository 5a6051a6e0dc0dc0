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

std::unique_ptr<Tape> KeyTape(const crypto::Key& key) { return std::make_unique<PrgTape>(key); }

TapeFactory ChannelTapes(net::Channel& channel, std::string_view purpose) {
  const uint64_t instance = channel.NextInstance(purpose);
  return [&channel, purpose = std::string(purpose),
          instance](PartyIndex peer) -> std::unique_ptr<Tape> {
    return KeyTape(channel.PairwiseKey(peer, purpose, instance));
  };
}

}  // namespace partita::mpc
