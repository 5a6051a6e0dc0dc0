// A matching from approvals to results: the join of two tables, what it costs, what it refuses, and
// whatever fails on the way.
#include "run/matching/matching_run.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "run/approval/approval_uses.h"
#include "tests/net/fault_transport.h"
#include "tests/net/stopping_transport.h"
#include "tests/run/matching/matching_group.h"

namespace partita::run::matching_run_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MatchEnd;
using testing::MatchingGroup;
using ::testing::Not;
using testing::OfAll;

// A row of either table, as the canonical texts say it; an empty number: it has none.
struct Person {
  std::string nid, name;
  int day = 1;
};
using People = std::vector<Person>;

std::string TableOf(const People& people, size_t party) {
  std::string csv = party == 0 ? "nid,name,born,x\n" : "number,name,born,x\n";
  for (const Person& person : people) {
    std::string name = person.name;
    // Each writes names in its own way.
    if (party == 1) {
      for (char& c : name) c = static_cast<char>(std::toupper(c));
    }
    csv += fmt::format("{},{},2001-01-{:02},7\n", person.nid, name, person.day);
  }
  return csv;
}

// What two passes find, in the clear: pairs of rows.
std::set<std::pair<uint32_t, uint32_t>> JoinOf(const OfAll<People>& lists) {
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  OfAll<std::set<uint32_t>> used(kMatchedHolders);
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t a = 0; a < lists[0].size(); ++a) {
      for (uint32_t b = 0; b < lists[1].size(); ++b) {
        const Person &left = lists[0][a], &right = lists[1][b];
        const bool same = pass == 0 ? !left.nid.empty() && left.nid == right.nid
                                    : left.name == right.name && left.day == right.day;
        if (!same || used[0].contains(a) || used[1].contains(b)) continue;
        pairs.emplace(a, b);
        used[0].insert(a);
        used[1].insert(b);
      }
    }
  }
  return pairs;
}

// Numbers and names are each unique in a list, and need not belong together.
People RandomPeople(size_t count, std::mt19937_64& random) {
  std::vector<int> numbers(90), names(90);
  for (int i = 0; i < 90; ++i) numbers[static_cast<size_t>(i)] = names[static_cast<size_t>(i)] = i;
  std::shuffle(numbers.begin(), numbers.end(), random);
  // Mostly the same name with the same number.
  names = numbers;
  for (int swap = 0; swap < 8; ++swap) std::swap(names[random() % 90], names[random() % 90]);
  People people;
  for (size_t i = 0; i < count; ++i) {
    Person person;
    if (random() % 5 != 0) person.nid = fmt::format("{:04}", numbers[i]);
    person.name = fmt::format("p{}", names[i] / 28);
    person.day = 1 + names[i] % 28;
    people.push_back(person);
  }
  return people;
}

People PeopleOf(const std::vector<int>& numbers) {
  People people;
  for (const int number : numbers)
    people.push_back({fmt::format("{:04}", number), fmt::format("p{}", number), 1});
  return people;
}

void WriteBoth(MatchingGroup& pair, const OfAll<People>& lists) {
  for (size_t party = 0; party < kMatchedHolders; ++party)
    pair.Write(party, TableOf(lists[party], party));
}

std::string ErrorsOf(const OfAll<MatchEnd>& ends) {
  std::string text;
  for (const MatchEnd& end : ends) text += end.error ? end.error->message() + "\n" : "";
  return text;
}

TEST(MatchingRunTest, RandomTablesGiveTheJoinAndNoRowIsLostOrDoubled) {
  std::mt19937_64 random(27);
  for (int trial = 0; trial < 20; ++trial) {
    MatchingGroup pair;
    const OfAll<People> lists = {RandomPeople(1 + random() % 60, random),
                                 RandomPeople(1 + random() % 80, random)};
    WriteBoth(pair, lists);
    pair.ApproveAll();
    const OfAll<MatchEnd> ends = pair.Run();
    ASSERT_EQ(ErrorsOf(ends), "");
    const MatchedRows &left = ends[0].outcome->matched, &right = ends[1].outcome->matched;
    const auto expected = JoinOf(lists);
    // Below the minimum of one match by number nobody links.
    if (!ends[0].outcome->linked) {
      EXPECT_FALSE(ends[1].outcome->linked);
      EXPECT_EQ(left.counts, std::vector<uint64_t>{0});
      continue;
    }
    ASSERT_EQ(left.rows.size(), right.rows.size());
    std::set<std::pair<uint32_t, uint32_t>> found;
    for (size_t i = 0; i < left.rows.size(); ++i) found.emplace(left.rows[i], right.rows[i]);
    EXPECT_EQ(found.size(), left.rows.size());
    EXPECT_EQ(found, expected);
    EXPECT_EQ(left.record, right.record);
    EXPECT_EQ(left.common, right.common);
    EXPECT_EQ(left.counts, right.counts);
    EXPECT_NE(left.commitment, right.commitment);
  }
}

TEST(MatchingRunTest, CostsWhatThePlanSays) {
  MatchingGroup pair;
  WriteBoth(pair, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  pair.ApproveAll();
  const OfAll<MatchEnd> ends = pair.Run();
  ASSERT_EQ(ErrorsOf(ends), "");
  for (size_t party = 0; party < kMatchedHolders; ++party) {
    const std::vector<net::PhaseTraffic>& counted = ends[party].outcome->traffic;
    const std::vector<MatchingPhase>& planned = pair.plan(party).phases;
    ASSERT_EQ(counted.size(), planned.size());
    for (size_t i = 0; i < counted.size(); ++i) {
      SCOPED_TRACE(planned[i].name);
      EXPECT_EQ(counted[i].phase, planned[i].name);
      EXPECT_EQ(counted[i].rounds, planned[i].rounds[party]);
      const MatchingTraffic& sends = planned[i].sends[party][1 - party];
      EXPECT_EQ(counted[i].links[1 - party].messages_sent, sends.messages);
      EXPECT_EQ(counted[i].links[1 - party].bytes_sent, sends.bytes);
    }
  }
}

TEST(MatchingRunTest, TheHighestMinimumBindsAndTheRecordKeepsTheNumber) {
  for (const uint64_t minimum : {2U, 3U}) {
    MatchingGroup pair;
    WriteBoth(pair, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
    pair.Approve(0);
    pair.Approve(1, 1, minimum);
    const OfAll<MatchEnd> ends = pair.Run();
    ASSERT_EQ(ErrorsOf(ends), "");
    for (size_t party = 0; party < kMatchedHolders; ++party) {
      EXPECT_EQ(ends[party].outcome->minimum, minimum);
      EXPECT_EQ(ends[party].outcome->linked, minimum == 2);
      EXPECT_EQ(ends[party].outcome->matched.rows.size(), minimum == 2 ? 2U : 0U);
      const PastMatchings past = pair.Past(party);
      ASSERT_EQ(past.all().size(), 1U);
      EXPECT_EQ(past.all()[0].counts[0], 2U);
    }
  }
}

TEST(MatchingRunTest, OtherFilesRostersAndVersionsOfUnicodeAreRefused) {
  const OfAll<People> lists = {PeopleOf({1, 2}), PeopleOf({2, 3})};
  {
    MatchingGroup pair;
    WriteBoth(pair, lists);
    pair.file(1) = MatchingGroup::Parse(std::string(testing::kPairFile) + "# a remark\n");
    pair.ApproveAll();
    const OfAll<MatchEnd> ends = pair.Run();
    for (const MatchEnd& end : ends) {
      ASSERT_TRUE(end.error);
      EXPECT_EQ(end.error->code(), ErrorCode::kUntrusted);
      EXPECT_THAT(end.error->message(), HasSubstr("matching file"));
    }
  }
  MatchingGroup pair;
  WriteBoth(pair, lists);
  pair.plan(1).unicode = "99.0.0";
  pair.ApproveAll();
  const OfAll<MatchEnd> ends = pair.Run();
  for (const MatchEnd& end : ends) {
    ASSERT_TRUE(end.error);
    EXPECT_EQ(end.error->code(), ErrorCode::kUntrusted);
    EXPECT_THAT(end.error->message(), HasSubstr("runs a different plan"));
  }
  for (size_t party = 0; party < kMatchedHolders; ++party)
    EXPECT_TRUE(pair.Past(party).all().empty());
}

// At the party itself; the other is told a reason of the fixed list.
void ExpectOwnRefusal(const OfAll<MatchEnd>& ends, size_t party, ErrorCode code,
                      const std::string& message) {
  ASSERT_TRUE(ends[party].error);
  EXPECT_EQ(ends[party].error->code(), code);
  EXPECT_THAT(ends[party].error->message(), HasSubstr(message));
  ASSERT_TRUE(ends[1 - party].error);
  EXPECT_THAT(ends[1 - party].error->message(),
              AllOf(Not(HasSubstr("csv")), Not(HasSubstr("line"))));
}

TEST(MatchingRunTest, ATableThatChangedOrCannotBeUsedStopsBoth) {
  MatchingGroup pair;
  WriteBoth(pair, {PeopleOf({1, 2}), PeopleOf({2, 3})});
  pair.ApproveAll(9);
  pair.Write(0, TableOf(PeopleOf({1, 4}), 0));
  ExpectOwnRefusal(pair.Run(), 0, ErrorCode::kRefused, "have changed since party clinic approved");
  pair.Write(0, TableOf(PeopleOf({2, 2}), 0));
  ExpectOwnRefusal(pair.Run(), 0, ErrorCode::kBadData, "lines 2, 3 have the same key");
  for (size_t party = 0; party < kMatchedHolders; ++party)
    EXPECT_TRUE(pair.Past(party).all().empty());
}

// Bad input that a list comes with: each stops its owner, with the line, before a list leaves; the other
// learns a reason of the fixed list. Nothing is in a record.
TEST(MatchingRunTest, BadTablesStopTheirOwnerBeforeAListLeaves) {
  MatchingGroup pair;
  const std::string header = "nid,name,born,x\n", good = "0001,ada,2001-01-01,7\n";
  WriteBoth(pair, {PeopleOf({1, 2}), PeopleOf({1, 3})});
  pair.ApproveAll(99);
  std::string many = header;
  for (int row = 0; row < 61; ++row) many += fmt::format("{:04},p{},2001-01-01,7\n", row, row);
  const std::vector<std::pair<std::string, std::string>> bad = {
      {header + "1,ada,2001-01-01,7\n", "has 1 digits instead of 4"},  // its leading zeros are gone
      {header + "0001,ada,01-01-01,7\n", "is no date YYYY-MM-DD"},     // a year of two digits
      {header + "1e3,ada,2001-01-01,7\n", "has something other than digits"},
      {header + good + "0002, ADA ,2001-01-01,7\n", "lines 2, 3 have the same key in pass 2"},
      {header + good + "00 01,bo,2001-01-02,7\n", "lines 2, 3 have the same key in pass 1"},
      {many, "more than 60 rows"}};
  for (const auto& [csv, message] : bad) {
    pair.Write(0, csv);
    ExpectOwnRefusal(pair.Run(), 0, ErrorCode::kBadData, message);
  }
  for (size_t party = 0; party < kMatchedHolders; ++party)
    EXPECT_TRUE(pair.Past(party).all().empty());
  // A byte order mark, ends of lines of another system, and rows without a key are no faults.
  pair.Write(0, "\xEF\xBB\xBFnid,name,born,x\r\n0001,ada,,7\r\n,,,7\r\n,,2001-01-02,7\r\n");
  pair.Approve(0);
  const OfAll<MatchEnd> ends = pair.Run();
  ASSERT_EQ(ErrorsOf(ends), "");
  EXPECT_THAT(ends[0].outcome->matched.rows, ElementsAre(0));
  EXPECT_THAT(ends[1].outcome->matched.rows, ElementsAre(0));
}

TEST(MatchingRunTest, WithoutAnApprovalNothingIsConnected) {
  MatchingGroup pair;
  WriteBoth(pair, {PeopleOf({1, 2}), PeopleOf({2, 3})});
  pair.Approve(1, 9);
  const auto expect = [&](const std::string& message) {
    bool connected = false;
    const OfAll<MatchEnd> ends = pair.Run([&](size_t party, auto transport) {
      if (party == 0) connected = true;
      return transport;
    });
    ASSERT_TRUE(ends[0].error);
    EXPECT_EQ(ends[0].error->code(), ErrorCode::kRefused);
    EXPECT_THAT(ends[0].error->message(), HasSubstr(message));
    EXPECT_THAT(ends[0].error->hint(), HasSubstr("match approve"));
    EXPECT_FALSE(connected);
  };
  expect("party clinic has not approved the matching");
  pair.Approve(0);
  ASSERT_EQ(ErrorsOf(pair.Run()), "");
  expect("is used up");
  std::filesystem::copy_file(pair.Approval(1), pair.Approval(0),
                             std::filesystem::copy_options::overwrite_existing);
  const OfAll<MatchEnd> ends = pair.Run();
  ASSERT_TRUE(ends[0].error);
  EXPECT_EQ(ends[0].error->code(), ErrorCode::kRefused);
}

// A holder asks again and again, each time with one person more: the other's record refuses, whatever
// was approved, and the owner's says how its list differs.
TEST(MatchingRunTest, AMatchingRepeatedWithOnePersonMoreIsToldAndRefused) {
  MatchingGroup pair;
  pair.Write(1, TableOf(PeopleOf({2, 3, 4}), 1));
  pair.Past(1).SetLimit("clinic", 2);
  pair.Write(1, TableOf(PeopleOf({2, 3, 4}), 1));
  pair.Approve(1, 9);
  std::vector<int> people = {2, 9};
  for (int run = 0; run < 3; ++run) {
    pair.Write(0, TableOf(PeopleOf(people), 0));
    pair.Approve(0);
    const OfAll<MatchEnd> ends = pair.Run();
    if (run < 2) {
      ASSERT_EQ(ErrorsOf(ends), "");
      people.push_back(3 + run);
      continue;
    }
    ExpectOwnRefusal(ends, 1, ErrorCode::kRefused,
                     "were matched 2 times with clinic in the last 365 days, and the limit is 2");
  }
  pair.Write(0, TableOf(PeopleOf(people), 0));
  const match::KeyList list = ReadKeyList(pair.file(0).parties[0], pair.Table(0).string(), ',');
  const PastMatchings past = pair.Past(0);
  ASSERT_EQ(past.all().size(), 2U);
  const ListMark mark = past.MarkOf(
      list, match::ColumnsDigest(pair.file(0).parties[0].keys, pair.file(0).parties[0].headers),
      match::PassesDigest(pair.file(0).parties[0].keys));
  const std::string text =
      PastMatchingsText(past, {{"registry", pair.fingerprints()[1], 0}}, mark, past.all()[1].at);
  EXPECT_THAT(text, AllOf(HasSubstr("  2\n"), HasSubstr("  1\n")));
  EXPECT_THAT(text, AllOf(HasSubstr("2 with registry (limit 5)"), HasSubstr("2 in all (limit 5)")));
  const std::vector<uint64_t>& own = mark.digests;
  EXPECT_EQ(own.size(), 4U);
  EXPECT_EQ(past.all()[0].list.digests.size(), 2U);
  EXPECT_EQ(past.all()[1].list.digests.size(), 3U);
  EXPECT_TRUE(std::includes(own.begin(), own.end(), past.all()[1].list.digests.begin(),
                            past.all()[1].list.digests.end()));
}

// One party stops before a write or after a read, whichever. Whenever the other came to know a number
// of matches, the record of the one that stopped has the run, its approval is used, and what failed
// has a typed reason.
TEST(MatchingRunTest, WhateverStopsWhereverTheRecordsHaveWhatWasLearnt) {
  const OfAll<People> lists = {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})};
  for (size_t stopping = 0; stopping < kMatchedHolders; ++stopping) {
    bool ended = false;
    uint64_t learnt = 0;
    for (uint64_t number = 0; !ended; ++number) {
      ASSERT_LT(number, 500U);
      MatchingGroup pair;
      WriteBoth(pair, lists);
      pair.ApproveAll();
      const OfAll<MatchEnd> ends = pair.Run([&](size_t party, auto transport) {
        return party == stopping
                   ? std::make_unique<net::StoppingTransport>(std::move(transport), number)
                   : std::move(transport);
      });
      ended = !ends[stopping].error;
      const PastMatchings own = pair.Past(stopping), others = pair.Past(1 - stopping);
      const bool told = !others.all().empty() && !others.all()[0].counts.empty();
      learnt += told ? 1 : 0;
      if (told) {
        EXPECT_EQ(own.all().size(), 1U) << "stopped at " << number;
      }
      const study::SignedApproval document =
          study::ParseApproval(ReadApprovalFile(pair.Approval(stopping), "x"), "approval");
      EXPECT_EQ(ApprovalUses(UsesPath(pair.Approval(stopping)), document.approval),
                own.all().size());
      if (ended) continue;
      // Unless its last message left before.
      if (ends[1 - stopping].error) {
        EXPECT_THAT(ends[1 - stopping].error->code(),
                    ::testing::AnyOf(ErrorCode::kPeerLost, ErrorCode::kTimeout));
      }
    }
    EXPECT_GT(learnt, 0U);
  }
}

std::unique_ptr<net::Transport> WithFault(std::unique_ptr<net::Transport> transport,
                                          net::Fault fault) {
  return std::make_unique<net::FaultTransport>(std::move(transport), std::move(fault));
}

// What party 1 sends, with `change` made to the payloads of `size` bytes.
MatchingGroup::Wrap Changing(size_t size, std::function<void(std::span<uint8_t>)> change) {
  return [=](size_t party, auto transport) -> std::unique_ptr<net::Transport> {
    if (party != 1) return transport;
    return WithFault(std::move(transport), [=](size_t, size_t, const Bytes& frame) {
      Bytes changed = frame;
      if (frame.size() == net::kFrameHeaderBytes + size)
        change(std::span<uint8_t>(changed).subspan(net::kFrameHeaderBytes));
      return std::vector<Bytes>{changed};
    });
  };
}

// The minimum is reached, and the other says that it is not, in either pass; or says neither. The
// number of matches is in the record all the same.
TEST(MatchingRunTest, AFalseBitIsAFaultAndTheNumberIsKept) {
  for (const uint8_t bit : {uint8_t{0}, uint8_t{7}}) {
    for (size_t pass = 0; pass < 2; ++pass) {
      SCOPED_TRACE(fmt::format("bit {} in pass {}", bit, pass + 1));
      MatchingGroup pair;
      WriteBoth(pair, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
      pair.ApproveAll();
      auto seen = std::make_shared<size_t>(0);
      const OfAll<MatchEnd> ends = pair.Run(Changing(1, [=](std::span<uint8_t> payload) {
        if ((*seen)++ == pass) payload[0] = bit;
      }));
      ASSERT_TRUE(ends[0].error);
      EXPECT_EQ(ends[0].error->code(), ErrorCode::kPeerFault);
      EXPECT_THAT(ends[0].error->message(),
                  HasSubstr(bit == 0 ? "fewer matches than the minimum" : "sent no bit"));
      const PastMatchings past = pair.Past(0);
      ASSERT_EQ(past.all().size(), 1U);
      EXPECT_EQ(past.all()[0].counts,
                pass == 0 ? std::vector<uint64_t>{2} : (std::vector<uint64_t>{2, 0}));
    }
  }
}

// What the other shows of its approval is not taken on trust: nothing is entered, and no list leaves.
TEST(MatchingRunTest, AnApprovalOfTheOtherThatDoesNotHoldEndsTheRun) {
  MatchingGroup pair;
  WriteBoth(pair, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  pair.Past(1).SetLimit("", 1000);
  pair.ApproveAll(1000);
  const study::SignedApproval good =
      study::ParseApproval(ReadApprovalFile(pair.Approval(1), "registry"), "approval");
  const auto expect = [&](const study::SignedApproval& shown, const std::string& message) {
    const Bytes encoded = study::EncodeApproval(shown);
    const OfAll<MatchEnd> ends =
        pair.Run(Changing(study::kApprovalBytes, [=](std::span<uint8_t> payload) {
          std::copy(encoded.begin(), encoded.end(), payload.begin());
        }));
    ASSERT_TRUE(ends[0].error);
    EXPECT_EQ(ends[0].error->code(), ErrorCode::kRefused);
    EXPECT_THAT(ends[0].error->message(), HasSubstr(message));
    EXPECT_TRUE(pair.Past(0).all().empty());
    const study::SignedApproval own =
        study::ParseApproval(ReadApprovalFile(pair.Approval(0), "clinic"), "approval");
    EXPECT_EQ(ApprovalUses(UsesPath(pair.Approval(0)), own.approval), 0U);
  };
  study::SignedApproval forged = good;
  ++forged.approval.disclosure.min_rows;  // not what was signed
  expect(forged, "registry");
  const crypto::Identity other = crypto::MakeIdentity({.name = "registry", .days = 1});
  expect(study::SignApproval(good.approval, other), "registry");
  study::Approval expired = good.approval;
  expired.approved_at -= 20'000;
  expired.valid_until = expired.approved_at + 10'000;
  expect(study::SignApproval(expired, pair.identity(1)), "expired");
  study::Approval table = good.approval;
  table.commitment[0] ^= 1;
  expect(study::SignApproval(table, pair.identity(1)),
         "party registry does not bring the table that it approved");
  study::Approval plan = good.approval;
  plan.plan_hash[0] ^= 1;
  expect(study::SignApproval(plan, pair.identity(1)), "plan");
  ASSERT_EQ(ErrorsOf(pair.Run()), "");
}

// Messages of an earlier run, a message twice, none, or two in the other order: nobody gets a result.
TEST(MatchingRunTest, ReplayedDoubledLostAndReorderedMessagesGiveNothing) {
  MatchingGroup pair;
  WriteBoth(pair, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  pair.Past(0).SetLimit("", 1000);
  pair.Past(1).SetLimit("", 1000);
  pair.ApproveAll(1000);
  std::vector<Bytes> recorded;
  ASSERT_EQ(ErrorsOf(pair.Run([&](size_t party, auto transport) -> std::unique_ptr<net::Transport> {
              if (party != 1) return transport;
              return WithFault(std::move(transport), [&](size_t, size_t, const Bytes& frame) {
                recorded.push_back(frame);
                return std::vector<Bytes>{frame};
              });
            })),
            "");
  ASSERT_GT(recorded.size(), 14U);
  enum Kind { kReplay, kDouble, kSwap, kKinds };
  for (size_t number = 0; number + 1 < recorded.size(); ++number) {
    for (int kind = 0; kind < kKinds; ++kind) {
      Bytes held;
      const OfAll<MatchEnd> ends =
          pair.Run([&](size_t party, auto transport) -> std::unique_ptr<net::Transport> {
            if (party != 1) return transport;
            return WithFault(std::move(transport), [&](size_t, size_t at, const Bytes& frame) {
              if (at == number && kind == kReplay) return std::vector<Bytes>{recorded[at]};
              if (at == number && kind == kDouble) return std::vector<Bytes>{frame, frame};
              if (at == number && kind == kSwap) {
                held = frame;
                return std::vector<Bytes>{};
              }
              if (at == number + 1 && kind == kSwap) return std::vector<Bytes>{frame, held};
              return std::vector<Bytes>{frame};
            });
          });
      // A message that is sent once more behind the last one comes to nobody.
      EXPECT_TRUE(ends[0].error) << "message " << number << ", " << kind;
    }
  }
}

// Somebody in the middle changes one byte of a message: the other end notices, unless it made another
// list, in which one key of no match may be another.
TEST(MatchingRunTest, AChangedByteIsNoticed) {
  MatchingGroup pair;
  WriteBoth(pair, {PeopleOf({1, 2, 3}), PeopleOf({2, 3, 4})});
  pair.Past(0).SetLimit("", 1000);
  pair.Past(1).SetLimit("", 1000);
  pair.ApproveAll(1000);
  std::vector<size_t> sizes;
  const auto change = [&](size_t number, size_t byte) {
    return pair.Run(
        [&, number, byte](size_t party, auto transport) -> std::unique_ptr<net::Transport> {
          if (party != 1) return transport;
          return WithFault(std::move(transport),
                           [&, number, byte](size_t, size_t at, const Bytes& frame) {
                             Bytes changed = frame;
                             const size_t size = frame.size() - net::kFrameHeaderBytes;
                             if (number == SIZE_MAX) sizes.push_back(size);
                             if (at == number && size > 0)
                               changed[net::kFrameHeaderBytes + std::min(byte, size - 1)] ^= 1;
                             return std::vector<Bytes>{changed};
                           });
        });
  };
  ASSERT_EQ(ErrorsOf(change(SIZE_MAX, 0)), "");
  const size_t list = pair.file(1).parties[1].rows * sizeof(crypto::Digest);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), list), 2);
  for (size_t number = 0; number < sizes.size(); ++number) {
    const OfAll<MatchEnd> ends = change(number, 3);
    if (sizes[number] != list) {
      EXPECT_TRUE(ends[0].error) << "message " << number;
    } else if (ends[0].outcome && ends[1].outcome) {
      EXPECT_EQ(ends[0].outcome->matched.record, ends[1].outcome->matched.record);
    }
  }
}

TEST(MatchingRunTest, ThePlanIsForTwoAndSaysWhatIsLearnt) {
  std::string three = testing::kPairFile;
  three += "[[party]]\nname = \"office\"\nrows = 5\n";
  try {
    PlanMatching(MatchingGroup::Parse(three));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(
        error.message(),
        HasSubstr("names 3 holders and no linker; without one lists are matched between two"));
  }
  const MatchingFile file = MatchingGroup::Parse(testing::kPairFile);
  const std::string text = MatchingPlanText(file, PlanMatching(file));
  EXPECT_THAT(text, AllOf(HasSubstr("padded to 80 rows"), HasSubstr("padded to 60 rows"),
                          HasSubstr("how many people are in both lists, of every pass"),
                          HasSubstr("nid = column 'number' of the table, 4 digits"),
                          HasSubstr("Every column of a key can be guessed"),
                          HasSubstr("by which pass each of these rows matched"),
                          HasSubstr("keeps back its last message"),
                          HasSubstr("up to 120 people whether they are in the list of registry"),
                          HasSubstr("The minimum binds who follows the protocol")));
}

}  // namespace
}  // namespace partita::run::matching_run_test
