// Which budgets a restored site keeps: by whole and older copies, by every way in which a word of another site does not
// count, and by what a daemon or a site may make up.
#include "node/job/kept_look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/job/errand.h"
#include "node/job/settle_kept.h"
#include "node/job/short_answer.h"
#include "node/job/wire.h"
#include "node/sign/kept_word.h"
#include "node/sign/signer_folder.h"
#include "privacy/ledger/seen_heads.h"
#include "run/simulate/temporary_folder.h"

namespace partita::node::kept_look_test {
namespace {

namespace fs = std::filesystem;
namespace ledger = privacy::ledger;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Ledgers are made by the clock of the machine, and before anything that is charged to them.
const int64_t kNow = NowUtc() + 600;
constexpr char kTable[] = "patients";

Digest PrintOf(const crypto::Identity& identity) {
  return crypto::Sha256Of(crypto::EncodeCertificate(*identity.certificate));
}

void PutBytes(const fs::path& file, const Bytes& bytes) {
  WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

struct Keys {
  explicit Keys(const std::string& name)
      : node(crypto::MakeIdentity({.name = name})),
        steward(crypto::MakeIdentity({.name = name})),
        run(crypto::MakeIdentity({.name = name})),
        jobs(crypto::MakeIdentity({.name = name})) {}
  crypto::Identity node, steward, run, jobs;
};

// How a study ends for the account that it is charged to.
enum class End { kSpent, kRefunded, kOpen };

// West is restored; north and south are its peers.
class KeptLookTest : public ::testing::Test {
 protected:
  run::TemporaryFolder scratch_;
  crypto::SystemRandom random_;
  std::map<std::string, Keys> keys_{
      {"west", Keys("west")}, {"north", Keys("north")}, {"south", Keys("south")}};
  std::map<std::string, JobSettings> sites_;
  PartyList list_;
  RestoredMark mark_;
  uint8_t runs_ = 0;
  int64_t opened_at_ = kNow - 1000;  // accounts

  void SetUp() override {
    for (const auto& [name, keys] : keys_) {
      const fs::path folder = scratch_.path() / name;
      fs::create_directories(folder / "studies");
      JobSettings& settings = sites_[name];
      settings.self = name;
      settings.studies = folder / "studies";
      settings.ledger = folder / "ledger.sqlite";
      settings.stewards = folder / "stewards.pem";
      settings.parties = folder / "parties";
      settings.restored = folder / "restored";
      settings.reopened = folder / "reopened";
      settings.kept = folder / "kept";
      settings.job_certificate = folder / "jobs.pem";
      settings.job_key = folder / "jobs.key";
      crypto::SaveIdentity(keys.jobs, settings.job_certificate, settings.job_key);
      WriteFileAtomically(settings.stewards.string(),
                          crypto::FormatCertificate(*keys.steward.certificate));
      ledger::SqliteLedger::Create({.file = settings.ledger});
    }
    list_.owner = "west";
    list_.serial = 1;
    for (const char* name : {"north", "south"}) List(name);
    OpenAccount(kTable);
  }
  void List(const std::string& name) {
    ListedParty party;
    party.name = name;
    party.node_key = PrintOf(keys_.at(name).node);
    party.steward_key = PrintOf(keys_.at(name).steward);
    party.known_at = kNow - 1000;
    list_.parties.push_back(party);
  }
  ledger::SqliteLedger Book(const std::string& site) {
    return ledger::SqliteLedger({.file = sites_.at(site).ledger});
  }
  void OpenAccount(const std::string& table, uint64_t exact = 9) {
    ledger::Policy policy;
    policy.table = table;
    policy.outside = {privacy::Adjacency::kReplace, "1", "1e-6", "0"};
    policy.exact = ledger::ExactRule::kCounted;
    policy.max_exact = exact;
    Book("west").OpenAccount(policy, random_, {"operator", opened_at_});
  }
  // As run/ledger/run_ledger.h has it: reserve, show, sign, spend. Returns the reservation.
  uint64_t Study(const std::vector<std::string>& peers, End end = End::kSpent,
                 const std::string& table = kTable) {
    ledger::SqliteLedger book = Book("west");
    const ledger::Stamp stamp{"party west", kNow};
    ledger::ReservationRequest request;
    request.table = table;
    request.run_id = Digest{++runs_};
    request.agreement_hash = Digest{1};
    request.study = "study";
    request.exact = {{"means", "means", "all", 1, 1, {"age"}}};
    const ledger::Reservation reservation = book.Reserve(request, stamp);
    const ledger::Receipt receipt{book.HeadOf(table), request.run_id, request.agreement_hash};
    for (const std::string& peer : peers) {
      const crypto::Identity& run = keys_.at(peer).run;
      Book(peer).Witness(receipt, "west", stamp);
      book.Countersign(table, reservation.number,
                       {peer, receipt.head, crypto::EncodeCertificate(*run.certificate),
                        ledger::SignReceipt(run, receipt)},
                       stamp);
    }
    if (end == End::kSpent) book.Spend(table, reservation.number, stamp);
    if (end == End::kRefunded)
      book.Refund(table, reservation.number, ledger::NothingSent("it broke off"), stamp);
    return reservation.number;
  }
  std::string CopyOfLedger() { return ReadFile(sites_.at("west").ledger, 1 << 24, "the ledger"); }
  void PutBack(const std::string& copy) {
    const fs::path file = sites_.at("west").ledger;
    fs::remove(ledger::SeenHeads::PathOf(file));
    WriteFileAtomically(file.string(), copy);
  }
  // The restore, which closes all accounts that are there.
  void Restore() {
    mark_ = {};
    mark_.owner = "west";
    mark_.time = kNow;
    random_.Fill(mark_.nonce);
    ledger::SqliteLedger book = Book("west");
    for (const std::string& table : book.Tables())
      mark_.accounts.insert(book.StandingOf(table).head.pseudonym);
    PutBytes(sites_.at("west").restored, Encode(mark_));
  }
  HeadsAnswer AnswerOf(const std::string& name) {
    return {name, "west", DigestOf(mark_), kNow, HeadsShownBy(sites_.at(name), "west")};
  }
  Bytes Signed(const std::string& name) {
    return Encode(SignHeads(AnswerOf(name), keys_.at(name).node));
  }
  std::vector<Bytes> Answers() {
    std::vector<Bytes> answers;
    for (const ListedParty& party : list_.parties) answers.push_back(Signed(party.name));
    return answers;
  }
  KeptBudgets Look(const std::vector<Bytes>& answers) {
    ledger::SqliteLedger book = Book("west");
    return LookForKept(book, mark_, list_, answers, kNow);
  }
  KeptAccount Account(const std::vector<Bytes>& answers) { return Look(answers).accounts.at(0); }
  std::string Lost(const std::vector<Bytes>& answers) { return Account(answers).lost; }
  void SignKeptBudgets(const KeptBudgets& kept) {
    PutBytes(sites_.at("west").kept, Encode(SignKept(kept, kKeptDomain, keys_.at("west").steward)));
  }
  void PutReopened() {
    const Digest digest = DigestOf(mark_);
    PutBytes(sites_.at("west").reopened,
             EncodeReopened(digest, SignFields(keys_.at("west").steward, kReopenDomain,
                                               Bytes(digest.begin(), digest.end()))));
  }
  // Why a table of the account is not read; empty: it is.
  std::string Closed(const std::string& table = kTable) {
    try {
      RequireOpenTable(sites_.at("west"), {"data.csv", table});
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }
  uint64_t SpentExact() { return Book("west").StandingOf(kTable).spent.exact; }
};

TEST_F(KeptLookTest, AWholeCopyKeepsWhatIsLeft) {
  Study({"north", "south"});
  const uint64_t last = Study({"south"});
  Restore();
  const KeptBudgets found = Look(Answers());
  const KeptAccount& account = found.accounts.at(0);
  EXPECT_EQ(account.lost, "");
  EXPECT_EQ(account.shown, last);
  EXPECT_EQ(account.head, Book("west").HeadOf(kTable));
  EXPECT_THAT(account.charged, IsEmpty());
  EXPECT_THAT(account.policy, HasSubstr("epsilon 1 at delta 1e-6"));
  EXPECT_EQ(found.parties.size(), 2U);

  EXPECT_THAT(Closed(), HasSubstr("the tables are closed"));
  SignKeptBudgets(found);
  EXPECT_EQ(Closed(), "");
  EXPECT_EQ(SpentExact(), 2U);
  // The steward's word that all is spent counts more.
  PutReopened();
  EXPECT_THAT(Closed(), HasSubstr("counts as spent"));
}

TEST_F(KeptLookTest, AnOlderOrAnotherCopyIsRefused) {
  Study({"north", "south"});
  const std::string before = CopyOfLedger();
  const uint64_t last = Study({"south"});
  PutBack(before);
  Restore();
  EXPECT_EQ(Lost(Answers()), "south was shown entry " + std::to_string(last) +
                                 " of it, and this copy ends with entry " +
                                 std::to_string(last - 1));
  // Grown beyond that number by itself.
  runs_ = 100;
  Study({}, End::kSpent);
  EXPECT_EQ(Lost(Answers()), "south was shown another entry " + std::to_string(last) + " of it");
}

TEST_F(KeptLookTest, WithoutAWordOfEachNothingIsKept) {
  Study({"north", "south"});
  Restore();
  EXPECT_EQ(Lost({}), "north has not answered");
  EXPECT_EQ(Lost({Signed("north")}), "south has not answered");
  EXPECT_EQ(Lost({Signed("south")}), "north has not answered");
  EXPECT_EQ(Lost(Answers()), "");
  // Of a party that never saw the account, too: it might have, after this copy.
  keys_.emplace("east", Keys("east"));
  list_.parties.insert(list_.parties.begin(), ListedParty{});
  list_.parties[0].name = "east";
  list_.parties[0].node_key = PrintOf(keys_.at("east").node);
  EXPECT_EQ(Lost({Signed("north"), Signed("south")}), "east has not answered");
  // Revoked, it need not; but whoever signed an entry must.
  list_.parties[0].revoked_at = kNow;
  EXPECT_EQ(Lost({Signed("north"), Signed("south")}), "");
  list_.parties[2].revoked_at = kNow;
  EXPECT_EQ(Lost({Signed("north"), Signed("south")}), "south has not answered");
}

TEST_F(KeptLookTest, WhatIsOlderThanADayCountsForNobody) {
  Study({"north", "south"});
  Restore();
  const Bytes souths = Signed("south");
  HeadsAnswer answer = AnswerOf("north");
  const auto north_at = [&](int64_t time) {
    answer.time = time;
    return Encode(SignHeads(answer, keys_.at("north").node));
  };
  EXPECT_EQ(Lost({north_at(kNow - kHeadsCountFor + 1), souths}), "");
  EXPECT_EQ(Lost({north_at(kNow - kHeadsCountFor), souths}), "north has not answered");
  EXPECT_EQ(Lost({north_at(kNow + kHeadsClocksDiffer), souths}), "");
  EXPECT_EQ(Lost({north_at(kNow + kHeadsClocksDiffer + 1), souths}), "north has not answered");

  // At the signer, by its clock: the finding, and each answer.
  const std::vector<Bytes> old{north_at(kNow - kHeadsCountFor + 10), souths};
  const auto sign = [&](KeptBudgets kept, int64_t found_at, int64_t now) {
    kept.time = found_at;
    try {
      RequireKept(Encode(SignKept(kept, kFoundDomain, keys_.at("west").jobs)), old, mark_, list_,
                  PrintOf(keys_.at("west").jobs), {}, now);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  const KeptBudgets found = Look(old);
  EXPECT_EQ(sign(found, kNow, kNow), "");
  EXPECT_THAT(sign(found, kNow - kHeadsCountFor, kNow), HasSubstr("and not of today"));
  EXPECT_THAT(sign(found, kNow + kHeadsClocksDiffer + 1, kNow), HasSubstr("and not of today"));
  EXPECT_THAT(sign(found, kNow, kNow + 10), HasSubstr("north has not said what it was shown"));
}

// South signed entries of one account only, and is revoked: it may have been shown the other one, too, after this copy.
TEST_F(KeptLookTest, WhoSignedAnEntryOfAnotherAccountIsNeeded) {
  OpenAccount("cohort");
  Study({"north"});
  Study({"north", "south"}, End::kSpent, "cohort");
  Restore();
  EXPECT_EQ(Lost(Answers()), "");
  list_.parties[1].revoked_at = kNow;
  const KeptBudgets found = Look({Signed("north")});
  ASSERT_EQ(found.accounts.size(), 2U);
  for (const KeptAccount& account : found.accounts)
    EXPECT_EQ(account.lost, "south has not answered") << account.table;
  // Also one of an account that counts as spent since an earlier restore.
  mark_.spent.insert(Book("west").HeadOf("cohort").pseudonym);
  EXPECT_EQ(Lost({Signed("north")}), "south has not answered");
}

TEST_F(KeptLookTest, AnAnswerThatDoesNotCountIsNone) {
  Study({"north", "south"});
  Restore();
  const auto lost_with = [&](const HeadsAnswer& answer, const crypto::Identity& key) {
    return Lost({Encode(SignHeads(answer, key)), Signed("south")});
  };
  const HeadsAnswer good = AnswerOf("north");
  const crypto::Identity& north = keys_.at("north").node;
  EXPECT_EQ(lost_with(good, north), "");
  HeadsAnswer other = good;
  other.mark = Digest{9};
  EXPECT_EQ(lost_with(other, north), "north has not answered") << "of an earlier restore";
  other = good;
  other.to = "south";
  EXPECT_EQ(lost_with(other, north), "north has not answered") << "to another site";
  other = good;
  other.from = "east";
  EXPECT_EQ(lost_with(other, north), "north has not answered") << "of nobody that is listed";
  EXPECT_EQ(lost_with(good, keys_.at("west").node), "north has not answered") << "by the own node";
  EXPECT_EQ(lost_with(good, keys_.at("south").node), "north has not answered") << "by another site";
  EXPECT_EQ(lost_with(good, keys_.at("north").jobs), "north has not answered") << "by no node key";
  // Another site's answer under this name.
  other = AnswerOf("south");
  other.from = "north";
  EXPECT_EQ(lost_with(other, keys_.at("south").node), "north has not answered");
  EXPECT_THROW(Look({Signed("north"), Signed("north"), Signed("south")}), Error);
}

TEST_F(KeptLookTest, AnAnswerOfWhichAByteWasChangedIsNone) {
  Study({"north", "south"});
  Restore();
  const Bytes good = Signed("north");
  for (size_t place = 0; place < good.size(); ++place) {
    Bytes changed = good;
    changed[place] ^= 1;
    bool counts = false;
    try {
      counts = IsHeadsAnswer(DecodeSignedHeads(changed), list_, DigestOf(mark_), kNow);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    }
    EXPECT_FALSE(counts) << place;
    EXPECT_THROW(DecodeSignedHeads(ByteView(good).first(place)), Error);
  }
}

TEST_F(KeptLookTest, KeysCountAsTheListSays) {
  Study({"north", "south"});
  Restore();
  const crypto::Identity next = crypto::MakeIdentity({.name = "north"});
  const Bytes by_next = Encode(SignHeads(AnswerOf("north"), next));
  EXPECT_EQ(Lost({by_next, Signed("south")}), "north has not answered");
  list_.parties[0].next_node_key = PrintOf(next);
  list_.parties[0].next_counts_from = kNow + 1;
  EXPECT_EQ(Lost({by_next, Signed("south")}), "north has not answered");
  list_.parties[0].next_counts_from = kNow;
  EXPECT_EQ(Lost({by_next, Signed("south")}), "");
  list_.parties[0].revoked_at = kNow;
  EXPECT_EQ(Lost({by_next, Signed("south")}), "north has not answered");
  EXPECT_EQ(Lost(Answers()), "north has not answered");
}

TEST_F(KeptLookTest, WhoeverForgotCountsAsNone) {
  Study({"north", "south"});
  Restore();
  RestoredMark of_north;
  of_north.owner = "north";
  PutBytes(sites_.at("north").restored, Encode(of_north));
  EXPECT_THAT(AnswerOf("north").shown.heads, IsEmpty());
  EXPECT_EQ(Lost(Answers()), "north was itself restored from a backup, and may have forgotten");
  fs::remove(sites_.at("north").restored);
  const fs::path file = sites_.at("north").ledger;
  sites_.at("north").ledger.clear();
  EXPECT_EQ(Lost(Answers()), "north keeps no ledger, and so remembers nothing");
  // A new ledger in the place of the one that was lost.
  fs::remove(file);
  fs::remove(ledger::SeenHeads::PathOf(file));
  ledger::SqliteLedger::Create({.file = file});
  sites_.at("north").ledger = file;
  EXPECT_EQ(Lost(Answers()), "north signed entry 2 of it and does not remember it");
}

// Made anew after one was lost, as far as anybody can tell, or of an old version.
TEST_F(KeptLookTest, AJournalThatBeganAfterWhatWasShownIsNoMemory) {
  Study({"north"});
  Restore();
  EXPECT_EQ(Lost(Answers()), "");
  const auto lost_with = [&](const ShownHeads& shown) {
    HeadsAnswer answer = AnswerOf("south");
    answer.shown = shown;
    return Lost({Signed("north"), Encode(SignHeads(answer, keys_.at("south").node))});
  };
  EXPECT_EQ(lost_with({HeadsMemory::kWhole, {}, kNow}), "");
  EXPECT_EQ(lost_with({HeadsMemory::kWhole, {}, kNow + 1}),
            "south began its ledger after entry 2 of it, the newest that a site was shown");
  EXPECT_EQ(
      lost_with({HeadsMemory::kTakenOver, {}}),
      "south has a ledger of an earlier version, of which it may have lost what it was shown");
  const ShownHeads now = HeadsShownBy(sites_.at("south"), "west");
  EXPECT_GT(now.since, 0);
  EXPECT_LE(now.since, NowUtc());
  EXPECT_EQ(DecodeShownHeads(Encode(now)), now);
}

// A third party in the runs of both, which shows to north as its own what west showed.
TEST_F(KeptLookTest, AnotherPartyHidesNothing) {
  Study({"north", "south"});
  ledger::Head head = Book("west").HeadOf(kTable);
  const ledger::Stamp stamp{"party north", kNow};
  head.sequence += 20;
  Book("north").Witness({head, Digest{50}, Digest{1}}, "east", stamp);
  Restore();
  EXPECT_EQ(Lost(Answers()), "north was shown a newer entry of it by another site");
  // Nor does west read the other's head, or east, by asking, west's newest one.
  const std::vector<ledger::ShownHead> of_west = Book("north").NewestShownBy("west");
  ASSERT_EQ(of_west.size(), 1U);
  EXPECT_EQ(of_west[0].head.sequence, 2U) << "its own";
  EXPECT_TRUE(of_west[0].is_overtaken);
  head.sequence += 1;
  Book("north").Witness({head, Digest{52}, Digest{1}}, "west", stamp);
  EXPECT_EQ(Book("north").NewestShownBy("west"), (std::vector<ledger::ShownHead>{{head, false}}));
  head.sequence -= 1;
  EXPECT_EQ(Book("north").NewestShownBy("east"), (std::vector<ledger::ShownHead>{{head, true}}));

  // The first to show exactly that head, in the same run.
  OpenAccount("cohort");
  const ledger::Head own = Book("west").HeadOf("cohort");
  const ledger::Receipt receipt{own, Digest{51}, Digest{1}};
  Book("south").Witness(receipt, "east", stamp);
  Book("south").Witness(receipt, "west", stamp);
  Book("south").Witness(receipt, "west", stamp);
  const std::vector<ledger::ShownHead> shown = Book("south").NewestShownBy("west");
  EXPECT_EQ(shown.size(), 2U);
  EXPECT_NE(std::find(shown.begin(), shown.end(), ledger::ShownHead{own, false}), shown.end());
  EXPECT_EQ(Book("south").Summary().receipts, 3U) << "the last one is stored once";
}

TEST_F(KeptLookTest, ACopyThatLacksAnAccountOrAPlaceOfItsJournalIsOld) {
  Study({"north", "south"});
  const std::string before = CopyOfLedger();
  OpenAccount("cohort");
  Study({"north"}, End::kSpent, "cohort");
  const Digest cohort = Book("west").HeadOf("cohort").pseudonym;
  PutBack(before);
  Restore();
  EXPECT_EQ(Lost(Answers()),
            "north was shown an account that this copy of the ledger does not have");
  // One that an earlier restore ended is known.
  mark_.accounts.insert(cohort);
  EXPECT_NE(Lost(Answers()), "");
  mark_.spent.insert(cohort);
  EXPECT_EQ(Lost(Answers()), "");

  ledger::Head journal = Book("west").JournalHead();
  const ledger::Stamp stamp{"party west", kNow};
  Book("north").Witness({journal, Digest{60}, Digest{1}}, "west", stamp);
  EXPECT_EQ(Lost(Answers()), "");
  journal.sequence += 1;
  Book("north").Witness({journal, Digest{61}, Digest{1}}, "west", stamp);
  EXPECT_EQ(Lost(Answers()),
            "north was shown a newer journal than that of this copy of the ledger");
}

// The backup had one account. After the restore a copy is put in its place that has this one whole, and another, which the
// mark does not know, as it was before its last study.
TEST_F(KeptLookTest, AnAccountThatTheMarkDoesNotKnowIsComparedAndStaysClosed) {
  Study({"north", "south"});
  const std::string backup = CopyOfLedger();
  OpenAccount("cohort");
  Study({"north"}, End::kSpent, "cohort");
  const std::string older = CopyOfLedger();
  const uint64_t last = Study({"north"}, End::kSpent, "cohort");
  const std::string newest = CopyOfLedger();
  PutBack(backup);
  Restore();
  PutBack(older);
  EXPECT_EQ(Lost(Answers()), "north was shown entry " + std::to_string(last) +
                                 " of the account cohort, which this copy does not have");
  // Grown beyond that number by itself.
  runs_ = 100;
  Study({}, End::kSpent, "cohort");
  EXPECT_THAT(Lost(Answers()), HasSubstr("of the account cohort, which this copy does not have"));

  PutBack(newest);
  EXPECT_EQ(Lost(Answers()), "");
  SignKeptBudgets(Look(Answers()));
  EXPECT_EQ(Closed(), "");
  EXPECT_THAT(Closed("cohort"), HasSubstr("was not in its ledger then"));
  // Nor after the word that all is spent, with any copy of it.
  PutReopened();
  PutBack(older);
  EXPECT_THAT(Closed("cohort"), HasSubstr("was not in its ledger then"));
  // One that was opened since is its steward's decision.
  opened_at_ = kNow;
  OpenAccount("cohort-2");
  EXPECT_EQ(Closed("cohort-2"), "");
}

TEST_F(KeptLookTest, AnAccountThatNobodyEverSawIsNotKept) {
  Restore();
  EXPECT_THAT(Lost(Answers()), HasSubstr("no other site was ever shown it"));
  Study({});
  EXPECT_THAT(Lost(Answers()), HasSubstr("no other site was ever shown it"));
}

// A private sum is charged to the same ledger, and shows its head to nobody.
TEST_F(KeptLookTest, AnAccountOfPrivateSumsIsNotKept) {
  Study({"north", "south"});
  ledger::ReservationRequest request;
  request.table = kTable;
  request.run_id = Digest{90};
  request.agreement_hash = Digest{2};
  request.study = "sums";
  privacy::Adversary outside;
  outside.kind = privacy::AdversaryKind::kOutsideAnalyst;
  request.charges = {{std::string(ledger::kPrivateSumRelease) + "00", outside,
                      privacy::Adjacency::kReplace, ledger::PureDp{0.25}, 1}};
  ledger::SqliteLedger book = Book("west");
  const ledger::Stamp stamp{"node west", kNow};
  const ledger::Reservation made = book.Reserve(request, stamp);
  EXPECT_TRUE(ledger::IsPrivateSum(
      std::get<ledger::Reserved>(book.Entries(kTable).at(made.number - 1).body)));
  book.Refund(kTable, made.number, ledger::NothingSent("it broke off"), stamp);
  Study({"north", "south"});
  Restore();
  EXPECT_EQ(Lost(Answers()),
            "private sums were charged to it, and those are shown to no other site");
}

TEST_F(KeptLookTest, WhatWasOpenWhenItWasShownCountsAsSpent) {
  const uint64_t refunded_before = Study({"north", "south"}, End::kRefunded);
  const uint64_t open = Study({"north", "south"}, End::kOpen);
  const uint64_t refunded = Study({"north", "south"}, End::kRefunded);
  const uint64_t alone = Study({}, End::kRefunded);
  Study({}, End::kSpent);
  Restore();
  const KeptBudgets found = Look(Answers());
  EXPECT_EQ(found.accounts.at(0).lost, "");
  EXPECT_EQ(found.accounts.at(0).shown, refunded);
  EXPECT_LT(refunded_before, open);
  EXPECT_THAT(found.accounts.at(0).charged, ElementsAre(open, refunded, alone));
  SignKeptBudgets(found);
  EXPECT_EQ(SpentExact(), 1U);
  EXPECT_EQ(Closed(), "");
  EXPECT_EQ(SpentExact(), 4U);
  const ledger::Head head = Book("west").HeadOf(kTable);
  EXPECT_EQ(Closed(), "");
  EXPECT_EQ(Book("west").HeadOf(kTable), head) << "once";
  Book("west").Verify();
  // Nothing of it is given back.
  EXPECT_THROW(Book("west").Refund(kTable, open, ledger::NothingSent("no"), {"operator", kNow}),
               Error);
}

TEST_F(KeptLookTest, ARefundAfterTheWordIsChargedAgain) {
  const uint64_t open = Study({"north", "south"}, End::kOpen);
  Restore();
  SignKeptBudgets(Look(Answers()));
  Book("west").Refund(kTable, open, ledger::NothingSent("nothing left"), {"operator", kNow});
  EXPECT_EQ(Closed(), "");
  EXPECT_EQ(SpentExact(), 1U);
}

TEST_F(KeptLookTest, WhatDoesNotFitOpensNothing) {
  OpenAccount("small", 1);
  Study({"north", "south"}, End::kRefunded, "small");
  Study({}, End::kSpent, "small");
  Restore();
  const KeptBudgets found = Look(Answers());
  ASSERT_EQ(found.accounts.at(1).table, "small");
  EXPECT_EQ(found.accounts.at(1).lost, "");
  SignKeptBudgets(found);
  EXPECT_THROW(RequireOpenTable(sites_.at("west"), {"data.csv", "small"}), Error);
  EXPECT_EQ(Book("west").StandingOf("small").spent.exact, 1U);
}

TEST_F(KeptLookTest, AnotherCopyAfterTheWordIsRefused) {
  Study({"north", "south"});
  const std::string before = CopyOfLedger();
  Study({"north", "south"});
  Restore();
  SignKeptBudgets(Look(Answers()));
  EXPECT_EQ(Closed(), "");
  PutBack(before);
  EXPECT_THAT(Closed(), HasSubstr("not the copy for which the steward signed"));
  Study({});
  Study({});
  EXPECT_THAT(Closed(), HasSubstr("not the copy for which the steward signed"));
}

TEST_F(KeptLookTest, OnlyTheStewardsWordForThisRestoreOpens) {
  Study({"north", "south"});
  Restore();
  const KeptBudgets found = Look(Answers());
  const JobSettings& west = sites_.at("west");
  const Keys& keys = keys_.at("west");
  const Keys& norths = keys_.at("north");
  for (const crypto::Identity* key : {&keys.node, &keys.jobs, &norths.steward}) {
    PutBytes(west.kept, Encode(SignKept(found, kKeptDomain, *key)));
    EXPECT_THAT(Closed(), HasSubstr("the tables are closed"));
  }
  // The job's finding is no word, nor is the steward's signature on something else.
  PutBytes(west.kept, Encode(SignKept(found, kFoundDomain, keys.steward)));
  EXPECT_THAT(Closed(), HasSubstr("the tables are closed"));
  const Bytes good = Encode(SignKept(found, kKeptDomain, keys.steward));
  for (size_t place = 0; place < good.size(); place += 3) {
    Bytes changed = good;
    changed[place] ^= 4;
    PutBytes(west.kept, changed);
    EXPECT_FALSE(ReadKept(west.kept, found.mark, {PrintOf(keys.steward)}).has_value()) << place;
  }
  PutBytes(west.kept, good);
  EXPECT_EQ(Closed(), "");
  // A restore after that.
  Restore();
  EXPECT_THAT(Closed(), HasSubstr("the tables are closed"));
  // What the word does not keep is spent.
  KeptBudgets none = Look(Answers());
  none.accounts[0].lost = "north has not answered";
  SignKeptBudgets(none);
  EXPECT_THAT(Closed(), HasSubstr("counts as spent"));
}

TEST_F(KeptLookTest, RestoresInARowKeepOnlyWhatEachWordKept) {
  Study({"north", "south"});
  OpenAccount("cohort");
  Restore();
  const JobSettings& west = sites_.at("west");
  const RestoreFiles files{west.restored, west.reopened, west.kept};
  const std::vector<Digest> stewards{PrintOf(keys_.at("west").steward)};
  EXPECT_EQ(SpentBy(mark_, files, stewards), mark_.accounts) << "no word";
  SignKeptBudgets(Look(Answers()));
  const Digest cohort = Book("west").HeadOf("cohort").pseudonym;
  EXPECT_THAT(SpentBy(mark_, files, stewards), ElementsAre(cohort));
  EXPECT_EQ(SpentBy(mark_, files, {Digest{1}}), mark_.accounts) << "of another key";

  const std::set<Digest> spent = SpentBy(mark_, files, stewards);
  const std::vector<Bytes> of_the_first = Answers();
  Restore();
  mark_.spent = spent;
  EXPECT_EQ(Lost(of_the_first), "north has not answered") << "answers for the first";
  const KeptBudgets found = Look(Answers());
  ASSERT_EQ(found.accounts.size(), 1U) << "the other one is not asked for any more";
  EXPECT_EQ(found.accounts[0].table, kTable);
  EXPECT_EQ(found.accounts[0].lost, "");
  // A mark of the first version keeps none.
  RestoredMark first = mark_;
  first.is_first_version = true;
  EXPECT_EQ(DecodeRestoredMark(Encode(first)).spent, first.accounts);
}

TEST_F(KeptLookTest, TheSignerBelievesNeitherTheDaemonNorItsList) {
  Study({"north", "south"});
  Restore();
  const Keys& keys = keys_.at("west");
  const std::vector<Bytes> answers = Answers();
  const KeptBudgets found = Look(answers);
  const auto sign = [&](const KeptBudgets& kept, const std::vector<Bytes>& with,
                        const PartyList& list, const crypto::Identity& key) {
    try {
      RequireKept(Encode(SignKept(kept, kFoundDomain, key)), with, mark_, list, PrintOf(keys.jobs),
                  {}, kNow);
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code()));
    }
    return std::string();
  };
  EXPECT_EQ(sign(found, answers, list_, keys.jobs), "");
  const std::string untrusted(ErrorCodeName(ErrorCode::kUntrusted));
  EXPECT_EQ(sign(found, answers, list_, keys.node), untrusted) << "the daemon's own finding";
  EXPECT_EQ(sign(found, {answers[0]}, list_, keys.jobs), untrusted) << "an answer is left out";
  EXPECT_EQ(sign(found, {}, list_, keys.jobs), untrusted);
  HeadsAnswer other = AnswerOf("south");
  other.shown.heads[0].head.sequence += 4;
  const Bytes newer = Encode(SignHeads(other, keys_.at("south").node));
  EXPECT_EQ(sign(found, {answers[0], newer}, list_, keys.jobs), untrusted) << "another answer";
  KeptBudgets with_newer = found;
  with_newer.parties[1].answer = crypto::Sha256Of(newer);
  EXPECT_EQ(sign(with_newer, {answers[0], newer}, list_, keys.jobs), untrusted)
      << "an answer that the copy does not go up to";
  other = AnswerOf("south");
  other.mark = Digest{3};
  const Bytes earlier = Encode(SignHeads(other, keys_.at("south").node));
  KeptBudgets with_earlier = found;
  with_earlier.parties[1].answer = crypto::Sha256Of(earlier);
  EXPECT_EQ(sign(with_earlier, {answers[0], earlier}, list_, keys.jobs), untrusted);
  other = AnswerOf("south");
  other.shown = {HeadsMemory::kRestored, {}};
  const Bytes forgot = Encode(SignHeads(other, keys_.at("south").node));
  KeptBudgets with_forgot = found;
  with_forgot.parties[1].answer = crypto::Sha256Of(forgot);
  EXPECT_EQ(sign(with_forgot, {answers[0], forgot}, list_, keys.jobs), untrusted);
  // The steward paired with somebody since the list that the job was shown.
  PartyList more = list_;
  more.parties.insert(more.parties.begin(), ListedParty{});
  more.parties[0].name = "east";
  EXPECT_EQ(sign(found, answers, more, keys.jobs), untrusted);
  PartyList revoked = list_;
  revoked.parties[1].revoked_at = kNow;
  EXPECT_EQ(sign(found, answers, revoked, keys.jobs), untrusted);
  const RestoredMark before = mark_;
  mark_.nonce = Digest{77};
  EXPECT_EQ(sign(found, answers, list_, keys.jobs), untrusted) << "the mark of another restore";
  mark_ = before;
  // Nothing to sign.
  EXPECT_EQ(sign(Look({answers[0]}), {answers[0]}, list_, keys.jobs),
            ErrorCodeName(ErrorCode::kRefused));

  const std::string lines = ::testing::PrintToString(KeptLines(found, answers));
  EXPECT_THAT(lines, HasSubstr("found at " + FormatUtc(kNow)));
  EXPECT_THAT(lines,
              HasSubstr("north answered at " + FormatUtc(kNow) + ", and its memory is whole"));
  EXPECT_EQ(
      ::testing::PrintToString(KeptLines(Look({answers[0]}), {answers[0]})).find("south answered"),
      std::string::npos);
  EXPECT_THAT(lines, HasSubstr("this policy holds: against outsiders epsilon 1"));
  EXPECT_THAT(lines, HasSubstr("No site beside those whose memory is whole"));
  EXPECT_THAT(lines, HasSubstr("none was of a private sum"));
}

// A restore from a backup that is older than an earlier restore finds no mark of that one in a new folder.
TEST_F(KeptLookTest, WhatWasGivenUpOnceNoLaterRestoreKeeps) {
  Study({"north", "south"});
  OpenAccount("cohort");
  Study({"north"}, End::kSpent, "cohort");
  Restore();
  const auto signs = [&](const std::set<Digest>& given_up) {
    return RequireKept(Encode(SignKept(Look(Answers()), kFoundDomain, keys_.at("west").jobs)),
                       Answers(), mark_, list_, PrintOf(keys_.at("west").jobs), given_up, kNow);
  };
  const Digest cohort = Book("west").HeadOf("cohort").pseudonym,
               patients = Book("west").HeadOf(kTable).pseudonym;
  EXPECT_THAT(GivenUpBy(signs({}), mark_), IsEmpty());
  const KeptBudgets kept = signs({cohort});
  EXPECT_THAT(GivenUpBy(kept, mark_), ElementsAre(cohort));
  EXPECT_THAT(::testing::PrintToString(KeptLines(kept, Answers())),
              HasSubstr("account cohort: its budget counts as spent: the steward gave it up after "
                        "an earlier restore"));
  SignKeptBudgets(kept);
  EXPECT_EQ(Closed(), "");
  EXPECT_THAT(Closed("cohort"), HasSubstr("counts as spent"));
  EXPECT_THROW(signs({cohort, patients}), Error) << "none is left";

  // As the signer keeps them.
  const SignerFolder folder(scratch_.path());
  EXPECT_THAT(folder.GivenUp(), IsEmpty());
  folder.GiveUp({patients});
  folder.GiveUp({cohort});
  EXPECT_EQ(SignerFolder(scratch_.path()).GivenUp(), (std::set<Digest>{cohort, patients}));
  PutBytes(folder.File("given-up"), Bytes(3, 1));
  EXPECT_THROW(folder.GivenUp(), Error) << "a damaged list is none to sign by";
}

// As the daemon asks for it.
TEST_F(KeptLookTest, AJobTellsWhatItFoundAndSignsIt) {
  Study({"north", "south"});
  Restore();
  PutBytes(sites_.at("west").parties,
           EncodeSignedList(SignPartyList(list_, keys_.at("west").steward)));
  const std::string told =
      DoErrand(sites_.at("west"), {ErrandKind::kKept, {}, {}, EncodeAnswers(Answers())});
  const SignedKept found = DecodeSignedKept(ShortAnswerIn(AsBytes(told)));
  EXPECT_TRUE(IsKeptSignedBy(found, kFoundDomain, {PrintOf(keys_.at("west").jobs)}));
  EXPECT_EQ(found.kept.accounts.at(0).lost, "");
  EXPECT_EQ(Encode(DecodeSignedKept(Encode(found))), Encode(found));

  const std::string heads = DoErrand(sites_.at("north"), {ErrandKind::kHeads, {}, "west", {}});
  const ShownHeads shown = DecodeShownHeads(ShortAnswerIn(AsBytes(heads)));
  EXPECT_EQ(shown, HeadsShownBy(sites_.at("north"), "west"));
  ASSERT_EQ(shown.heads.size(), 1U);
  // Nothing of what others showed.
  EXPECT_THAT(HeadsShownBy(sites_.at("north"), "south").heads, IsEmpty());
}

}  // namespace
}  // namespace partita::node::kept_look_test
