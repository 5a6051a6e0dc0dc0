#include "net/hello.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/certificate.h"
#include "crypto/kdf.h"
#include "net/frame.h"
#include "net/frame_pump.h"
#include "net/stop.h"

namespace partita::net {
namespace {

constexpr char kPhase[] = "hello";

crypto::Digest TakeDigest(ByteReader& reader) {
  crypto::Digest digest;
  ByteView raw = reader.Raw(digest.size());
  std::copy(raw.begin(), raw.end(), digest.begin());
  return digest;
}

crypto::Digest NamesDigest(const std::vector<std::string>& names) {
  crypto::Sha256 hash;
  hash.Field("partita roster names").U64(names.size());
  for (const std::string& name : names) hash.Field(name);
  return hash.Finish();
}

// Both ends of a connection know it, nobody else does, and it differs by direction.
crypto::Digest Binding(const Transport& transport, PartyIndex from, PartyIndex to) {
  const PartyIndex peer = from == transport.self() ? to : from;
  ByteWriter direction;
  direction.U64(from);
  direction.U64(to);
  return crypto::DeriveKey(transport.PairwiseSecret(peer), "partita hello binding",
                           {direction.bytes()})
      .Expose();
}

[[noreturn]] void Differs(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUntrusted, message, hint);
}

void CheckHash(const crypto::Digest& theirs, const crypto::Digest& ours, const std::string& peer,
               std::string_view what, const std::string& hint) {
  if (theirs == ours) return;
  auto shorten = [](const crypto::Digest& digest) { return ToHex(digest).substr(0, 16); };
  Differs(fmt::format("party {} runs a different {}: its hash begins {}, ours {}", peer, what,
                      shorten(theirs), shorten(ours)),
          hint);
}

// One party's side of the conversation.
class Conversation {
 public:
  Conversation(Transport& transport, const HelloInput& input, crypto::RandomSource& random)
      : transport_(transport), pump_(transport), hellos_(transport.names().size()) {
    Hello& own = hellos_[transport.self()];
    own.name = transport.names()[transport.self()];
    own.study_hash = input.study_hash;
    own.plan_hash = input.plan_hash;
    own.commitment = input.commitment;
    own.attempt = input.attempt;
    own.roster_names = NamesDigest(transport.names());
    random.Fill(own.nonce);
    traffic_.phase = kPhase;
    traffic_.links.resize(hellos_.size());
  }

  Session Run(Deadline deadline, Progress* progress) {
    const SteadyClock::time_point start = SteadyClock::now();
    try {
      ExchangeHellos(deadline, progress);
      ExchangeAcks(deadline, progress);
    } catch (const Error& error) {
      pump_.SendAborts(RunTag{}, ReasonFor(error.code()));
      throw;
    }
    traffic_.rounds = 2;
    traffic_.seconds = SecondsSince(start);
    for (PartyIndex peer = 0; peer < hellos_.size(); ++peer) {
      if (peer == transport_.self()) continue;
      const WireBytes wire = transport_.CarriedBytes(peer);
      traffic_.links[peer].wire_sent = wire.sent;
      traffic_.links[peer].wire_received = wire.received;
    }
    return MakeSession();
  }

 private:
  void ExchangeHellos(Deadline deadline, Progress* progress);
  void ExchangeAcks(Deadline deadline, Progress* progress);
  void ExchangeAll(FrameType type, std::span<const Bytes> bodies, std::vector<Bytes>& received,
                   uint64_t min_size, uint64_t max_size, Deadline deadline, Progress* progress);
  void Check(const Hello& theirs, PartyIndex peer) const;
  crypto::Digest AckDigest() const;
  Session MakeSession();

  Transport& transport_;
  FramePump pump_;
  std::vector<Hello> hellos_;  // by party
  std::vector<bool> heard_ = std::vector<bool>(hellos_.size(), false);
  PhaseTraffic traffic_;
};

// One message to and from every peer. What arrived is in `received` even if this throws.
void Conversation::ExchangeAll(FrameType type, std::span<const Bytes> bodies,
                               std::vector<Bytes>& received, uint64_t min_size, uint64_t max_size,
                               Deadline deadline, Progress* progress) {
  const PartyIndex self = transport_.self();
  FrameHeader header;
  header.type = type;
  header.phase_tag = MakePhaseTag(kPhase, 0);
  header.sequence = header.depth = type == FrameType::kHello ? 0 : 1;
  std::vector<OutFrame> out;
  std::vector<InFrame> in;
  for (PartyIndex peer = 0; peer < hellos_.size(); ++peer) {
    if (peer == self) continue;
    header.from = self;
    header.to = peer;
    header.length = bodies[peer].size();
    out.push_back({header, bodies[peer], nullptr});
    InFrame frame;
    std::swap(header.from, header.to);
    frame.expected = {header, min_size, max_size};
    frame.body = &received[peer];
    in.push_back(frame);
  }
  auto mark = [&] {
    for (const InFrame& frame : in) heard_[frame.expected.header.from] = frame.complete;
  };
  WaitLimits limits;
  limits.deadline = deadline;
  // What follows a peer's ack belongs to the Channel.
  limits.watch_idle = type == FrameType::kHello;
  try {
    pump_.Run(out, in, limits, kPhase, progress);
  } catch (...) {
    mark();
    throw;
  }
  mark();
  CountFrames(out, in, traffic_);
}

void Conversation::ExchangeHellos(Deadline deadline, Progress* progress) {
  const PartyIndex self = transport_.self();
  std::vector<Bytes> bodies(hellos_.size()), received(hellos_.size());
  for (PartyIndex peer = 0; peer < hellos_.size(); ++peer) {
    if (peer == self) continue;
    Hello hello = hellos_[self];
    hello.binding = Binding(transport_, self, peer);
    bodies[peer] = EncodeHello(hello);
  }
  auto check = [&] {
    for (PartyIndex peer = 0; peer < hellos_.size(); ++peer) {
      if (peer == self || !heard_[peer]) continue;
      hellos_[peer] = DecodeHello(received[peer], transport_.names()[peer]);
      Check(hellos_[peer], peer);
    }
  };
  try {
    ExchangeAll(FrameType::kHello, bodies, received, 1, kMaxHelloBytes, deadline, progress);
  } catch (const Error&) {
    check();  // our own view of a disagreement is more precise than the news that a peer stopped
    throw;
  }
  check();
}

void Conversation::Check(const Hello& theirs, PartyIndex peer) const {
  const Hello& ours = hellos_[transport_.self()];
  const std::string& name = transport_.names()[peer];
  if (theirs.name != name) {
    Differs(fmt::format("party {} calls itself '{}'", name, theirs.name),
            "Compare the party names in the study file and in the rosters.");
  }
  CheckHash(theirs.roster_names, ours.roster_names, name, "list of parties",
            "Give every party the same roster, in the same order.");
  CheckHash(
      theirs.study_hash, ours.study_hash, name,
      "agreement (study file or matching file, schemas, roster)",
      "Give every party exactly the same file (a changed space or comment counts), the same "
      "schemas, the same roster with the same fingerprints, and the same release of Partita.");
  CheckHash(theirs.plan_hash, ours.plan_hash, name, "plan",
            "Install the same release of Partita at every party and approve the plan again.");
  if (theirs.attempt != ours.attempt) {
    Differs(fmt::format("party {} is at attempt {} of this run, we are at {}", name, theirs.attempt,
                        ours.attempt),
            "Resume from the same checkpoint at every party, or start anew at every party.");
  }
  if (theirs.binding != Binding(transport_, peer, transport_.self())) {
    Differs(fmt::format("the hello of party {} was made for another connection", name),
            "Somebody between you relays messages: check the network and the certificates.");
  }
}

crypto::Digest Conversation::AckDigest() const {
  crypto::Sha256 hash;
  hash.Field("partita hello ack");
  for (Hello hello : hellos_) {
    hello.binding = {};  // differs by receiver
    hash.Field(EncodeHello(hello));
  }
  return hash.Finish();
}

void Conversation::ExchangeAcks(Deadline deadline, Progress* progress) {
  const crypto::Digest ours = AckDigest();
  std::vector<Bytes> bodies(hellos_.size(), Bytes(ours.begin(), ours.end()));
  std::vector<Bytes> received(hellos_.size());
  auto check = [&] {
    for (PartyIndex peer = 0; peer < hellos_.size(); ++peer) {
      if (peer == transport_.self() || !heard_[peer] || received[peer] == bodies[peer]) continue;
      Differs(fmt::format("party {} was told something else in the hello than we were",
                          transport_.names()[peer]),
              "One party says different things to different parties: compare the logs of all.");
    }
  };
  try {
    ExchangeAll(FrameType::kHelloAck, bodies, received, ours.size(), ours.size(), deadline,
                progress);
  } catch (const Error&) {
    check();
    throw;
  }
  check();
}

Session Conversation::MakeSession() {
  const Hello& own = hellos_[transport_.self()];
  Session session;
  session.attempt = own.attempt;
  crypto::Sha256 hash;
  hash.Field("partita run").Field(own.study_hash).Field(own.plan_hash).U64(own.attempt);
  for (const Hello& hello : hellos_) {
    hash.Field(hello.name).Field(hello.commitment).Field(hello.nonce);
    session.commitments.push_back(hello.commitment);
  }
  session.run_id = hash.Finish();
  session.traffic = std::move(traffic_);
  return session;
}

}  // namespace

Bytes EncodeHello(const Hello& hello) {
  ByteWriter writer;
  writer.String(hello.name);
  writer.Raw(hello.study_hash);
  writer.Raw(hello.plan_hash);
  writer.Raw(hello.commitment);
  writer.Raw(hello.nonce);
  writer.Raw(hello.roster_names);
  writer.U32(hello.attempt);
  writer.Raw(hello.binding);
  return writer.Take();
}

Hello DecodeHello(ByteView bytes, std::string_view peer) {
  try {
    ByteReader reader(bytes);
    Hello hello;
    hello.name = reader.String(crypto::kMaxPartyName);
    hello.study_hash = TakeDigest(reader);
    hello.plan_hash = TakeDigest(reader);
    hello.commitment = TakeDigest(reader);
    hello.nonce = TakeDigest(reader);
    hello.roster_names = TakeDigest(reader);
    hello.attempt = reader.U32();
    hello.binding = TakeDigest(reader);
    reader.ExpectEnd();
    // It goes to our terminal.
    if (!crypto::IsPartyName(hello.name)) {
      throw Error(ErrorCode::kPeerFault, "its name is not that of a party");
    }
    return hello;
  } catch (const Error& error) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("party {} sent a damaged hello: {}", peer, error.message()),
                "Install the same release of Partita at every party and start again.");
  }
}

Session SayHello(Transport& transport, const HelloInput& input, crypto::RandomSource& random,
                 Deadline deadline, Progress* progress) {
  return Conversation(transport, input, random).Run(deadline, progress);
}

}  // namespace partita::net
