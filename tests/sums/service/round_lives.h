// Lives of one compute node of a private sum with two, in one process. Each life runs what the
// product runs, from the first upload to the publication, on a store and a ledger that outlive it,
// and may be stopped anywhere; what it showed to others is kept for ever.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "sums/protocol/aggregate.h"
#include "sums/protocol/node_secrets.h"
#include "sums/service/finish_round.h"
#include "sums/service/round_charge.h"
#include "tests/cli/sum_folder.h"
#include "tests/sums/protocol/memory_spool.h"

namespace partita::sums {

// What node 0 has let others see, over all its lives.
struct Told {
  std::set<Bytes> closings, publications;
};

class RoundLives {
 public:
  static constexpr uint32_t kClients = 4;

  // noise_from: "nodes" or "clients".
  explicit RoundLives(const std::string& noise_from)
      : folder_(
            {.clients = kClients,
             .nodes = 2,
             .max_drop = 1,
             .max_collude = 0,
             .noise = "noise_stddev = 4.0\ndelta = 1e-6\nnoise_from = \"" + noise_from + "\""}) {
    for (uint16_t k = 0; k < 2; ++k) {
      directories_.push_back(
          MakeDirectory(collection(), LoadAdmissionList(folder_ / folder_.node(k) / "clients.txt"),
                        k, folder_.box(k), 1));
    }
    for (uint32_t client = 0; client < kClients; ++client) {
      uploads_.push_back(folder_.Keep(client));
    }
    ComputeNode& peer = peer_.emplace(Settings(1), directories_[1], peer_spool_, random_);
    for (const KeptUpload& upload : uploads_) peer.Accept(upload.envelopes[1]);
    peer_set_ = peer.Freeze();
  }

  const CollectionFile& collection() const { return folder_.collection(); }
  const crypto::BoxPublicKey& box_key() const { return folder_.box(0).public_key; }
  std::filesystem::path Path(const std::string& name) const { return folder_ / name; }
  NodeSettings Settings(uint16_t k) const {
    NodeSettings settings{{collection().contract, collection().epoch, k, folder_.box(k)},
                          folder_.node_identity(k),
                          CertificatesOf(collection())};
    settings.threads = 1;
    return settings;
  }

  // An account with room for some ten rounds, in `options.file`, made through the file system of
  // this name (empty: the system's).
  run::LedgerOptions OpenAccount(const std::string& name, const std::string& vfs = {}) {
    const std::filesystem::path file = folder_ / name;
    // What asks whether the file is there asks the system.
    if (!vfs.empty()) std::ofstream(file).flush();
    privacy::ledger::SqliteLedger::Create({.file = file, .vfs = vfs});
    privacy::ledger::Policy policy;
    policy.table = "steps";
    policy.outside.epsilon = "50";
    policy.outside.delta = "1e-4";
    policy.outside.adjacency = privacy::Adjacency::kReplace;
    privacy::ledger::SqliteLedger({.file = file, .vfs = vfs})
        .OpenAccount(policy, random_, {"steward", 0});
    return {file, "steps"};
  }

  // Node 1, which follows the protocol and closes once. calls: a message each, both ways, numbered
  // from 1; `before` and `after` may throw.
  AskPeers HonestPeer(std::function<void(int)> before = {}, std::function<void(int)> after = {}) {
    return [this, before, after, call = 0](std::string_view what, size_t) mutable {
      ++call;
      if (before) before(call);
      Bytes answer;
      if (what == "set") {
        answer = EncodeSet(peer_set_);
      } else {
        answer = peer_->Agree(Intersect(std::vector{peer_set_, shown_set_}));
        peer_closing_ = answer;
      }
      if (after) after(call);
      return std::map<uint16_t, Bytes>{{1, answer}};
    };
  }
  // Node 1 in the hands of whoever puts stores back: has the set `agreed`, and closes with whatever
  // node 0 closed, under a commitment that begins with `commitment`.
  AskPeers CorruptPeer(AcceptedSet agreed, uint8_t commitment = 0) {
    return [this, agreed, commitment](std::string_view what, size_t) {
      if (what == "set") return std::map<uint16_t, Bytes>{{1, EncodeSet(agreed)}};
      Closing closing = OpenClosing(shown_closing_, Certificates());
      closing.node = 1;
      closing.commitment = {commitment};
      return std::map<uint16_t, Bytes>{{1, SignClosing(closing, folder_.node_identity(1))}};
    };
  }

  // One life of node 0, which gets the uploads of `clients`. Returns what stopped it, or "".
  std::string Live(Spool& spool, const std::optional<run::LedgerOptions>& ledger,
                   const AskPeers& ask, Told& told, const std::vector<uint32_t>& clients = All()) {
    RoundBoard board;
    std::string problem;
    try {
      ComputeNode node(Settings(0), directories_[0], spool, random_);
      if (!spool.frozen()) {
        for (const uint32_t client : clients) node.Accept(uploads_[client].envelopes[0]);
      }
      const AcceptedSet own = node.Freeze();
      board.ShowSet(EncodeSet(own));
      const AskPeers watching = [&](std::string_view what, size_t max_bytes) {
        shown_set_ = ParseSet(board.set().value());
        shown_closing_ = board.closing().value_or(Bytes());
        return ask(what, max_bytes);
      };
      const std::string name = folder_.node(0);
      FinishRound({collection(), own, ledger, name, watching, [](const std::string&) {}}, node,
                  board);
    } catch (const Error& error) {
      problem = error.message();
    }
    if (board.closing()) told.closings.insert(*board.closing());
    if (board.publication()) told.publications.insert(*board.publication());
    return problem;
  }

  Publication Opened(ByteView publication) const {
    return OpenPublication(publication, collection().contract, Certificates());
  }

  // Whatever happened: at most one sum left, and what left was charged before, under its agreement.
  void ExpectSound(const Told& told, const std::optional<run::LedgerOptions>& ledger) const {
    std::set<Bytes> words;
    std::set<std::string> agreements;
    for (const Bytes& bytes : told.publications) {
      const Publication publication = Opened(bytes);
      words.insert(publication.words);
      agreements.insert(ToHex(publication.agreement));
    }
    EXPECT_LE(words.size(), 1U) << "sums that left";
    if (!ledger) return;
    const std::vector<std::string> spent = SpentReleases(*ledger);
    EXPECT_GE(spent.size(), agreements.size()) << "released without a charge";
    EXPECT_LE(spent.size(), 1U) << "a round that was charged twice";
    for (const std::string& agreement : agreements) {
      EXPECT_TRUE(std::ranges::any_of(spent, [&](const std::string& release) {
        return release.find(agreement) != std::string::npos;
      })) << "released under another agreement than was charged";
    }
  }
  // A life that came to its end, with the honest peer: the sum is that of all clients, with the
  // noise that belongs to it, and a reader of the same institution has the same charge.
  void ExpectTheSum(const Told& told, const std::optional<run::LedgerOptions>& ledger) {
    ASSERT_EQ(told.publications.size(), 1U);
    const std::vector<Bytes> publications = {
        *told.publications.begin(),
        peer_->Publish(std::vector<Bytes>{*told.closings.rbegin(), peer_closing_})};
    const PrivateSum sum = Aggregate(publications, collection().contract, Certificates());
    EXPECT_EQ(sum.accepted, kClients);
    EXPECT_EQ(sum.grid, Expected());
    if (!ledger) return;
    ChargeRound(collection(), sum.agreement, *ledger, "reader");
    EXPECT_EQ(SpentReleases(*ledger).size(), 1U);
  }

  AcceptedSet SetOf(const std::vector<uint32_t>& clients) const {
    AcceptedSet set;
    for (const uint32_t client : clients) {
      const auto header = ParseEnvelope(uploads_[client].envelopes.front()).header;
      set.push_back({header.client, header.upload});
    }
    std::ranges::sort(set);
    return set;
  }
  static std::vector<uint32_t> All() { return {0, 1, 2, 3}; }

  // The releases of this account's charges that were spent.
  static std::vector<std::string> SpentReleases(const run::LedgerOptions& ledger) {
    std::map<uint64_t, std::string> reserved;
    std::vector<std::string> spent;
    for (const privacy::ledger::Entry& entry :
         privacy::ledger::SqliteLedger({.file = ledger.file}).Entries(ledger.table)) {
      if (const auto* charge = std::get_if<privacy::ledger::Reserved>(&entry.body)) {
        reserved[entry.sequence] = charge->charges.front().release;
      } else if (const auto* done = std::get_if<privacy::ledger::Spent>(&entry.body)) {
        spent.push_back(reserved.at(done->reservation));
      }
    }
    return spent;
  }

 private:
  NodeCertificates Certificates() const { return CertificatesOf(collection()); }
  std::vector<Int128> Expected() const {
    const Contract& contract = collection().contract;
    MaskedSum sum = MaskedSum::Of(contract);
    for (const KeptUpload& upload : uploads_) sum.AddIntegers(folder_.ValueOf(upload));
    if (contract.noise_source == NoiseSource::kNodes) {
      const crypto::Digest set = SetHash(contract.study, collection().epoch, SetOf(All()));
      for (uint16_t k = 0; k < 2; ++k) AddOwnNoise(Settings(k).round, set, sum);
    }
    return sum.Signed();
  }

  partita::testing::SumFolder folder_;
  crypto::SystemRandom random_;
  std::vector<ClientDirectory> directories_;
  std::vector<KeptUpload> uploads_;
  MemorySpool peer_spool_;
  std::optional<ComputeNode> peer_;
  AcceptedSet peer_set_, shown_set_;
  Bytes shown_closing_, peer_closing_;
};

}  // namespace partita::sums
