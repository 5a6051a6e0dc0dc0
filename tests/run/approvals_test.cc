// A run and its approvals: what a party's own must be before it takes part, what everybody demands
// of everybody's, and that a party that does not look is found out by the others.
#include "run/approval/approvals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "base/utc_time.h"
#include "data/snapshot.h"
#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/approval/approval_files.h"
#include "run/approval/approval_uses.h"
#include "run/approval/envelope_uses.h"
#include "run/party/build_plan.h"
#include "run/party/party.h"
#include "tests/cli/study_folder.h"
#include "tests/data/expect_error.h"

namespace partita::run::approvals_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A party that shows any document without looking at its own, and believes everybody.
class Careless : public Approvals {
 public:
  Careless(study::SignedApproval document, const crypto::Key& salt)
      : document_(std::move(document)), salt_(salt) {}
  void Open(const Study&, size_t, const study::ApprovalTerms&) override {}
  const crypto::Key& salt() const override { return salt_; }
  study::SignedApproval Show(const crypto::Digest&) override { return document_; }
  void RequireSigner(size_t, const study::SignedApproval&) const override {}

 private:
  study::SignedApproval document_;
  crypto::Key salt_;
};

class ApprovalsTest : public ::testing::Test {
 protected:
  ApprovalsTest()
      : study_(methods::mle::PrepareMleStudy(methods::LoadStudyFile(folder_.study_file()))) {
    for (const std::string& name : PartyNames(study_)) {
      identities_.push_back(crypto::MakeIdentity({.name = name}));
      fingerprints_.push_back(crypto::Fingerprint(*identities_.back().certificate));
    }
    terms_ = TermsOf(study_, StudyIdentityOf(study_, fingerprints_), BuildPlan(study_));
  }

  size_t Index(const std::string& party) const { return PartyByName(study_, party); }
  const crypto::Identity& IdentityOf(const std::string& party) const {
    return identities_[Index(party)];
  }
  fs::path File(const std::string& party) const {
    return DefaultApprovalPath(folder_.study_file(), "small", party);
  }
  fs::path EnvelopeFile() const { return fs::path(folder_.path()) / "envelope-south.json"; }

  ApprovalRequest Request(const std::string& party) const {
    ApprovalRequest request;
    request.party = party;
    request.identity = IdentityOf(party);
    request.fingerprints = fingerprints_;
    request.data = folder_.data(party);
    return request;
  }
  MadeApproval Make(const std::string& party) {
    return MakeApproval(study_, terms_, Request(party), random_);
  }
  void SaveAll(uint64_t runs = 1) {
    for (const std::string& party : PartyNames(study_)) {
      ApprovalRequest request = Request(party);
      request.runs = runs;
      SaveApproval(MakeApproval(study_, terms_, request, random_), File(party));
    }
  }
  uint64_t Uses(const std::string& party) {
    const fs::path file = File(party);
    const std::string text = partita::testing::StudyFolder::Read(file.string());
    return ApprovalUses(UsesPath(file), study::ParseApproval(text, file.string()).approval);
  }
  // Signs again after a change, as the party itself could.
  void Resave(const std::string& party, const std::function<void(study::Approval&)>& change) {
    MadeApproval made = Make(party);
    change(made.document.approval);
    made.document = study::SignApproval(made.document.approval, IdentityOf(party));
    SaveApproval(made, File(party));
  }

  std::unique_ptr<Approvals> Own(const std::string& party, const fs::path& file) const {
    return SignedApprovals({file, IdentityOf(party), fingerprints_});
  }
  // What happens when `party` opens its approval and shows it for its table as it is.
  std::optional<Error> OwnProblem(const std::string& party, const fs::path& file) {
    return ThrownBy([&] {
      const auto approvals = Own(party, file);
      approvals->Open(study_, Index(party), terms_);
      approvals->Show(CommitmentTo(party, approvals->salt()));
    });
  }
  std::optional<Error> OwnProblem(const std::string& party) {
    return OwnProblem(party, File(party));
  }
  crypto::Digest CommitmentTo(const std::string& party, const crypto::Key& salt) const {
    if (!study_.parties[Index(party)].holder) return {};
    data::SnapshotHasher hasher(salt);
    hasher.Update(AsBytes(partita::testing::StudyFolder::Read(folder_.data(party))));
    return hasher.Finish().commitment;
  }
  void ExpectOwnRefusal(const std::string& message, const fs::path& file) {
    const auto error = OwnProblem("south", file);
    ASSERT_TRUE(error.has_value()) << "not refused; expected: " << message;
    EXPECT_EQ(error->code(), ErrorCode::kRefused);
    EXPECT_EQ(error->message(), message);
    EXPECT_NE(error->hint(), "");
  }
  void ExpectOwnRefusal(const std::string& message) { ExpectOwnRefusal(message, File("south")); }

  struct End {
    std::optional<PartyOutcome> outcome;
    std::optional<Error> error;
  };
  // All parties as threads, each with the approval in its file or with those given.
  std::map<std::string, End> Run(std::map<std::string, std::unique_ptr<Approvals>> given = {}) {
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports(PartyNames(study_), random_);
    std::map<std::string, End> ends;
    for (const std::string& party : PartyNames(study_)) {
      ends[party];
      if (given[party] == nullptr) given[party] = Own(party, File(party));
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < transports.size(); ++i) {
      threads.emplace_back(
          [&, i, name = PartyNames(study_)[i], transport = std::move(transports[i])]() mutable {
            const PartyInput input{i, folder_.data(name), fingerprints_, given.at(name).get()};
            crypto::SystemRandom random;
            SilentProgress progress;
            try {
              ends.at(name).outcome = RunParty(
                  study_, input, [&](bool) { return std::move(transport); }, random, progress);
            } catch (const Error& error) {
              ends.at(name).error = error;
            }
            transport.reset();  // the others notice that this party is gone
          });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  // South shows this document, whatever it is; the honest parties must stop and say why. One of
  // them may learn it from the other's last words.
  void ExpectFoundOut(const std::string& message, study::SignedApproval document,
                      const crypto::Key& salt) {
    SCOPED_TRACE(message);
    std::map<std::string, std::unique_ptr<Approvals>> given;
    given["south"] = std::make_unique<Careless>(std::move(document), salt);
    std::map<std::string, End> ends = Run(std::move(given));
    size_t said = 0;
    for (const char* honest : {"north", "dealer"}) {
      ASSERT_TRUE(ends[honest].error.has_value()) << honest << " ran the study";
      // What it found itself, or that the other one stopped: peers do not pass on why.
      EXPECT_THAT(ends[honest].error->message(),
                  ::testing::AnyOf(HasSubstr("south"), HasSubstr("does not allow this run")));
      said += ends[honest].error->message() == message ? 1 : 0;
    }
    EXPECT_GE(said, 1u) << ends["north"].error->message() << "; "
                        << ends["dealer"].error->message();
    EXPECT_FALSE(ends["north"].outcome.has_value());
  }
  void ExpectFoundOut(const std::string& message,
                      const std::function<void(study::Approval&)>& change) {
    const MadeApproval made = Make("south");
    study::Approval approval = made.document.approval;
    change(approval);
    ExpectFoundOut(message, study::SignApproval(std::move(approval), IdentityOf("south")),
                   *made.salt);
  }

  study::Envelope Envelope() const {
    study::Envelope envelope = study::ParseEnvelopeFile(R"(partita_envelope = 1
name = "small-ones"
methods = ["mle"]
protocols = ["pooled-moments"]
functions = ["sem"]
engines = ["dealer"]
receivers = ["north"]
releases = ["moments"]
variables = ["x1", "x2", "x3"]
max_results = 2
valid_until = "2099-12-31"
min_cell = 9
)",
                                                        "e.toml", {"mle"});
    envelope.party = "south";
    return envelope;
  }

  partita::testing::StudyFolder folder_;
  methods::mle::MleStudy study_;
  std::vector<crypto::Identity> identities_;
  std::vector<std::string> fingerprints_;
  study::ApprovalTerms terms_;
  crypto::SystemRandom random_;
};

TEST_F(ApprovalsTest, EverybodySeesEverybodysAndTheStrictestThresholdsHold) {
  SaveAll();
  ApprovalRequest strict = Request("south");
  strict.min_cell = 11;
  SaveApproval(MakeApproval(study_, terms_, strict, random_), File("south"));
  ApprovalRequest dealer = Request("dealer");
  dealer.min_rows = 33;
  dealer.refuse_small_samples = true;
  SaveApproval(MakeApproval(study_, terms_, dealer, random_), File("dealer"));
  for (auto& [party, end] : Run()) {
    ASSERT_FALSE(end.error.has_value()) << party << ": " << end.error->message();
    ASSERT_EQ(end.outcome->approvals.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(end.outcome->approvals[i].approval.party, PartyNames(study_)[i]);
      EXPECT_EQ(study::RenderApproval(end.outcome->approvals[i]),
                partita::testing::StudyFolder::Read(File(PartyNames(study_)[i]).string()));
    }
    EXPECT_EQ(end.outcome->disclosure.min_cell, 11u);
    EXPECT_EQ(end.outcome->disclosure.min_rows, 33u);
    EXPECT_TRUE(end.outcome->disclosure.refuse_small_samples);
    // The phase costs what the plan says.
    const net::PhaseTraffic& phase = end.outcome->traffic[1];
    EXPECT_EQ(phase.phase, "approvals");
    EXPECT_EQ(phase.rounds, 1u);
    uint64_t sent = 0;
    for (const net::LinkTraffic& link : phase.links) sent += link.bytes_sent;
    EXPECT_EQ(sent, 2 * study::kApprovalBytes);
  }
}

TEST_F(ApprovalsTest, WithoutAnApprovalNobodyTakesPart) {
  ExpectOwnRefusal("party south has not approved the study: " + File("south").string() +
                   " does not exist");
}

TEST_F(ApprovalsTest, ARejectionHoldsTheOwnPartyBack) {
  ApprovalRequest request = Request("south");
  request.decision = study::Decision::kReject;
  request.reason = "the consent does not cover it";
  SaveApproval(Make("south"), File("south"));
  ASSERT_TRUE(fs::exists(SecretPath(File("south"))));
  SaveApproval(MakeApproval(study_, terms_, request, random_), File("south"));
  EXPECT_FALSE(fs::exists(SecretPath(File("south"))));
  ExpectOwnRefusal("party south rejected the study: the consent does not cover it");
}

TEST_F(ApprovalsTest, TheOwnApprovalMustBeOfThisStudyAndPlan) {
  const std::string is = ToHex(terms_.agreement_hash).substr(0, 16);
  Resave("south", [](auto& a) { a.agreement_hash = {1}; });
  ExpectOwnRefusal(
      "the approval of party south is for another study file or roster: it names the agreement "
      "hash "
      "0100000000000000..., here it is " +
      is + "...");
  Resave("south", [](auto& a) { a.plan_hash = {1}; });
  ExpectOwnRefusal(
      "the approval of party south is for another plan: it names the plan hash "
      "0100000000000000..., "
      "here it is " +
      ToHex(terms_.plan_hash).substr(0, 16) + "...");
  Resave("south", [](auto& a) { a.study = "large"; });
  ExpectOwnRefusal("the approval of party south is for the study 'large', not for 'small'");
  Resave("south", [](auto& a) { a.disclosure.min_cell = 1; });
  ExpectOwnRefusal("the approval of party south asks for min_cell = 1, below the study's 5");
  Resave("south", [](auto& a) { a.disclosure.min_rows = 1; });
  ExpectOwnRefusal("the approval of party south asks for min_rows = 1, below the study's 20");
  Resave("south", [](auto& a) { a.approved_at = 0, a.valid_until = 86'400; });
  ExpectOwnRefusal("the approval of party south expired at 1970-01-02T00:00:00Z");
  Resave("south", [](auto& a) { a.approved_at = kMaxUtc - 1; });
  EXPECT_THAT(OwnProblem("south")->message(),
              HasSubstr("was made at 9999-12-31T23:59:58Z, but here it is only 20"));
  Resave("south", [](auto&) {});
  EXPECT_FALSE(OwnProblem("south").has_value());
}

// The roster is part of what is approved: another certificate is another study.
TEST_F(ApprovalsTest, AChangedRosterNeedsANewApproval) {
  SaveAll();
  fingerprints_[Index("north")] = std::string(64, 'a');
  terms_ = TermsOf(study_, StudyIdentityOf(study_, fingerprints_), BuildPlan(study_));
  EXPECT_THAT(OwnProblem("south")->message(), HasSubstr("another study file or roster"));
}

TEST_F(ApprovalsTest, TheOwnApprovalMustBeSignedByTheOwnKey) {
  MadeApproval made = Make("south");
  made.document.approval.valid_until += 1;
  SaveApproval(made, File("south"));
  ExpectOwnRefusal(
      "the signature of the approval of party south is wrong: it was changed after it was signed");
  made.document =
      study::SignApproval(made.document.approval, crypto::MakeIdentity({.name = "south"}));
  SaveApproval(made, File("south"));
  EXPECT_THAT(OwnProblem("south")->message(),
              HasSubstr("was signed with a certificate that does not count: its fingerprint is"));
  made.document.signature = {};
  SaveApproval(made, File("south"));
  ExpectOwnRefusal("the approval of party south is not signed");
}

TEST_F(ApprovalsTest, TheTableMustBeTheApprovedOne) {
  SaveAll();
  EXPECT_FALSE(OwnProblem("south").has_value());
  folder_.Edit(folder_.data("south"), "p001,", "p001, ");
  ExpectOwnRefusal("the table of party south has changed since it approved the study");
  std::map<std::string, End> ends = Run();
  EXPECT_EQ(ends["south"].error->message(),
            "the table of party south has changed since it approved the study");
  for (const char* other : {"north", "dealer"}) {
    EXPECT_EQ(ends[other].error->code(), ErrorCode::kPeerLost);
    EXPECT_THAT(ends[other].error->message(),
                HasSubstr("its own approval does not allow this run"));
    EXPECT_THAT(ends[other].error->message(), HasSubstr("south"));
  }
}

TEST_F(ApprovalsTest, TheSecretPartBelongsToTheApproval) {
  SaveAll();
  const fs::path secret = SecretPath(File("south"));
  EXPECT_EQ(fs::status(secret).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const std::string kept = partita::testing::StudyFolder::Read(secret.string());
  SaveApproval(Make("south"), File("south"));
  partita::testing::StudyFolder::Write(secret.string(), kept);
  ExpectOwnRefusal(secret.string() + " belongs to another approval");
  fs::permissions(secret, fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(OwnProblem("south")->message(),
            "cannot use " + secret.string() + ": it can be read by other users (mode 0640)");
  fs::remove(secret);
  ExpectOwnRefusal(secret.string() +
                   ", the secret part of the approval of party south, does not exist");
}

TEST_F(ApprovalsTest, AnotherPartysApprovalIsNotOnesOwn) {
  SaveAll();
  EXPECT_THAT(OwnProblem("south", File("north"))->message(),
              HasSubstr("the approval of party south was signed with a certificate that does not "
                        "count"));
}

TEST_F(ApprovalsTest, BadRequestsAreRefused) {
  const auto problem = [&](const std::function<void(ApprovalRequest&)>& change) {
    ApprovalRequest request = Request("south");
    change(request);
    const auto error = ThrownBy([&] { MakeApproval(study_, terms_, request, random_); });
    return error ? std::string(ErrorCodeName(error->code())) + ": " + error->message() : "none";
  };
  EXPECT_EQ(problem([](auto&) {}), "none");
  EXPECT_EQ(problem([](auto& r) { r.min_cell = 4; }),
            "usage: min_cell = 4 is not from the study's 5 to 1000000000");
  EXPECT_EQ(problem([](auto& r) { r.min_rows = 0; }),
            "usage: min_rows = 0 is not from the study's 20 to 1000000000");
  EXPECT_EQ(problem([](auto& r) { r.runs = 0; }), "usage: an approval for 0 runs");
  EXPECT_THAT(problem([](auto& r) { r.valid_until = 0; }),
              HasSubstr("usage: it would have expired at 1970-01-01T00:00:00Z, now it is"));
  EXPECT_EQ(problem([](auto& r) { r.decision = study::Decision::kReject; }),
            "usage: this cannot be the reason of a decision");
  for (const char* reason : {"two\nlines", "\x1b[2J", "\xff"}) {
    EXPECT_EQ(problem([&](auto& r) { r.reason = reason; }),
              "usage: this cannot be the reason of a decision");
  }
  EXPECT_EQ(problem([](auto& r) { r.reason = std::string(study::kMaxReasonBytes + 1, 'a'); }),
            "usage: this cannot be the reason of a decision");
  EXPECT_THAT(problem([](auto& r) { r.data = "/nowhere.csv"; }), HasSubstr("/nowhere.csv"));
  EXPECT_THAT(
      problem([&](auto& r) { r.identity = crypto::MakeIdentity({.name = "south"}); }),
      HasSubstr("refused: the certificate does not count for party south: its fingerprint"));
}

TEST_F(ApprovalsTest, PeersFindOutWhatIsWrongWithAnApproval) {
  SaveAll();
  ExpectFoundOut("party south rejected the study: no", [](auto& a) {
    a.decision = study::Decision::kReject;
    a.reason = "no";
  });
  ExpectFoundOut(
      "the approval of party south is for another plan: it names the plan hash "
      "0100000000000000..., here it is " +
          ToHex(terms_.plan_hash).substr(0, 16) + "...",
      [](auto& a) { a.plan_hash = {1}; });
  ExpectFoundOut(
      "the approval of party south is for another study file or roster: it names the agreement "
      "hash 0100000000000000..., here it is " +
          ToHex(terms_.agreement_hash).substr(0, 16) + "...",
      [](auto& a) { a.agreement_hash = {1}; });
  ExpectFoundOut("the approval of party south expired at 1970-01-02T00:00:00Z",
                 [](auto& a) { a.approved_at = 0, a.valid_until = 86'400; });
  ExpectFoundOut("the approval of party south asks for min_cell = 0, below the study's 5",
                 [](auto& a) { a.disclosure.min_cell = 0; });
  ExpectFoundOut("the approval of party south was made by party north",
                 [](auto& a) { a.party = "north"; });
}

TEST_F(ApprovalsTest, PeersFindOutForgeriesAndOtherTables) {
  SaveAll();
  const MadeApproval made = Make("south");
  study::SignedApproval forged = made.document;
  forged.approval.valid_until += 1;
  ExpectFoundOut(
      "the signature of the approval of party south is wrong: it was changed after it was signed",
      forged, *made.salt);
  ExpectFoundOut("the approval of party south is not signed", {made.document.approval, {}},
                 *made.salt);
  const crypto::Identity impostor = crypto::MakeIdentity({.name = "south"});
  ExpectFoundOut(
      "the approval of party south was signed with a certificate that does not count: "
      "its fingerprint is " +
          crypto::Fingerprint(*impostor.certificate) + ", the roster says " +
          fingerprints_[Index("south")],
      study::SignApproval(made.document.approval, impostor), *made.salt);
  // North's own approval, played back to it by south.
  ExpectFoundOut(
      "the approval of party south was signed with a certificate that does not count: "
      "its fingerprint is " +
          fingerprints_[Index("north")] + ", the roster says " + fingerprints_[Index("south")],
      Make("north").document, *made.salt);
  // A good approval of a table other than the one that the hello committed to.
  ExpectFoundOut("party south does not bring the table that it approved", made.document,
                 crypto::RandomKey(random_));
  ExpectFoundOut("party south does not bring the table that it approved",
                 [](auto& a) { a.commitment = {}; });
}

TEST_F(ApprovalsTest, UnsignedApprovalsCountInOneProcessOnly) {
  const auto unsigned_approvals = UnsignedApprovals(random_);
  unsigned_approvals->Open(study_, Index("south"), terms_);
  const study::SignedApproval shown = unsigned_approvals->Show({1});
  EXPECT_TRUE(shown.signature.signature.empty());
  const auto signed_approvals = Own("south", File("south"));
  SaveAll();
  signed_approvals->Open(study_, Index("south"), terms_);
  ExpectError(ErrorCode::kRefused, "the approval of party south is not signed", "approve",
              [&] { signed_approvals->RequireSigner(Index("south"), shown); });
  EXPECT_NO_THROW(unsigned_approvals->RequireSigner(Index("south"), shown));
  ExpectError(ErrorCode::kRefused, "has nothing to verify it with", "",
              [&] { unsigned_approvals->RequireSigner(Index("south"), Make("south").document); });
}

TEST_F(ApprovalsTest, AnApprovalIsForOneRun) {
  SaveAll();
  for (const auto& [party, end] : Run())
    ASSERT_FALSE(end.error.has_value()) << party << ": " << end.error->message();
  for (const std::string& party : PartyNames(study_)) EXPECT_EQ(Uses(party), 1u) << party;
  std::map<std::string, End> ends = Run();
  for (const char* holder : {"north", "south"}) {
    ASSERT_TRUE(ends[holder].error.has_value()) << holder << " ran again";
    EXPECT_EQ(ends[holder].error->code(), ErrorCode::kRefused);
    EXPECT_EQ(ends[holder].error->message(),
              UsesPath(File(holder)).string() + ": the approval of party " + holder +
                  " is used up: it is for one run, and that has been");
    EXPECT_THAT(ends[holder].error->hint(), HasSubstr("approve again"));
  }
  // Others learn that, and no path.
  EXPECT_THAT(ends["dealer"].error->message(),
              HasSubstr("its own approval does not allow this run"));
  EXPECT_THAT(ends["dealer"].error->message(), ::testing::Not(HasSubstr(folder_.path())));
  // Approved again, it runs again.
  SaveAll();
  for (const auto& [party, end] : Run())
    EXPECT_FALSE(end.error.has_value()) << party << ": " << end.error->message();
}

TEST_F(ApprovalsTest, AnApprovalForTwoRunsIsForTwo) {
  SaveAll(2);
  for (uint64_t run = 1; run <= 2; ++run) {
    for (const auto& [party, end] : Run())
      ASSERT_FALSE(end.error.has_value()) << party << ": " << end.error->message();
    for (const std::string& party : PartyNames(study_)) EXPECT_EQ(Uses(party), run) << party;
  }
  EXPECT_THAT(Run()["south"].error->message(),
              HasSubstr("it is for 2 runs, and as many have been"));
}

// The dealer alone has approved one run less: it cannot know before the others are there.
TEST_F(ApprovalsTest, TheDealersApprovalIsUsedUpAsWell) {
  SaveAll(2);
  SaveApproval(Make("dealer"), File("dealer"));
  for (const auto& [party, end] : Run())
    ASSERT_FALSE(end.error.has_value()) << party << ": " << end.error->message();
  std::map<std::string, End> ends = Run();
  ASSERT_TRUE(ends["dealer"].error.has_value());
  EXPECT_THAT(ends["dealer"].error->message(),
              HasSubstr("the approval of party dealer is used up"));
  EXPECT_FALSE(ends["north"].outcome.has_value());
  for (const char* holder : {"north", "south"}) {
    EXPECT_THAT(ends[holder].error->message(), ::testing::Not(HasSubstr(folder_.path())));
  }
}

// South's rows are others than north's, which is found out after the approvals were shown.
TEST_F(ApprovalsTest, ARunThatOpensNothingDoesNotUseAnApproval) {
  folder_.Edit(folder_.data("south"), "p007", "p907");
  SaveAll();
  for (const auto& [party, end] : Run()) EXPECT_TRUE(end.error.has_value()) << party;
  for (const char* holder : {"north", "south"}) EXPECT_EQ(Uses(holder), 0u) << holder;
  // The dealer takes no part in the comparison, and may be ahead of it.
  EXPECT_LE(Uses("dealer"), 1u);
}

// Both have looked, and find one run left; the one that is faster takes it.
TEST_F(ApprovalsTest, OfTwoRunsAtTheSameTimeOneIsRefused) {
  SaveAll();
  const auto one = Own("south", File("south")), other = Own("south", File("south"));
  for (const auto* run : {&one, &other}) {
    (*run)->Open(study_, Index("south"), terms_);
    (*run)->RequireRunLeft(nullptr, false);
  }
  one->Spend(nullptr, {{1}, false});
  one->Spend(nullptr, {{1}, false});  // counted once
  ExpectError(ErrorCode::kRefused, "the approval of party south is used up", "approve again", [&] {
    other->Spend(nullptr, {{2}, false});
  });
  EXPECT_EQ(Uses("south"), 1u);
}

// The whole of it: two runs of all parties at once never both open.
TEST_F(ApprovalsTest, TwoRunsOfAllPartiesAtTheSameTimeDoNotBothOpen) {
  SaveAll();
  std::map<std::string, End> first, second;
  std::thread beside([&] { second = Run(); });
  first = Run();
  beside.join();
  for (const std::string& party : PartyNames(study_)) {
    EXPECT_FALSE(first[party].outcome.has_value() && second[party].outcome.has_value()) << party;
    EXPECT_LE(Uses(party), 1u);
  }
}

// With a copy of the approval and its record from before the run it is as if it had not been; the
// ledger, where there is one, knows better.
TEST_F(ApprovalsTest, ACopyOfTheRecordIsFoundOutByTheLedgerOnly) {
  SaveAll();
  const fs::path ledger_file = fs::path(folder_.path()) / "south.ledger";
  privacy::ledger::SqliteLedger::Create({.file = ledger_file});
  const std::string record = UsesPath(File("south")).string();
  const std::string before = partita::testing::StudyFolder::Read(record);
  const auto spend = [&](uint8_t run, bool with_ledger) {
    RunLedger ledger({ledger_file, ""}, {});
    const auto approvals = Own("south", File("south"));
    approvals->Open(study_, Index("south"), terms_);
    RunLedger* const kept = with_ledger ? &ledger : nullptr;
    approvals->RequireRunLeft(kept, false);
    approvals->Spend(kept, {{run}, false});
  };
  spend(1, /*with_ledger=*/true);
  partita::testing::StudyFolder::Write(record, before);
  ExpectError(ErrorCode::kRefused, "the approval of party south is used up", "approve again",
              [&] { spend(2, /*with_ledger=*/true); });
  EXPECT_NO_THROW(spend(3, /*with_ledger=*/false));  // nothing is left that would know
  fs::remove(record);
  ExpectError(ErrorCode::kRefused, "the record of the approval's uses is missing", "Approve again",
              [&] { spend(4, /*with_ledger=*/false); });
}

TEST_F(ApprovalsTest, AnEnvelopeApprovesStudiesUntilItIsUsedUp) {
  SaveAll();
  const study::SignedEnvelope envelope =
      SaveEnvelope(Envelope(), IdentityOf("south"), EnvelopeFile());
  const crypto::Digest digest = study::EnvelopeDigest(envelope.envelope);
  for (uint64_t run = 1; run <= 2; ++run) {
    SaveAll();  // the others approve every run
    std::map<std::string, std::unique_ptr<Approvals>> given;
    given["south"] = Own("south", EnvelopeFile());
    std::map<std::string, End> ends = Run(std::move(given));
    ASSERT_FALSE(ends["north"].error.has_value()) << ends["north"].error->message();
    const study::Approval& shown = ends["north"].outcome->approvals[Index("south")].approval;
    EXPECT_EQ(shown.envelope, digest);
    EXPECT_EQ(shown.valid_until, envelope.envelope.valid_until);
    EXPECT_EQ(ends["north"].outcome->disclosure.min_cell, 9u);
    EXPECT_EQ(EnvelopeUses(UsesPath(EnvelopeFile()), digest), run);
  }
  SaveAll();
  std::map<std::string, std::unique_ptr<Approvals>> given;
  given["south"] = Own("south", EnvelopeFile());
  std::map<std::string, End> ends = Run(std::move(given));
  EXPECT_EQ(ends["south"].error->message(), UsesPath(EnvelopeFile()).string() +
                                                ": all 2 runs that the envelope allows are used "
                                                "up");
  EXPECT_THAT(ends["north"].error->message(),
              HasSubstr("its own approval does not allow this run"));
}

TEST_F(ApprovalsTest, ARunThatNeverStartsUsesNothing) {
  SaveAll();
  const study::SignedEnvelope envelope =
      SaveEnvelope(Envelope(), IdentityOf("south"), EnvelopeFile());
  folder_.Edit(folder_.data("south"), "p001,", "p001,tall");  // fails the checks
  std::map<std::string, std::unique_ptr<Approvals>> given;
  given["south"] = Own("south", EnvelopeFile());
  std::map<std::string, End> ends = Run(std::move(given));
  EXPECT_EQ(ends["south"].error->code(), ErrorCode::kBadData);
  EXPECT_EQ(EnvelopeUses(UsesPath(EnvelopeFile()), study::EnvelopeDigest(envelope.envelope)), 0u);
}

TEST_F(ApprovalsTest, EnvelopesAreCheckedLikeApprovals) {
  study::Envelope narrow = Envelope();
  narrow.variables = {"x1", "x2"};
  SaveEnvelope(narrow, IdentityOf("south"), EnvelopeFile());
  ExpectOwnRefusal(folder_.study_file() +
                       ": outside the envelope 'small-ones' of party south: the variable 'x3'",
                   EnvelopeFile());
  study::SignedEnvelope forged = SaveEnvelope(Envelope(), IdentityOf("south"), EnvelopeFile());
  EXPECT_FALSE(OwnProblem("south", EnvelopeFile()).has_value());
  forged.envelope.max_results = 1000;
  partita::testing::StudyFolder::Write(EnvelopeFile().string(), study::RenderEnvelope(forged));
  ExpectOwnRefusal(
      "the signature of the envelope of party south is wrong: it was changed after it was signed",
      EnvelopeFile());
  forged = study::SignEnvelope(
      [&] {
        study::Envelope expired = Envelope();
        expired.valid_until = 1;
        return expired;
      }(),
      IdentityOf("south"));
  partita::testing::StudyFolder::Write(EnvelopeFile().string(), study::RenderEnvelope(forged));
  ExpectOwnRefusal("the envelope 'small-ones' of party south expired at 1970-01-01T00:00:01Z",
                   EnvelopeFile());
  SaveEnvelope(Envelope(), IdentityOf("south"), EnvelopeFile());
  fs::remove(UsesPath(EnvelopeFile()));
  ExpectOwnRefusal(
      UsesPath(EnvelopeFile()).string() + ": the record of the envelope's uses is missing",
      EnvelopeFile());
  ExpectError(ErrorCode::kRefused, "the certificate does not count for party south", "roster",
              [&] { SaveEnvelope(Envelope(), IdentityOf("north"), EnvelopeFile()); });
}

}  // namespace
}  // namespace partita::run::approvals_test
