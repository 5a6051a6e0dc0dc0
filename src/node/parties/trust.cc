#include "node/parties/trust.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::node {
namespace {

bool IsAmong(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> OneWith(const PartyList& list, std::string_view party) {
  // Who stands apart: a path of introductions leads there that does not come by `party`.
  std::vector<std::string> apart;
  for (const ListedParty& other : list.parties) {
    if (other.known_by == KnownBy::kDigits && other.name != party && other.revoked_at == 0) {
      apart.push_back(other.name);
    }
  }
  const auto is_apart = [&](const std::string& name) { return IsAmong(apart, name); };
  for (size_t before = 0; before != apart.size();) {
    before = apart.size();
    for (const ListedParty& other : list.parties) {
      if (other.known_by != KnownBy::kIntroduction || other.name == party || is_apart(other.name)) {
        continue;
      }
      if (std::any_of(other.introducers.begin(), other.introducers.end(), is_apart)) {
        apart.push_back(other.name);
      }
    }
  }
  std::vector<std::string> one = {std::string(party)};
  for (const ListedParty& other : list.parties) {
    if (other.known_by == KnownBy::kIntroduction && other.name != party && !is_apart(other.name)) {
      one.push_back(other.name);
    }
  }
  std::sort(one.begin() + 1, one.end());
  return one;
}

CouldRead ReadByMoreThan(size_t threshold) {
  return
      [threshold](const std::vector<std::string>& together) { return together.size() > threshold; };
}

std::vector<IntroducerReach> ReachOfIntroducers(const PartyList& list,
                                                const std::vector<std::string>& parties,
                                                const CouldRead& could_read) {
  std::vector<std::string> introducers;
  for (const ListedParty& party : list.parties) {
    introducers.insert(introducers.end(), party.introducers.begin(), party.introducers.end());
  }
  std::sort(introducers.begin(), introducers.end());
  introducers.erase(std::unique(introducers.begin(), introducers.end()), introducers.end());

  std::vector<IntroducerReach> found;
  for (const std::string& introducer : introducers) {
    IntroducerReach reach;
    reach.introducer = introducer;
    std::vector<std::string> alone;
    for (const std::string& name : OneWith(list, introducer)) {
      if (!IsAmong(parties, name)) continue;
      reach.as_one.push_back(name);
      if (name == introducer) alone.push_back(name);
    }
    std::sort(reach.as_one.begin(), reach.as_one.end());
    if (reach.as_one != alone && could_read(reach.as_one) && !could_read(alone)) {
      found.push_back(std::move(reach));
    }
  }
  return found;
}

std::string ReachText(const IntroducerReach& reach) {
  std::string names;
  size_t count = 0;
  std::vector<std::string> others = reach.as_one;
  std::erase(others, reach.introducer);
  for (const std::string& name : others) {
    ++count;
    names += count == 1 ? "" : count == others.size() ? " and " : ", ";
    names += name;
  }
  return fmt::format("{} could read your table here: {} {} known only because {} introduced {}",
                     reach.introducer, names, count == 1 ? "is" : "are", reach.introducer,
                     count == 1 ? "it" : "them");
}

}  // namespace partita::node
