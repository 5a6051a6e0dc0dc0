// The path of trust: whose word a study rests on.
//
// A party that is known only through an introducer may be the introducer itself, under a second key.
// So it counts as one with it, and whoever it introduced in turn, too. One that several introduced with
// the same keys would take all of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "node/parties/party_list.h"

namespace partita::node {

// The parties of the list that `party` could be, itself first, then in the order of their names: those
// to which no path of introductions leads from another one whose digits were compared here. Parties that
// introduce each other are not independent of who introduced the first of them.
std::vector<std::string> OneWith(const PartyList& list, std::string_view party);

// Whether the parties named, if they put together what they see, could read a table of somebody else
// in the study. More parties never see less. What an engine says of itself: of n parties with
// threshold t any t + 1, with a dealer the dealer and anybody who computes.
using CouldRead = std::function<bool(const std::vector<std::string>& together)>;
CouldRead ReadByMoreThan(size_t threshold);

struct IntroducerReach {
  std::string introducer;
  std::vector<std::string> as_one;  // parties of the study that it could be, in the order of names

  bool operator==(const IntroducerReach&) const = default;
};

// Introducers that, together with those known only through them, could read a table of the study of
// `parties` (names, the owner of the list among them or not), though they could not by themselves.
// By name; of two with the same reach, both. A study with any is shown with ReachText first, and no
// policy signs it.
std::vector<IntroducerReach> ReachOfIntroducers(const PartyList& list,
                                                const std::vector<std::string>& parties,
                                                const CouldRead& could_read);
// "north could read your table here: east and west are known only because north introduced them".
std::string ReachText(const IntroducerReach& reach);

}  // namespace partita::node
