// A study agreed and run by three nodes with real keys: node keys, steward keys, run keys.
#include "node/service/key_trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/service/node.h"
#include "study/approval/approval.h"
#include "study/approval/delegation.h"
#include "study/approval/persons.h"
#include "tests/node/doubles.h"
#include "tests/node/real_keys.h"

namespace partita::node::key_trust_test {
namespace {

using namespace real_keys;  // NOLINT(google-build-using-namespace)

SignedMessage MessageOf(const std::string& from, const KeyTrust& trust) {
  SignedMessage message;
  message.message.kind = Kind::kStart;
  message.message.from = from;
  message.message.to = "south";
  message.signature = trust.SignMessage(message.message);
  return message;
}

TEST(KeyTrust, AMessageCountsBySendersKeyOnly) {
  const KeyTrust north(PartsOf("north"));
  const KeyTrust south(PartsOf("south"));
  const SignedMessage good = MessageOf("north", north);
  EXPECT_TRUE(south.SignedBySender(good));
  EXPECT_TRUE(north.SignedBySender(good));  // its own, in a roster
  SignedMessage changed = good;
  changed.message.number += 1;
  EXPECT_FALSE(south.SignedBySender(changed));
  EXPECT_FALSE(south.SignedBySender(MessageOf("west", north)));  // north as west
  SignedMessage foreign = good;
  foreign.signature.certificate = crypto::EncodeCertificate(*AllKeys().at("west").node.certificate);
  EXPECT_FALSE(south.SignedBySender(foreign));
  // A node key does not stand for another domain, nor a run key for a node key.
  KeyTrust::Parts with_run_key = PartsOf("north");
  with_run_key.node = AllKeys().at("north").run;
  EXPECT_FALSE(south.SignedBySender(MessageOf("north", KeyTrust(with_run_key))));
  SignedMessage other_domain = good;
  other_domain.signature.signature =
      crypto::Sign(AllKeys().at("north").node, kEndedDomain,
                   SignedBytes(good.message, good.signature.certificate));
  EXPECT_FALSE(south.SignedBySender(other_domain));
  // Revoked: not any more.
  KeyTrust::Parts revoked = PartsOf("south");
  revoked.list = [] { return WithRevoked(ListOf("south"), "north", NowUtc()); };
  EXPECT_FALSE(KeyTrust(revoked).SignedBySender(good));
}

TEST(KeyTrust, KnowsWhoIsOnTheList) {
  const KeyTrust south(PartsOf("south"));
  EXPECT_TRUE(south.Knows("north"));
  EXPECT_TRUE(south.Knows("south"));
  EXPECT_FALSE(south.Knows("mallory"));
  EXPECT_EQ(south.Steward("west"), PrintOf(AllKeys().at("west").steward));
  EXPECT_EQ(south.Steward("south"), PrintOf(AllKeys().at("south").steward));
  EXPECT_EQ(south.Steward("mallory"), Digest{});
}

TEST(KeyTrust, ADocumentCountsByThatStewardsKeyOnly) {
  const KeyTrust south(PartsOf("south"));
  const int64_t until = NowUtc() + 1000;
  study::Approval approval = ApprovalOf("north", Digest{1}, Digest{2}, until);
  const Digest steward = south.Steward("north");
  const DocumentFacts facts = south.ReadDocument(Signed(approval, "north"), "north", steward);
  EXPECT_TRUE(facts.approves);
  EXPECT_EQ(facts.agreement_hash, Digest{1});
  EXPECT_EQ(facts.plan_hash, Digest{2});
  EXPECT_EQ(facts.valid_until, until);
  EXPECT_THROW(south.ReadDocument(Signed(approval, "west"), "north", steward), Error);
  EXPECT_THROW(south.ReadDocument(Signed(approval, "north"), "north", south.Steward("west")),
               Error);
  EXPECT_THROW(south.ReadDocument(Signed(approval, "north"), "west", steward), Error);
  EXPECT_THROW(south.ReadDocument("{}", "north", steward), Error);
  approval.decision = study::Decision::kReject;
  approval.reason = "no";
  EXPECT_FALSE(south.ReadDocument(Signed(approval, "north"), "north", steward).approves);
}

// By the key of a policy: one that this steward let sign, and nobody else.
TEST(KeyTrust, ADocumentByAPolicyCountsByThatStewardsKeyOnly) {
  const KeyTrust south(PartsOf("south"));
  const crypto::Identity key = crypto::MakeIdentity({.name = "north"});
  const auto by_policy = [&](const std::string& steward) {
    study::Approval approval = ApprovalOf("north", Digest{1}, Digest{2}, NowUtc() + 1000);
    approval.approved_at = NowUtc();
    approval.envelope = Digest{3};
    approval.use = 1;
    study::SignedApproval document = study::SignApproval(approval, key);
    document.delegation =
        study::SignDelegation("north", PrintOf(key), approval.envelope, NowUtc() - 10,
                              NowUtc() + 2000, 5, AllKeys().at(steward).steward);
    return study::RenderApproval(document);
  };
  const Digest steward = south.Steward("north");
  EXPECT_TRUE(south.ReadDocument(by_policy("north"), "north", steward).approves);
  EXPECT_THROW(south.ReadDocument(by_policy("west"), "north", steward), Error);
  EXPECT_THROW(south.ReadDocument(by_policy("south"), "north", steward), Error);
  EXPECT_THROW(south.ReadDocument(by_policy("north"), "west", south.Steward("west")), Error);
}

// Of the own site an approval may wait for its second person; of a peer it is none before both have signed.
TEST(KeyTrust, OneOfTwoSignaturesCountsAtTheOwnSiteOnly) {
  const crypto::Identity kim = crypto::MakeIdentity({.name = "north"});
  study::Approval approval = ApprovalOf("north", Digest{1}, Digest{2}, NowUtc() + 1000);
  approval.approved_at = NowUtc();
  approval.stewards = 2;
  const crypto::Identity& steward = AllKeys().at("north").steward;
  const study::SignedApproval one = study::SignApproval(approval, steward);
  const study::SignedApproval both = study::SignSecond(
      one, kim, NowUtc(),
      study::SignDeputy("north", "kim", PrintOf(kim), NowUtc() - 10, NowUtc() + 1000, steward));
  const KeyTrust north(PartsOf("north")), south(PartsOf("south"));
  const auto read = [&](const KeyTrust& trust, const study::SignedApproval& document) {
    return trust.ReadDocument(study::RenderApproval(document), "north", PrintOf(steward));
  };
  EXPECT_FALSE(read(north, one).complete);
  EXPECT_THROW(read(south, one), Error);
  EXPECT_TRUE(read(north, both).complete);
  EXPECT_TRUE(read(south, both).complete);
  study::SignedApproval forged = one;
  forged.approval.plan_hash = Digest{3};
  EXPECT_THROW(read(north, forged), Error);
}

TEST(KeyTrust, ARevokedPartyAndItsStewardDoNotCount) {
  const KeyTrust before(PartsOf("south"));
  KeyTrust::Parts parts = PartsOf("south");
  parts.list = [] { return WithRevoked(ListOf("south"), "north", NowUtc()); };
  const KeyTrust after(parts);
  const Digest steward = before.Steward("north");
  const std::string text =
      Signed(ApprovalOf("north", Digest{1}, Digest{2}, NowUtc() + 1000), "north");
  EXPECT_TRUE(before.Knows("north"));
  EXPECT_TRUE(before.ReadDocument(text, "north", steward).approves);
  EXPECT_FALSE(after.Knows("north"));
  EXPECT_TRUE(after.Knows("west"));
  EXPECT_THROW(after.ReadDocument(text, "north", steward), Error);
  // The own party is on no list.
  const std::string own =
      Signed(ApprovalOf("south", Digest{1}, Digest{2}, NowUtc() + 1000), "south");
  EXPECT_TRUE(after.ReadDocument(own, "south", after.Steward("south")).approves);
}

// Jobs that answer when they are asked, with real run keys.
struct Site : Jobs {
  std::string name;
  Disk disk;
  std::unique_ptr<KeyTrust> trust;
  std::unique_ptr<CountedRandom> random;
  std::unique_ptr<MemoryStore> store;
  std::unique_ptr<Node> node;
  std::vector<std::pair<StudyId, JobRequest>> asked;

  void Start(const JobRequest& request, const Study& study) override {
    asked.emplace_back(study.id, request);
  }
};

TEST(KeyTrust, AStudyIsAgreedAndRunWithRealKeys) {
  std::map<std::string, Site> sites;
  uint64_t seed = 1;
  int64_t now = NowUtc();
  for (const std::string& name : kNames) {
    Site& site = sites[name];
    site.name = name;
    site.disk.incarnation.fill(static_cast<uint8_t>(seed));
    site.trust = std::make_unique<KeyTrust>(PartsOf(name));
    site.random = std::make_unique<CountedRandom>(seed++);
    site.store = std::make_unique<MemoryStore>(site.disk, [] {});
    site.node =
        std::make_unique<Node>(Node::Parts{name, *site.store, *site.trust, *site.random, site, {}});
  }
  const int64_t expires = now + 86'400;
  const StudyId id = sites["north"].node->Propose("study", expires, now);
  const auto answer = [&](Site& site, const JobRequest& job) {
    Node& node = *site.node;
    if (job.kind == JobKind::kCheck) {
      Checked checked;
      checked.facts.parties = kNames;
      checked.facts.receivers = {"north"};
      checked.facts.plan_hash = Digest{2};
      checked.run_certificate = crypto::EncodeCertificate(*AllKeys().at(site.name).run.certificate);
      checked.address = site.name + ".example:7400";
      node.Report(id, checked, now);
    } else if (job.kind == JobKind::kCommit) {
      node.Report(id, Committed{Digest{1}}, now);
      node.Command(
          id, OwnApproval{Signed(ApprovalOf(site.name, Digest{1}, Digest{2}, expires), site.name)},
          now);
    } else if (job.kind == JobKind::kRun) {
      node.Report(id, JobUp{job.attempt}, now);
      node.Report(id, JobEnded{SignedEnd(site.name, id, job.attempt)}, now);
    } else if (job.kind == JobKind::kDiscard) {
      Ended refusal;
      refusal.attempt = job.attempt;
      node.Report(id, Discarded{refusal}, now);
    }
  };
  for (int second = 0; second < 60; ++second, ++now) {
    for (auto& [name, site] : sites) {
      site.node->Tick(now);
      const auto asked = std::exchange(site.asked, {});
      for (const auto& job : asked) answer(site, job.second);
      for (const OutboxEntry& entry : site.node->Due(now)) {
        if (sites.at(entry.to).node->Receive(entry.message, now) == Receipt::kTaken) {
          site.node->Delivered(entry.number);
        } else {
          site.node->Failed(entry.number, now);
        }
      }
    }
  }
  for (auto& [name, site] : sites) {
    const std::optional<Study> study = site.node->Find(id);
    ASSERT_TRUE(study.has_value());
    EXPECT_EQ(study->phase, Phase::kFinished) << name;
    EXPECT_TRUE(study->charged);
    EXPECT_EQ(study->closed, 0u);
    EXPECT_TRUE(site.node->refusals().empty());
  }
}

}  // namespace
}  // namespace partita::node::key_trust_test
