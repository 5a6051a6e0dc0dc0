// Tables of people for matchings, their join in the clear, and what goes wrong on the way.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/net/fault_transport.h"
#include "tests/net/stopping_transport.h"
#include "tests/run/matching/matching_group.h"

namespace partita::linked_people {

using testing::MatchEnd;
using testing::MatchingGroup;
using testing::OfAll;

inline constexpr const char* kHolderNames[] = {"clinic", "registry", "office", "school", "insurer"};

// The linker is the first party of the file: in the channel it is the last. more: lines of the file.
inline std::string LinkedFile(size_t holders, const std::string& more) {
  std::string text = "matching = 1\nname = \"cohort\"\nkeys = [[\"nid\"], [\"name\"]]\n" + more +
                     "[[column]]\nname = \"nid\"\nrule = \"digits\"\nlength = 4\n"
                     "[[column]]\nname = \"name\"\nrule = \"text\"\n"
                     "[[party]]\nname = \"trust\"\nrole = \"linker\"\n";
  for (size_t holder = 0; holder < holders; ++holder) {
    text += fmt::format("[[party]]\nname = \"{}\"\nrows = {}\n", kHolderNames[holder],
                        50 + 10 * holder);
  }
  return text;
}

// A number or -1, and a name.
struct Person {
  int nid = -1;
  std::string name;
};
using People = std::vector<Person>;

inline std::string TableOf(const People& people) {
  std::string csv = "nid,name,x\n";
  for (const Person& person : people)
    csv += fmt::format("{},{},7\n", person.nid < 0 ? "" : fmt::format("{:04}", person.nid),
                       person.name);
  return csv;
}

inline People PeopleOf(const std::vector<int>& numbers) {
  People people;
  for (const int number : numbers) people.push_back({number, fmt::format("p{}", number)});
  return people;
}

// Numbers and names are each unique in a list, and mostly belong together.
inline People RandomPeople(size_t count, std::mt19937_64& random) {
  std::vector<int> numbers(70);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), random);
  std::vector<int> names = numbers;
  for (int swap = 0; swap < 6; ++swap) std::swap(names[random() % 70], names[random() % 70]);
  People people;
  for (size_t i = 0; i < count; ++i) {
    people.push_back({random() % 5 == 0 ? -1 : numbers[i],
                      random() % 9 == 0 ? "" : fmt::format("p{}", names[i])});
  }
  return people;
}

using Group = std::vector<uint32_t>;  // a row of each holder

// What the passes find, in the clear.
inline std::set<Group> JoinOf(const OfAll<People>& lists) {
  std::set<Group> groups;
  OfAll<std::set<uint32_t>> used(lists.size());
  for (int pass = 0; pass < 2; ++pass) {
    std::map<std::string, std::map<size_t, uint32_t>> by_key;
    for (size_t holder = 0; holder < lists.size(); ++holder) {
      for (uint32_t row = 0; row < lists[holder].size(); ++row) {
        const Person& person = lists[holder][row];
        const std::string key = pass == 1        ? person.name
                                : person.nid < 0 ? ""
                                                 : std::to_string(person.nid);
        if (!key.empty() && !used[holder].contains(row)) by_key[key][holder] = row;
      }
    }
    for (const auto& [key, rows] : by_key) {
      if (rows.size() < lists.size()) continue;
      Group group;
      for (const auto& [holder, row] : rows) {
        group.push_back(row);
        used[holder].insert(row);
      }
      groups.insert(group);
    }
  }
  return groups;
}

inline void WriteAll(MatchingGroup& group, const OfAll<People>& lists) {
  for (size_t holder = 0; holder < lists.size(); ++holder)
    group.Write(holder, TableOf(lists[holder]));
}

inline std::string ErrorsOf(const OfAll<MatchEnd>& ends) {
  std::string text;
  for (const MatchEnd& end : ends) text += end.error ? end.error->message() + "\n" : "";
  return text;
}

// Of a run that ended well at all.
inline void ExpectAsPlanned(MatchingGroup& group, const OfAll<MatchEnd>& ends) {
  for (size_t party = 0; party < ends.size(); ++party) {
    const std::vector<net::PhaseTraffic>& counted = ends[party].outcome->traffic;
    const std::vector<run::MatchingPhase>& planned = group.plan(party).phases;
    ASSERT_EQ(counted.size(), planned.size());
    for (size_t i = 0; i < counted.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} at {}", planned[i].name, group.Name(party)));
      EXPECT_EQ(counted[i].phase, planned[i].name);
      EXPECT_EQ(counted[i].rounds, planned[i].rounds[party]);
      for (size_t peer = 0; peer < ends.size(); ++peer) {
        EXPECT_EQ(counted[i].links[peer].messages_sent, planned[i].sends[party][peer].messages);
        EXPECT_EQ(counted[i].links[peer].bytes_sent, planned[i].sends[party][peer].bytes);
      }
    }
  }
}

// What one party sends to others, with a fault in one message to `to`.
inline MatchingGroup::Wrap With(size_t faulty, net::Fault fault) {
  return [=](size_t party, auto transport) -> std::unique_ptr<net::Transport> {
    if (party != faulty) return transport;
    return std::make_unique<net::FaultTransport>(std::move(transport), fault);
  };
}

// Signs of life have none, and no order; how many there are depends on the machine.
inline bool HasContent(const Bytes& frame) { return frame.size() > net::kFrameHeaderBytes; }

// Rows that stand at one position at all holders.
inline std::set<Group> JoinedAt(const OfAll<MatchEnd>& ends, size_t holders) {
  std::set<Group> found;
  for (size_t i = 0; i < ends[0].outcome->matched.rows.size(); ++i) {
    Group group;
    for (size_t holder = 0; holder < holders; ++holder) {
      const uint32_t row = ends[holder].outcome->matched.rows.at(i);
      if (row != match::kNoRow) group.push_back(row);
    }
    if (group.size() == holders) found.insert(group);
  }
  return found;
}

// Runs the matching with `stopping` stopped before its first write, after it, ... until it ends well: every
// other that fails has a typed reason, and nobody comes to a number of matches without an entry in all
// records. Returns in how many runs somebody came to one. prepare, look: before and after each run.
using OfGroup = std::function<void(MatchingGroup& group)>;
using OfRun = std::function<void(MatchingGroup& group, const OfAll<MatchEnd>& ends)>;
inline uint64_t StopEverywhere(const std::string& file, const OfAll<People>& lists, size_t stopping,
                               const OfGroup& prepare = nullptr, const OfRun& look = nullptr,
                               uint64_t step = 1) {
  bool ended = false;
  uint64_t learnt = 0;
  for (uint64_t number = 0; !ended; number += step) {
    SCOPED_TRACE(fmt::format("stopped at {}", number));
    if (number >= 500) {
      ADD_FAILURE() << "never ends";
      return learnt;
    }
    MatchingGroup group(file);
    WriteAll(group, lists);
    group.ApproveAll();
    if (prepare) prepare(group);
    const OfAll<MatchEnd> ends = group.Run([&](size_t party, auto transport) {
      return party == stopping
                 ? std::make_unique<net::StoppingTransport>(std::move(transport), number)
                 : std::move(transport);
    });
    ended = !ends[stopping].error;
    // A linker knows the numbers once it ends well.
    bool told = ends.size() > group.num_holders() && ends.back().outcome.has_value();
    for (size_t holder = 0; holder < group.num_holders(); ++holder) {
      const run::PastMatchings past = group.Past(holder);
      told = told || (!past.all().empty() && !past.all()[0].counts.empty());
    }
    learnt += told ? 1 : 0;
    for (size_t holder = 0; holder < group.num_holders() && told; ++holder)
      EXPECT_EQ(group.Past(holder).all().size(), 1U);
    for (size_t party = 0; party < ends.size(); ++party) {
      if (party == stopping || !ends[party].error) continue;
      EXPECT_THAT(ends[party].error->code(),
                  ::testing::AnyOf(ErrorCode::kPeerLost, ErrorCode::kTimeout));
    }
    if (look) look(group, ends);
  }
  return learnt;
}

// Runs the matching with one byte of one message from `from` to `to` changed, message after message, as
// long as there is one that has bytes: `byte`, or its last. size: of its payload.
using OfChange = std::function<void(const OfAll<MatchEnd>& ends, size_t size, size_t number)>;
inline void ChangeByteEverywhere(MatchingGroup& group, size_t from, size_t to, size_t byte,
                                 const OfChange& look) {
  for (size_t number = 0;; ++number) {
    size_t size = SIZE_MAX;
    const OfAll<MatchEnd> ends =
        group.Run(With(from, [&](size_t peer, size_t at, const Bytes& frame) {
          Bytes changed = frame;
          if (peer == to && at == number) {
            size = frame.size() - net::kFrameHeaderBytes;
            if (size > 0) changed[net::kFrameHeaderBytes + std::min(byte, size - 1)] ^= 1;
          }
          return std::vector<Bytes>{changed};
        }));
    if (size == SIZE_MAX) return;
    SCOPED_TRACE(fmt::format("from {} to {}, message {}", from, to, number));
    if (size > 0) look(ends, size, number);
  }
}

// Messages of an earlier run, a message twice, two in the other order.
enum class Disorder { kReplay, kDouble, kSwap };

// Runs the matching with each of these in one message from `from` to `to`, message after message: who gets
// it has no result. Its approvals are for as many runs.
inline void DisorderEverywhere(MatchingGroup& group, size_t from, size_t to,
                               const std::vector<Disorder>& kinds) {
  group.SetTimeout(std::chrono::seconds(20));
  std::vector<Bytes> recorded;
  const auto record = [&](size_t peer, size_t, const Bytes& frame) {
    if (peer == to && HasContent(frame)) recorded.push_back(frame);
    return std::vector<Bytes>{frame};
  };
  ASSERT_EQ(ErrorsOf(group.Run(With(from, record))), "");
  ASSERT_GE(recorded.size(), 4U);
  group.SetTimeout(std::chrono::milliseconds(100));  // some wait for what never comes
  for (size_t number = 0; number + 1 < recorded.size(); ++number) {
    for (const Disorder kind : kinds) {
      Bytes held;
      size_t sent = 0;
      const OfAll<MatchEnd> ends =
          group.Run(With(from, [&](size_t peer, size_t, const Bytes& frame) {
            if (peer != to || !HasContent(frame)) return std::vector<Bytes>{frame};
            const size_t at = sent++;
            if (at == number && kind == Disorder::kReplay) return std::vector<Bytes>{recorded[at]};
            if (at == number && kind == Disorder::kDouble) return std::vector<Bytes>{frame, frame};
            if (at == number && kind == Disorder::kSwap) {
              held = frame;
              return std::vector<Bytes>{};
            }
            if (!held.empty()) return std::vector<Bytes>{frame, std::exchange(held, {})};
            return std::vector<Bytes>{frame};
          }));
      EXPECT_TRUE(ends[to].error) << "from " << from << " to " << to << ", message " << number
                                  << ", " << static_cast<int>(kind);
    }
  }
}

// Lines of a page as one.
inline std::string Flat(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (text.find("  ") != std::string::npos) text.erase(text.find("  "), 1);
  return text;
}

}  // namespace partita::linked_people
