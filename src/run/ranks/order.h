// What rank 0 and the others of a party tell each other (ranks.h). Between processes of one program and one
// party: the key and rows go this way, so the network between them is trusted with everything the party has.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "crypto/certificate.h"
#include "mpc/share_sum.h"
#include "net/channel.h"
#include "net/delayed_transport.h"
#include "net/roster.h"

namespace partita::run {

// Which stripes a rank computes, in increasing order: those whose number is `rank` modulo the ranks.
std::vector<size_t> StripesOfRank(size_t rank, size_t ranks, size_t stripes);

// Of a study and its connections: the same for all ranks.
struct RankSetup {
  std::string study_text, study_name;  // of the study file
  crypto::Identity identity;
  net::Roster roster;  // of those who take part, in the order of the channel
  size_t party = 0;
  std::chrono::milliseconds wait{0};
  net::LinkModel link;
};

// To compute the stripes of one rank.
struct RankOrder {
  RankSetup setup;
  net::ChannelFork fork;
  std::vector<Bytes> rows;  // by stripe of the rank: Study::EncodeStripe; empty at the dealer
};

// What came of it.
struct RankReport {
  std::optional<Error> error;
  net::ForkTraffic traffic;  // of all its stripes
  mpc::ShareWords sum;       // over them
};

// How every message from rank 0 begins.
enum class OrderKind : uint8_t {
  kStop = 0,     // there is nothing more to do
  kOpen = 1,     // listen, and say where
  kCompute = 2,  // a RankOrder
};

Bytes EncodeOrder(const RankOrder& order);
RankOrder DecodeOrder(ByteView bytes);
Bytes EncodeReport(const RankReport& report);
RankReport DecodeReport(ByteView bytes);

}  // namespace partita::run
