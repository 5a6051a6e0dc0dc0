// Ports and peers. See doctor_checks.h.
#include <fmt/format.h>
#include <poll.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>

#include "base/text_table.h"
#include "crypto/certificate.h"
#include "net/channel.h"
#include "net/hello.h"
#include "net/resolver.h"
#include "net/socket.h"
#include "net/swap.h"
#include "net/tls_transport.h"
#include "run/doctor/doctor_checks.h"
#include "run/party/build_plan.h"
#include "study/plan/hashes.h"

namespace partita::run {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookAgain{20};
constexpr int kClockRounds = 5;
// Certificates are valid from an hour before they were made, so only approvals and log files mind a
// small skew.
constexpr double kSkewWarningSeconds = 5, kSkewProblemSeconds = 300;

// The party with the highest number connects to all others and accepts nobody (tls_transport.h).
bool ListensToNobody(const DoctorContext& context) {
  return *context.own_entry + 1 == context.roster.size();
}

enum class Reach { kConnected, kRefused, kNoAnswer, kNoAddress };
struct Attempt {
  Reach reach = Reach::kNoAnswer;
  std::string reason;
};

// One TCP connection, closed at once: whoever listens there takes us for a stranger.
Attempt TryToConnect(const std::string& where, milliseconds timeout, Progress& progress) {
  const net::Address address = net::ParseAddress(where);
  const Deadline deadline = Deadline::After(timeout);
  net::Resolver resolver(address.host, address.port, net::SystemLookUp);
  for (resolver.Update(); resolver.endpoints().empty(); resolver.Update()) {
    if (!resolver.reason().empty() || deadline.passed())
      return {Reach::kNoAddress, resolver.reason()};
    progress.CheckCancelled();
    ::poll(nullptr, 0, static_cast<int>(kLookAgain.count()));
  }
  Attempt last;
  for (const net::Endpoint& endpoint : resolver.endpoints()) {
    const net::Socket socket = net::StartConnect(endpoint, last.reason);
    if (!socket.valid()) {
      last.reach = Reach::kRefused;
      continue;
    }
    pollfd entry{socket.fd(), POLLOUT, 0};
    while (::poll(&entry, 1, 100) == 0 && !deadline.passed()) progress.CheckCancelled();
    if (entry.revents == 0) return {Reach::kNoAnswer, ""};
    last.reason = net::ConnectFailure(socket);
    last.reach = Reach::kRefused;
    if (last.reason.empty()) return {Reach::kConnected, ""};
  }
  return last;
}

void ReportReach(const net::RosterEntry& peer, const Attempt& attempt, milliseconds timeout,
                 Findings& findings) {
  const std::string name = "reach " + peer.name;
  switch (attempt.reach) {
    case Reach::kConnected:
      findings.Ok(name, fmt::format("something listens at {}", peer.address));
      return;
    case Reach::kRefused:
      findings.Warn(name, fmt::format("nobody listens at {} now: {}", peer.address, attempt.reason),
                    fmt::format("fine if {} has not started; else compare the address, or look at "
                                "its firewall",
                                peer.name));
      return;
    case Reach::kNoAnswer:
      findings.Warn(name,
                    fmt::format("no answer from {} within {}", peer.address,
                                FormatSeconds(static_cast<double>(timeout.count()) / 1000)),
                    fmt::format("a firewall between you and {}, or a wrong address", peer.name));
      return;
    case Reach::kNoAddress:
      findings.Problem(name,
                       fmt::format("the name in {} is not known: {}", peer.address, attempt.reason),
                       "correct the address in the roster, or this machine's name service");
  }
}

int64_t NowMicroseconds() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  return int64_t{1'000'000} * now.tv_sec + now.tv_usec;
}

// The shortest time, by the two clocks, that a message took from each peer: one-way delay plus how
// far our clock is ahead of the peer's.
std::vector<int64_t> ShortestTrips(net::Channel& channel) {
  std::vector<int64_t> shortest(channel.num_parties(), std::numeric_limits<int64_t>::max());
  for (int round = 0; round < kClockRounds; ++round) {
    std::vector<net::Send> sends;
    std::vector<net::Receive> receives;
    for (net::PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
      if (peer == channel.self()) continue;
      // Clocks are read when bytes leave and arrive, not when the exchange as a whole ends.
      const auto stamp = [](uint64_t, std::span<uint8_t> out) {
        ByteWriter writer;
        writer.U64(static_cast<uint64_t>(NowMicroseconds()));
        std::copy(writer.bytes().begin(), writer.bytes().end(), out.begin());
      };
      const auto arrive = [&shortest, peer](uint64_t, ByteView in) {
        const auto sent = static_cast<int64_t>(ByteReader(in).U64() & INT64_MAX);
        shortest[peer] = std::min(shortest[peer], NowMicroseconds() - sent);
      };
      sends.push_back({.to = peer, .bytes = {}, .size = 8, .producer = stamp});
      receives.push_back({.from = peer,
                          .into = {},
                          .size = 8,
                          .consumer = arrive,
                          .body = nullptr,
                          .max_bytes = 0});
    }
    channel.Exchange(sends, receives);
  }
  return shortest;
}

// What every peer measured of our messages.
std::vector<int64_t> SwapTrips(net::Channel& channel, const std::vector<int64_t>& ours) {
  std::vector<Bytes> out(ours.size());
  for (net::PartyIndex peer = 0; peer < ours.size(); ++peer) {
    ByteWriter writer;
    writer.U64(static_cast<uint64_t>(ours[peer]));
    out[peer] = writer.bytes();
  }
  std::vector<int64_t> theirs;
  for (const Bytes& bytes : net::Swap(channel, out, 8))
    theirs.push_back(static_cast<int64_t>(ByteReader(bytes).U64()));
  return theirs;
}

void ReportClocks(const DoctorContext& context, const std::vector<int64_t>& from_peers,
                  const std::vector<int64_t>& to_peers, Findings& findings) {
  for (size_t peer = 0; peer < from_peers.size(); ++peer) {
    if (peer == *context.party) continue;
    const std::string& name = context.roster[peer].name;
    const double there = static_cast<double>(to_peers[peer]),
                 back = static_cast<double>(from_peers[peer]);
    const double ahead = (back - there) / 2e6, delay = (back + there) / 2e6;
    const std::string found =
        fmt::format("connected; same study file and plan; {} one way; its clock is {:.3f} s {}",
                    FormatSeconds(std::max(0.0, delay)), std::fabs(ahead),
                    ahead > 0 ? "behind ours" : "ahead of ours");
    const std::string fix = "compare both clocks with a third: timedatectl; start a time service";
    if (std::fabs(ahead) > kSkewProblemSeconds) {
      findings.Problem("peer " + name, found, fix);
    } else if (std::fabs(ahead) > kSkewWarningSeconds) {
      findings.Warn("peer " + name, found, fix);
    } else {
      findings.Ok("peer " + name, found);
    }
  }
}

// One way, of the slowest link between any two parties: everybody tells the slowest of its own.
double SlowestLinkSeconds(net::Channel& channel, const std::vector<int64_t>& from_peers,
                          const std::vector<int64_t>& to_peers) {
  int64_t slowest = 0;
  for (net::PartyIndex peer = 0; peer < from_peers.size(); ++peer) {
    if (peer == channel.self()) continue;
    slowest = std::max(slowest, (from_peers[peer] + to_peers[peer]) / 2);
  }
  ByteWriter own;
  own.U64(static_cast<uint64_t>(slowest));
  const std::vector<Bytes> out(channel.num_parties(), own.bytes());
  const std::vector<Bytes> in = net::Swap(channel, out, 8);
  for (net::PartyIndex peer = 0; peer < in.size(); ++peer) {
    if (peer == channel.self()) continue;
    slowest = std::max(slowest, static_cast<int64_t>(ByteReader(in[peer]).U64() & INT64_MAX));
  }
  return static_cast<double>(slowest) / 1e6;
}

void ReportTime(const study::Plan& plan, double one_way_seconds, Findings& findings) {
  constexpr double kBytesPerSecond = 1.25e7;
  const std::string link = FormatSeconds(one_way_seconds);
  const study::NetworkModel network = {link + " one way, 100 Mbit/s", one_way_seconds,
                                       kBytesPerSecond};
  findings.Ok("time", fmt::format("the slowest link between two parties takes {} one way; the "
                                  "messages of a run take about {} then. {}",
                                  link, FormatSeconds(study::EstimateSeconds(plan, network)),
                                  study::SlowestPhase(plan, network)));
}

crypto::Digest DoctorHash(const Study& study) {
  crypto::Sha256 hash;
  hash.Field("partita doctor v2").Field(study.file.text);
  return hash.Finish();
}

}  // namespace

void CheckPort(const DoctorContext& context, Findings& findings) {
  if (!context.own_entry) return;
  const std::string& own = context.roster[*context.own_entry].address;
  if (context.study && ListensToNobody(context)) {
    findings.Ok("port", "not needed: this party connects to all others");
    return;
  }
  const std::string& text =
      context.options.listen_address.empty() ? own : context.options.listen_address;
  findings.Try("port", [&] {
    const net::Address address = net::ParseAddress(text);
    const net::Listener listener = net::Listen(address.host, address.port);
    findings.Ok("port",
                fmt::format("can listen on {}; the others must reach {}", listener.address, own));
  });
}

void CheckReach(const DoctorContext& context, Findings& findings, Progress& progress) {
  if (!context.study || !context.own_entry) return;
  for (size_t peer = 0; peer < *context.own_entry; ++peer) {
    const net::RosterEntry& entry = context.roster[peer];
    findings.Try("reach " + entry.name, [&] {
      ReportReach(entry, TryToConnect(entry.address, context.options.peer_timeout, progress),
                  context.options.peer_timeout, findings);
    });
  }
}

void CheckPeers(const DoctorContext& context, Findings& findings, Progress& progress) {
  findings.Try("peers", [&] {
    net::TlsOptions tls;
    tls.identity = crypto::LoadIdentity(context.options.certificate, context.options.key);
    tls.roster = context.roster;
    tls.self = *context.party;
    tls.listen_address = context.options.listen_address;
    progress.Phase("waiting for the doctors of the other parties");
    const Deadline deadline = Deadline::After(context.options.wait);
    std::unique_ptr<net::Transport> transport =
        net::ConnectTls(std::move(tls), deadline, &progress);
    crypto::SystemRandom random;
    net::HelloInput hello;
    hello.study_hash = DoctorHash(*context.study);
    const study::Plan plan = BuildPlan(*context.study);
    hello.plan_hash = study::PlanHash(plan);
    const net::Session session = net::SayHello(*transport, hello, random, deadline, &progress);
    net::Channel channel(std::move(transport), session);
    channel.SetTimeout(context.options.wait);
    channel.SetProgress(&progress);
    channel.BeginPhase("clocks");
    const std::vector<int64_t> from_peers = ShortestTrips(channel);
    const std::vector<int64_t> to_peers = SwapTrips(channel, from_peers);
    ReportClocks(context, from_peers, to_peers, findings);
    ReportTime(plan, SlowestLinkSeconds(channel, from_peers, to_peers), findings);
  });
}

}  // namespace partita::run
