// Lists of people by name and a linker that joins them, all parties as threads of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "match/linked_join.h"
#include "tests/net/parties.h"

namespace partita::match::linked_lists {

// A row's keys by pass; "": it has none.
using Row = std::vector<std::string>;
using Rows = std::vector<Row>;
using Lists = std::vector<Rows>;  // by holder

inline crypto::Digest KeyOfName(const std::string& name) { return crypto::Sha256Of(AsBytes(name)); }

inline std::vector<std::vector<KeyedRow>> PassesOf(const Rows& rows, size_t passes) {
  std::vector<std::vector<KeyedRow>> keyed(passes);
  for (uint32_t row = 0; row < rows.size(); ++row) {
    for (size_t pass = 0; pass < passes; ++pass) {
      if (rows[row][pass].empty()) continue;
      keyed[pass].push_back({row, KeyOfName(std::to_string(pass) + rows[row][pass])});
    }
  }
  return keyed;
}

inline Rows RowsOf(const std::vector<std::string>& names) {
  Rows rows;
  for (const std::string& name : names) rows.push_back({name});
  return rows;
}

inline std::vector<std::string> SubsetOf(const std::vector<std::string>& all, unsigned bits) {
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); ++i) {
    if ((bits >> i & 1U) != 0) names.push_back(all[i]);
  }
  return names;
}

struct Linked {
  std::vector<LinkedJoin> joins;  // by party, the linker last
  std::vector<std::vector<net::LinkTraffic>> traffic;
  std::vector<uint64_t> rounds;
  std::vector<std::optional<Error>> errors;
};

inline Linked Link(const Lists& lists, const LinkedJoinTask& task, uint8_t seed = 1) {
  const size_t parties = lists.size() + 1;
  Linked run;
  run.joins.resize(parties);
  run.rounds.resize(parties);
  run.traffic.assign(parties, std::vector<net::LinkTraffic>(parties));
  run.errors = net::RunChannels(net::MemoryParties(parties), [&](net::Channel& channel) {
    const size_t self = channel.self();
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(7 * seed + self));
    if (self == task.linker()) {
      run.joins[self] = LinkLists(channel, task, random);
    } else {
      run.joins[self] = JoinByLinker(channel, task, PassesOf(lists[self], task.passes),
                                     lists[self].size(), random);
    }
    run.rounds[self] = channel.depth();
    for (const net::PhaseTraffic& phase : channel.traffic()) {
      for (size_t peer = 0; peer < parties; ++peer) {
        run.traffic[self][peer].bytes_sent += phase.links[peer].bytes_sent;
        run.traffic[self][peer].messages_sent += phase.links[peer].messages_sent;
      }
    }
    CompareLinked(channel, task, run.joins[self], random);
  });
  return run;
}

}  // namespace partita::match::linked_lists
