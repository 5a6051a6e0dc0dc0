#include "match/row_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "crypto/ristretto.h"

namespace partita::match {

namespace {

using crypto::Digest;
using net::PartyIndex;

constexpr size_t kHashBytes = sizeof(Digest);
// Both messages have the same size.
static_assert(kHashBytes == crypto::kRistrettoBytes);

// The comparison of one block with one peer.
struct Comparison {
  size_t block = 0;
  crypto::RistrettoScalar scalar;
  Digest expected{};  // the peer's hash, if the lists are equal
};

// All comparisons with one peer, in the order of the blocks, and what is exchanged for them.
struct Peer {
  std::vector<Comparison> comparisons;
  Bytes points_out, points_in;
  Bytes hashes_out, hashes_in;
};
using Peers = std::map<PartyIndex, Peer>;

bool Holds(const SharedBlock& block, PartyIndex party) {
  return std::find(block.holders.begin(), block.holders.end(), party) != block.holders.end();
}

// The list as an element of the group, for this pair of parties and this run only.
crypto::RistrettoPoint ListPoint(const crypto::Key& pair_key, std::string_view block_name,
                                 const Digest& list) {
  ByteWriter message;
  message.String("partita row order point v1");
  message.Blob(pair_key.Expose());
  message.String(block_name);
  message.Blob(list);
  return crypto::RistrettoPoint::Hash(message.bytes());
}

Digest PointHash(PartyIndex sender, std::string_view block_name,
                 const crypto::RistrettoPoint& common) {
  crypto::Sha256 hash;
  hash.Field("partita row order hash v1").U64(sender).Field(block_name).Update(common.bytes());
  return hash.Finish();
}

// Round 1: the point of each list, under a fresh scalar.
Peers MakePoints(const net::Channel& channel, std::span<const SharedBlock> blocks,
                 const BlockDigests& mine, crypto::RandomSource& random) {
  Peers peers;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!Holds(blocks[i], channel.self())) continue;
    if (!mine[i]) throw Error(ErrorCode::kInternal, "a held block has no row order digest");
    for (PartyIndex holder : blocks[i].holders) {
      if (holder == channel.self()) continue;
      const crypto::Key pair_key = channel.PairwiseKey(holder, "row order", 0);
      Comparison comparison{.block = i, .scalar = crypto::RandomScalar(random), .expected = {}};
      const crypto::RistrettoPoint point =
          ListPoint(pair_key, blocks[i].name, *mine[i]).Times(comparison.scalar);
      Peer& peer = peers[holder];
      peer.points_out.insert(peer.points_out.end(), point.bytes().begin(), point.bytes().end());
      peer.comparisons.push_back(comparison);
    }
  }
  return peers;
}

// The i-th piece of a message.
ByteView Piece(const Bytes& message, size_t i) {
  return ByteView(message).subspan(i * kHashBytes, kHashBytes);
}

// Round 2: the hash of the peer's point under this party's scalar, and what the peer's hash has to
// be.
void MakeHashes(PartyIndex self, PartyIndex party, const std::string& peer_name,
                std::span<const SharedBlock> blocks, Peer& peer) {
  for (size_t i = 0; i < peer.comparisons.size(); ++i) {
    Comparison& comparison = peer.comparisons[i];
    const std::string& block = blocks[comparison.block].name;
    const auto point = crypto::RistrettoPoint::Decode(Piece(peer.points_in, i));
    if (!point) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("'{}' sent no valid group element for the row list of block '{}'",
                              peer_name, block),
                  "its software departs from the protocol: do not run studies with it");
    }
    const crypto::RistrettoPoint common = point->Times(comparison.scalar);
    comparison.expected = PointHash(party, block, common);
    const Digest hash = PointHash(self, block, common);
    peer.hashes_out.insert(peer.hashes_out.end(), hash.begin(), hash.end());
  }
}

bool Equal(const Peer& peer, size_t i) {
  const ByteView received = Piece(peer.hashes_in, i);
  return std::equal(received.begin(), received.end(), peer.comparisons[i].expected.begin());
}

void ExchangeAll(net::Channel& channel, Peers& peers, Bytes Peer::*out, Bytes Peer::*in) {
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (auto& [party, peer] : peers) {
    net::Send send;
    send.to = party;
    send.bytes = peer.*out;
    sends.push_back(send);
    (peer.*in).resize((peer.*out).size());
    net::Receive receive;
    receive.from = party;
    receive.into = peer.*in;
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
}

[[noreturn]] void FailDifferent(const std::string& block, const std::string& first,
                                const std::string& second) {
  throw Error(
      ErrorCode::kBadData,
      fmt::format("row lists of block '{}' differ between '{}' and '{}'", block, first, second),
      "no row is named, to protect the people in it: check at each holder that the block has "
      "the same rows and that keys are written alike (capital letters, leading zeros, "
      "accents); of a matched block, that both results are of one matching");
}

}  // namespace

std::vector<SharedBlock> SharedBlocks(const data::Partition& partition) {
  std::vector<SharedBlock> blocks;
  for (const data::Segment& segment : partition.segments) {
    if (!segment.shared()) continue;
    SharedBlock block{.name = partition.blocks[segment.block].name, .holders = {}};
    for (const data::SegmentPart& part : segment.parts) block.holders.push_back(part.party);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Digest RowOrderDigest(std::string_view block_name, std::span<const std::string> keys) {
  crypto::Sha256 hash;
  hash.Field("partita row order v1").Field(block_name).U64(keys.size());
  // Hashing piece by piece costs more than copying: keys are short.
  constexpr size_t kPieceBytes = size_t{1} << 16;
  ByteWriter piece;
  for (const std::string& key : keys) {
    piece.String(key);
    if (piece.bytes().size() < kPieceBytes) continue;
    hash.Update(piece.bytes());
    piece = ByteWriter();
  }
  hash.Update(piece.bytes());
  return hash.Finish();
}

BlockDigests RowOrderDigests(const data::Partition& partition, const data::Holding& holding,
                             const crypto::Digest& matched) {
  BlockDigests digests;
  for (const data::Segment& segment : partition.segments) {
    if (!segment.shared()) continue;
    const auto& held = holding.blocks;
    bool holds = std::any_of(held.begin(), held.end(), [&](const data::BlockRows& rows) {
      return rows.block == segment.block;
    });
    digests.emplace_back();
    if (!holds) continue;
    const data::RowBlock& block = partition.blocks[segment.block];
    if (block.matched) {
      const std::string common = ToHex(matched);
      digests.back() = RowOrderDigest(block.name, {&common, 1});
    } else {
      digests.back() = RowOrderDigest(block.name, holding.Keys(segment.block));
    }
  }
  return digests;
}

RowOrderTraffic RowOrderTrafficBetween(std::span<const SharedBlock> blocks, PartyIndex from,
                                       PartyIndex to) {
  if (from == to) return {};
  auto common = static_cast<uint64_t>(std::count_if(
      blocks.begin(), blocks.end(),
      [&](const SharedBlock& block) { return Holds(block, from) && Holds(block, to); }));
  if (common == 0) return {};
  return {.messages = 2, .bytes_per_message = common * kHashBytes};
}

uint64_t RowOrderRounds(std::span<const SharedBlock> blocks) { return blocks.empty() ? 0 : 2; }

void CompareRowOrder(net::Channel& channel, std::span<const SharedBlock> blocks,
                     const BlockDigests& mine, std::span<const std::string> party_names,
                     crypto::RandomSource& random) {
  if (mine.size() != blocks.size() || party_names.size() != channel.num_parties()) {
    throw Error(ErrorCode::kInternal, "row order comparison with lists of the wrong length");
  }
  const PartyIndex self = channel.self();
  Peers peers = MakePoints(channel, blocks, mine, random);
  if (peers.empty()) return;
  ExchangeAll(channel, peers, &Peer::points_out, &Peer::points_in);
  for (auto& [party, peer] : peers) MakeHashes(self, party, party_names[party], blocks, peer);
  ExchangeAll(channel, peers, &Peer::hashes_out, &Peer::hashes_in);

  // The first block that differs, and in it the first holder.
  std::optional<std::pair<size_t, PartyIndex>> different;
  for (const auto& [party, peer] : peers) {
    for (size_t i = 0; i < peer.comparisons.size(); ++i) {
      if (Equal(peer, i)) continue;
      const std::pair<size_t, PartyIndex> found{peer.comparisons[i].block, party};
      if (!different || found < *different) different = found;
    }
  }
  if (!different) return;
  const auto& [block, party] = *different;
  FailDifferent(blocks[block].name, party_names[std::min(self, party)],
                party_names[std::max(self, party)]);
}

}  // namespace partita::match
