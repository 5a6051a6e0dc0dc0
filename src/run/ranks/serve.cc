#include "run/ranks/serve.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "net/roster.h"
#include "run/party/stripe_port.h"
#include "run/ranks/order.h"
#include "run/ranks/stripes_of_ranks.h"

namespace partita::run {
namespace {

// On the machine of rank 0 nobody else can come in.
net::Listener DoorOf(bool here) { return net::Listen(here ? "127.0.0.1" : "0.0.0.0", "0"); }

// What a rank answers when it is asked where it listens: its machine and the port.
Bytes EncodeDoor(const std::string& host, const net::Listener& listener) {
  ByteWriter writer;
  writer.String(host);
  writer.String(net::ParseAddress(listener.address).port);
  return writer.Take();
}

constexpr uint64_t kMostDoorBytes = 4096;

}  // namespace

void ServeOrders(Ranks& ranks, const PrepareText& prepare, Progress& progress) {
  std::optional<net::Listener> door;
  while (true) {
    const Bytes message = ReceiveFrom(ranks, 0, progress);
    ByteReader reader(message);
    const auto order = static_cast<OrderKind>(reader.U8());
    if (order == OrderKind::kStop) return;
    if (order == OrderKind::kOpen) {
      const std::string host_of_first = reader.String(kMostDoorBytes);
      const bool here = host_of_first == ranks.Host();
      door = DoorOf(here);
      ranks.Send(0, EncodeDoor(here ? "127.0.0.1" : ranks.Host(), *door));
      continue;
    }
    RankReport report;
    try {
      RankOrder own = DecodeOrder(message);
      const std::unique_ptr<const Study> study =
          prepare(own.setup.study_text, own.setup.study_name);
      StripePort port(*study, own.setup, std::exchange(door, std::nullopt));
      report = RunOrder(*study, own, ranks.rank(), ranks.size(), port.Connector(), progress);
    } catch (const Error& error) {
      report.error = error;
    } catch (const std::exception& error) {
      report.error = Error(ErrorCode::kInternal, error.what(), "please report this");
    }
    ranks.Send(0, EncodeReport(report));
  }
}

void DismissRanks(Ranks& ranks) {
  const auto stop = static_cast<uint8_t>(OrderKind::kStop);
  for (size_t rank = 1; rank < ranks.size(); ++rank) ranks.Send(rank, {&stop, 1});
}

RankDoors::RankDoors(Ranks& ranks, Progress& progress) : own_(DoorOf(true)) {
  ByteWriter open;
  open.U8(static_cast<uint8_t>(OrderKind::kOpen));
  open.String(ranks.Host());
  for (size_t rank = 1; rank < ranks.size(); ++rank) ranks.Send(rank, open.bytes());
  const net::Address own = net::ParseAddress(own_.address);
  endpoints_ = {net::NumericEndpoints(own.host, own.port).at(0)};
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    const Bytes answer = ReceiveFrom(ranks, rank, progress);
    ByteReader reader(answer);
    const std::string host = reader.String(kMostDoorBytes), port = reader.String(kMostDoorBytes);
    std::string reason;
    std::vector<net::Endpoint> found = net::NumericEndpoints(host, port);
    if (found.empty()) found = net::SystemLookUp(host, port, reason);
    if (found.empty()) {
      throw Error(ErrorCode::kUnreachable,
                  fmt::format("rank {} runs on {}, and nothing is known of that machine: {}", rank,
                              host, reason),
                  "the machines of a job must know each other's names");
    }
    endpoints_.push_back(found.front());
  }
}

net::Forwarder::Route RankDoors::Route() const {
  return [endpoints = endpoints_](const std::string& name) -> std::optional<net::Endpoint> {
    if (name.empty()) return endpoints.front();
    const std::optional<size_t> stripe = StripeOfName(name);
    if (!stripe) return std::nullopt;
    return endpoints[*stripe % endpoints.size()];
  };
}

}  // namespace partita::run
