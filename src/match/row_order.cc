#include "match/row_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace partita::match {

namespace {

using crypto::Digest;
using net::PartyIndex;

constexpr size_t kNonceBytes = 32;
constexpr size_t kCommitmentBytes = sizeof(Digest);
constexpr size_t kOpeningBytes = kNonceBytes + sizeof(Digest);

// What this party's comparison with one peer needs: the blocks that both hold, and messages.
struct PeerMessages {
  std::vector<size_t> common_blocks;
  Bytes commitments_out, commitments_in;
  Bytes openings_out, openings_in;
};

bool Holds(const SharedBlock& block, PartyIndex party) {
  return std::find(block.holders.begin(), block.holders.end(), party) != block.holders.end();
}

Digest Commit(PartyIndex party, std::string_view block_name, ByteView opening) {
  crypto::Sha256 hash;
  hash.Field("partita row order commitment v1").U64(party).Field(block_name).Update(opening);
  return hash.Finish();
}

// A fresh nonce, then the digest.
Bytes MakeOpening(const Digest& digest, crypto::RandomSource& random) {
  Bytes opening(kNonceBytes);
  random.Fill(opening);
  opening.insert(opening.end(), digest.begin(), digest.end());
  return opening;
}

std::map<PartyIndex, PeerMessages> MakeMessages(std::span<const SharedBlock> blocks,
                                                const BlockDigests& mine, PartyIndex self,
                                                crypto::RandomSource& random) {
  std::map<PartyIndex, PeerMessages> peers;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!Holds(blocks[i], self)) continue;
    if (!mine[i]) throw Error(ErrorCode::kInternal, "a held block has no row order digest");
    const Bytes opening = MakeOpening(*mine[i], random);
    const Digest commitment = Commit(self, blocks[i].name, opening);
    for (PartyIndex holder : blocks[i].holders) {
      if (holder == self) continue;
      PeerMessages& peer = peers[holder];
      peer.common_blocks.push_back(i);
      peer.commitments_out.insert(peer.commitments_out.end(), commitment.begin(), commitment.end());
      peer.openings_out.insert(peer.openings_out.end(), opening.begin(), opening.end());
    }
  }
  for (auto& [party, peer] : peers) {
    peer.commitments_in.resize(peer.commitments_out.size());
    peer.openings_in.resize(peer.openings_out.size());
  }
  return peers;
}

void ExchangeAll(net::Channel& channel, std::map<PartyIndex, PeerMessages>& peers,
                 Bytes PeerMessages::*out, Bytes PeerMessages::*in) {
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (auto& [party, peer] : peers) {
    net::Send send;
    send.to = party;
    send.bytes = peer.*out;
    sends.push_back(send);
    net::Receive receive;
    receive.from = party;
    receive.into = peer.*in;
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
}

// The peer's digests of the common blocks, taken from openings that fit the commitments.
std::vector<Digest> OpenCommitments(std::span<const SharedBlock> blocks, PartyIndex party,
                                    const PeerMessages& peer, const std::string& peer_name) {
  std::vector<Digest> digests;
  for (size_t i = 0; i < peer.common_blocks.size(); ++i) {
    const std::string& block = blocks[peer.common_blocks[i]].name;
    ByteView opening = ByteView(peer.openings_in).subspan(i * kOpeningBytes, kOpeningBytes);
    ByteView commitment =
        ByteView(peer.commitments_in).subspan(i * kCommitmentBytes, kCommitmentBytes);
    const Digest expected = Commit(party, block, opening);
    if (!std::equal(expected.begin(), expected.end(), commitment.begin(), commitment.end())) {
      throw Error(
          ErrorCode::kPeerFault,
          fmt::format("'{}' opened another row list digest of block '{}' than it committed to",
                      peer_name, block),
          "its software departs from the protocol: do not run studies with it");
    }
    Digest digest{};
    std::copy(opening.begin() + kNonceBytes, opening.end(), digest.begin());
    digests.push_back(digest);
  }
  return digests;
}

[[noreturn]] void FailDifferent(const std::string& block, const std::string& first,
                                const std::string& second) {
  throw Error(
      ErrorCode::kBadData,
      fmt::format("row lists of block '{}' differ between '{}' and '{}'", block, first, second),
      "no row is named, to protect the people in it: check at each holder that the block has "
      "the same rows and that keys are written alike (capital letters, leading zeros, "
      "accents)");
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

BlockDigests RowOrderDigests(const data::Partition& partition, const data::Holding& holding) {
  BlockDigests digests;
  for (const data::Segment& segment : partition.segments) {
    if (!segment.shared()) continue;
    const auto& held = holding.blocks;
    bool holds = std::any_of(held.begin(), held.end(), [&](const data::BlockRows& rows) {
      return rows.block == segment.block;
    });
    digests.emplace_back();
    if (holds) {
      digests.back() =
          RowOrderDigest(partition.blocks[segment.block].name, holding.Keys(segment.block));
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
  return {.messages = 2, .bytes = common * (kCommitmentBytes + kOpeningBytes)};
}

uint64_t RowOrderRounds(std::span<const SharedBlock> blocks) { return blocks.empty() ? 0 : 2; }

void CompareRowOrder(net::Channel& channel, std::span<const SharedBlock> blocks,
                     const BlockDigests& mine, std::span<const std::string> party_names,
                     crypto::RandomSource& random) {
  if (mine.size() != blocks.size() || party_names.size() != channel.num_parties()) {
    throw Error(ErrorCode::kInternal, "row order comparison with lists of the wrong length");
  }
  auto peers = MakeMessages(blocks, mine, channel.self(), random);
  if (peers.empty()) return;
  ExchangeAll(channel, peers, &PeerMessages::commitments_out, &PeerMessages::commitments_in);
  ExchangeAll(channel, peers, &PeerMessages::openings_out, &PeerMessages::openings_in);

  // Per block the digest of each of its holders.
  std::vector<std::map<PartyIndex, Digest>> lists(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (mine[i]) lists[i][channel.self()] = *mine[i];
  }
  for (const auto& [party, peer] : peers) {
    const std::vector<Digest> digests = OpenCommitments(blocks, party, peer, party_names[party]);
    for (size_t i = 0; i < digests.size(); ++i) lists[peer.common_blocks[i]][party] = digests[i];
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (const auto& [party, digest] : lists[i]) {
      const auto& [first_party, first_digest] = *lists[i].begin();
      if (digest != first_digest) {
        FailDifferent(blocks[i].name, party_names[first_party], party_names[party]);
      }
    }
  }
}

}  // namespace partita::match
