#include "methods/accept/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/atomic_file.h"
#include "base/error.h"

namespace partita::methods::accept {
namespace {

constexpr std::string_view kMagic = "partita chain record 1";
constexpr uint64_t kMaxDecisions = uint64_t{1} << 32;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;

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

Bytes BodyOf(const ChainRecord& record, size_t chains) {
  ByteWriter out;
  for (const Decision& decision : record.decisions) Write(out, decision, chains);
  return out.Take();
}

std::vector<Length> ExchangeLengths(net::Channel& channel, size_t num_computing,
                                    const ChainRecord& own) {
  const size_t self = channel.self();
  std::vector<Bytes> said(channel.num_parties(), Bytes(16));
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
    if (length.may_be_open > kMaxDecisions || length.decisions > length.may_be_open) {
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
  said[self] = BodyOf(own, chains);
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < lengths.size(); ++peer) {
    if (peer == self) continue;
    if (!said[self].empty()) sends.push_back({peer, said[self], 0, nullptr});
    said[peer].resize(lengths[peer].decisions * BytesPerDecision(chains));
    if (said[peer].empty()) continue;
    net::Receive receive;
    receive.from = peer;
    receive.into = said[peer];
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
  std::vector<ChainRecord> records(lengths.size());
  for (size_t party = 0; party < lengths.size(); ++party) {
    ByteReader in(said[party]);
    while (in.remaining() > 0) records[party].decisions.push_back(Read(in, chains));
  }
  return records;
}

}  // namespace

Bytes EncodeRecord(const ChainRecord& record, size_t chains, const crypto::Digest& binding) {
  ByteWriter out;
  out.String(kMagic);
  out.Raw(binding);
  out.U64(record.may_be_open);
  for (const Decision& decision : record.decisions) Write(out, decision, chains);
  const crypto::Digest digest = crypto::Sha256Of(out.bytes());
  out.Raw(digest);
  return out.Take();
}

ChainRecord DecodeRecord(ByteView bytes, size_t chains, const crypto::Digest& binding) {
  const Error damaged(ErrorCode::kBadInput, "the record of a chain is damaged",
                      "restore it, or begin a new study, as a new release");
  try {
    crypto::Digest digest{};
    if (bytes.size() < digest.size()) throw Error(damaged);
    const ByteView content = bytes.first(bytes.size() - digest.size());
    digest = crypto::Sha256Of(content);
    if (!std::equal(digest.begin(), digest.end(), bytes.end() - digest.size())) {
      throw Error(damaged);
    }
    ByteReader in(content);
    if (in.String(kMagic.size()) != kMagic) throw Error(damaged);
    const ByteView bound_to = in.Raw(binding.size());
    if (!std::equal(binding.begin(), binding.end(), bound_to.begin())) {
      throw Error(ErrorCode::kRefused, "the record belongs to another study, plan or table",
                  "resume the study that made it, with the same tables");
    }
    ChainRecord record;
    record.may_be_open = in.U64();
    while (in.remaining() > 0) record.decisions.push_back(Read(in, chains));
    if (record.may_be_open > kMaxDecisions || record.decisions.size() > record.may_be_open) {
      throw Error(damaged);
    }
    return record;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kPeerFault) throw Error(damaged);
    throw;
  }
}

void RecordFile::Store(const ChainRecord& record) const {
  const Bytes bytes = EncodeRecord(record, chains_, binding_);
  WriteFileAtomically(file_.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<ChainRecord> RecordFile::Load() const {
  std::error_code none;
  const auto size = std::filesystem::file_size(file_, none);
  if (none) return std::nullopt;
  if (size > kMaxFileBytes) {
    throw Error(ErrorCode::kBadInput, fmt::format("{} is too large", file_.string()),
                "it is not the record of a chain");
  }
  std::ifstream in(file_, std::ios::binary);
  const Bytes bytes(std::istreambuf_iterator<char>(in), {});
  return DecodeRecord(bytes, chains_, binding_);
}

ChainRecord AgreeOnRecord(net::Channel& channel, size_t num_computing, size_t chains,
                          const ChainRecord& own) {
  const std::vector<Length> lengths = ExchangeLengths(channel, num_computing, own);
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
      const size_t shared =
          std::min(records[party].decisions.size(), records[longest].decisions.size());
      for (size_t t = 0; t < shared; ++t) {
        if (Same(records[party].decisions[t], records[longest].decisions[t])) continue;
        throw Error(ErrorCode::kPeerFault,
                    fmt::format("{} and {} hold different decisions of number {}",
                                channel.names()[longest], channel.names()[party], t + 1),
                    "compare versions; start the study anew, as a new release");
      }
      if (records[party].decisions.size() > shared) longest = party;
    }
    agreed = records[longest];
  }
  Decision skipped;
  skipped.skipped = true;
  agreed.decisions.resize(open, skipped);
  agreed.may_be_open = open;
  return agreed;
}

}  // namespace partita::methods::accept
