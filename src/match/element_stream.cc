#include "match/element_stream.h"

namespace partita::match {

void ExchangeBytes(net::Channel& channel, net::PartyIndex peer, ByteView out,
                   std::span<uint8_t> in) {
  net::Send send;
  send.to = peer;
  send.bytes = out;
  net::Receive receive;
  receive.from = peer;
  receive.into = in;
  channel.Exchange({&send, 1}, {&receive, 1});
}

void ExchangeElements(net::Channel& channel, net::PartyIndex peer, uint64_t out, uint64_t in,
                      const std::function<Encoded<Ristretto>()>& next,
                      std::function<void(const Encoded<Ristretto>&)> take) {
  Encoded<Ristretto> element{};
  size_t used = element.size();
  net::Send send;
  send.to = peer;
  send.size = out * element.size();
  send.producer = [&](uint64_t, std::span<uint8_t> piece) {
    for (uint8_t& byte : piece) {
      if (used == element.size()) {
        element = next();
        used = 0;
      }
      byte = element[used++];
    }
  };
  PieceReader<sizeof(element)> reader(std::move(take));
  net::Receive receive;
  receive.from = peer;
  receive.size = in * element.size();
  receive.consumer = [&](uint64_t, ByteView piece) { reader(piece); };
  channel.Exchange({&send, out > 0 ? size_t{1} : size_t{0}},
                   {&receive, in > 0 ? size_t{1} : size_t{0}});
}

}  // namespace partita::match
