#include "methods/mcmc/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita::methods::mcmc {
namespace {

constexpr uint64_t kMaxDecisions = uint64_t{1} << 32;
constexpr size_t kSeedBytes = 32;

const crypto::StateKind& Kind() {
  static const crypto::StateKind kind = {"partita chain record 2", "the record of a chain",
                                         "restore it, or begin a new study, as a new release"};
  return kind;
}

size_t BytesPerDecision(size_t chains) { return 1 + (chains + 7) / 8; }

// A byte that says whether it was skipped, then a bit per chain.
void Write(ByteWriter& out, const Decision& decision, size_t chains) {
  Bytes bytes(BytesPerDecision(chains));
  bytes[0] = decision.skipped ? 1 : 0;
  for (size_t c = 0; !decision.skipped && c < chains; ++c) {
    if (decision.accepted[c]) bytes[1 + c / 8] |= static_cast<uint8_t>(1u << (c % 8));
  }
  out.Raw(bytes);
}

Decision Read(ByteReader& in, size_t chains) {
  const ByteView bytes = in.Raw(BytesPerDecision(chains));
  Decision decision;
  decision.skipped = bytes[0] != 0;
  for (size_t c = 0; !decision.skipped && c < chains; ++c) {
    decision.accepted.push_back((bytes[1 + c / 8] >> (c % 8) & 1) != 0);
  }
  return decision;
}

bool Same(const Decision& a, const Decision& b) {
  return a.skipped == b.skipped && a.accepted == b.accepted;
}

// What a party says first.
struct Length {
  uint64_t decisions = 0, may_be_open = 0;
};

// The seed, then the decisions.
Bytes BodyOf(const ChainRecord& record, size_t chains) {
  ByteWriter out;
  out.Raw(record.seed.Expose());
  for (const Decision& decision : record.decisions) Write(out, decision, chains);
  return out.Take();
}

ChainRecord ReadBody(ByteReader& in, size_t chains) {
  ChainRecord record;
  const ByteView seed = in.Raw(kSeedBytes);
  std::copy(seed.begin(), seed.end(), record.seed.Expose().begin());
  while (in.remaining() > 0) record.decisions.push_back(Read(in, chains));
  return record;
}

// A party of which nothing may be open has nothing to tell.
uint64_t BodyBytes(const Length& length, size_t chains) {
  return length.may_be_open == 0 ? 0 : kSeedBytes + length.decisions * BytesPerDecision(chains);
}

std::vector<Length> ExchangeLengths(net::Channel& channel, size_t num_computing, uint64_t most,
                                    const ChainRecord& own) {
  const size_t self = channel.self();
  std::vector<Bytes> said(channel.num_parties(), Bytes(kLengthBytes));
  ByteWriter out;
  out.U64(own.decisions.size());
  out.U64(std::max<uint64_t>(own.may_be_open, own.decisions.size()));
  said[self] = out.Take();
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == self) continue;
    if (self < num_computing) sends.push_back({peer, said[self], 0, nullptr});
    if (peer >= num_computing) continue;
    net::Receive receive;
    receive.from = peer;
    receive.into = said[peer];
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
  std::vector<Length> lengths;
  for (size_t party = 0; party < num_computing; ++party) {
    ByteReader in(said[party]);
    Length length;
    length.decisions = in.U64();
    length.may_be_open = in.U64();
    if (length.may_be_open > most || length.decisions > length.may_be_open) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("{} holds an impossible record", channel.names()[party]));
    }
    lengths.push_back(length);
  }
  return lengths;
}

std::vector<ChainRecord> ExchangeRecords(net::Channel& channel, size_t chains,
                                         const std::vector<Length>& lengths,
                                         const ChainRecord& own) {
  const size_t self = channel.self();
  std::vector<Bytes> said(lengths.size());
  if (lengths[self].may_be_open > 0) said[self] = BodyOf(own, chains);
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < lengths.size(); ++peer) {
    if (peer == self) continue;
    if (!said[self].empty()) sends.push_back({peer, said[self], 0, nullptr});
    said[peer].resize(BodyBytes(lengths[peer], chains));
    if (said[peer].empty()) continue;
    net::Receive receive;
    receive.from = peer;
    receive.into = said[peer];
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
  std::vector<ChainRecord> records(lengths.size());
  for (size_t party = 0; party < lengths.size(); ++party) {
    if (said[party].empty()) continue;
    ByteReader in(said[party]);
    records[party] = ReadBody(in, chains);
    records[party].may_be_open = lengths[party].may_be_open;
  }
  return records;
}

// Throws unless one of both records goes on where the other ends.
void CheckSameChain(const net::Channel& channel, const std::vector<ChainRecord>& records, size_t a,
                    size_t b) {
  const std::string hint = "compare versions; start the study anew, as a new release";
  if (records[a].seed.Expose() != records[b].seed.Expose()) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("{} and {} hold records of different chains", channel.names()[a],
                            channel.names()[b]),
                hint);
  }
  const size_t shared = std::min(records[a].decisions.size(), records[b].decisions.size());
  for (size_t t = 0; t < shared; ++t) {
    if (Same(records[a].decisions[t], records[b].decisions[t])) continue;
    throw Error(ErrorCode::kPeerFault,
                fmt::format("{} and {} hold different decisions of number {}", channel.names()[a],
                            channel.names()[b], t + 1),
                hint);
  }
}

}  // namespace

Bytes EncodeRecord(const ChainRecord& record, size_t chains, const crypto::Digest& binding) {
  ByteWriter out;
  out.U64(record.may_be_open);
  out.Raw(BodyOf(record, chains));
  return crypto::EncodeState(Kind(), binding, out.bytes());
}

ChainRecord DecodeRecord(ByteView bytes, size_t chains, const crypto::Digest& binding) {
  ChainRecord record;
  crypto::DecodeState(Kind(), bytes, binding, [&](ByteReader& in) {
    const uint64_t may_be_open = in.U64();
    record = ReadBody(in, chains);
    record.may_be_open = may_be_open;
    if (may_be_open > kMaxDecisions || record.decisions.size() > may_be_open) {
      throw crypto::DamagedState(Kind());
    }
  });
  return record;
}

void RecordFile::Store(const ChainRecord& record) const {
  crypto::WriteState(file_, EncodeRecord(record, chains_, binding_));
}

crypto::CountFile RecordFile::Marks() const {
  static const crypto::StateKind kind = {"partita chain marks 1",
                                         "the count of a chain's decisions", Kind().remedy};
  return {kind, file_.string() + ".marks", binding_};
}

void RecordFile::Mark(uint64_t decisions) const { Marks().Set(decisions); }

bool RecordFile::Exists() const {
  return std::filesystem::exists(file_) && std::filesystem::exists(file_.string() + ".marks");
}

ChainRecord RecordFile::LoadOrMake() const {
  ChainRecord record;
  if (const auto bytes = crypto::ReadState(Kind(), file_)) {
    record = DecodeRecord(bytes->Expose(), chains_, binding_);
  } else {
    Store(record);
  }
  record.may_be_open = std::max(record.may_be_open, Marks().LoadOrMake());
  return record;
}

ChainRecord AgreeOnRecord(net::Channel& channel, size_t num_computing, size_t chains, uint64_t most,
                          const ChainRecord& own) {
  const std::vector<Length> lengths = ExchangeLengths(channel, num_computing, most, own);
  uint64_t known = 0, open = 0;
  for (const Length& length : lengths) {
    known = std::max(known, length.decisions);
    open = std::max(open, length.may_be_open);
  }
  ChainRecord agreed;
  if (channel.self() < num_computing) {
    const std::vector<ChainRecord> records = ExchangeRecords(channel, chains, lengths, own);
    size_t longest = 0;
    for (size_t party = 0; party < records.size(); ++party) {
      if (records[party].may_be_open == 0) continue;
      if (records[longest].may_be_open == 0) longest = party;
      CheckSameChain(channel, records, longest, party);
      if (records[party].decisions.size() > records[longest].decisions.size()) longest = party;
    }
    agreed = records[longest];
  }
  Decision skipped;
  skipped.skipped = true;
  agreed.decisions.resize(open, skipped);
  agreed.may_be_open = open;
  return agreed;
}

}  // namespace partita::methods::mcmc
