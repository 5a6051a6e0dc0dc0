// Tables of people for matchings by a linker, their join in the clear, and what goes wrong on the way.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/net/fault_transport.h"
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

}  // namespace partita::linked_people
