// What a matching of lists will do and who learns what by it, before anything is done: the
// counterpart of the plan of a study. Every party makes it from the matching file alone; its hash is
// compared in the hello, and is what an approval signs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "match/linked_join.h"
#include "match/two_party_join.h"
#include "match/two_party_spine.h"
#include "privacy/statement.h"
#include "run/matching/matching_file.h"
#include "study/approval/approval.h"

namespace partita::run {

// Of lists that are matched without a linker.
inline constexpr size_t kMatchedHolders = 2;

inline constexpr char kLinkPhase[] = "link";
inline constexpr char kComparePhase[] = "compare";
inline constexpr char kSpinePhase[] = "positions";

// Payload that one party sends to another.
struct MatchingTraffic {
  uint64_t messages = 0, bytes = 0;
};

// Of the channel.
struct MatchingPhase {
  std::string name;
  std::vector<uint64_t> rounds;                     // by party, how its depth grows
  std::vector<std::vector<MatchingTraffic>> sends;  // from each party to each

  uint64_t LongestRounds() const;
  uint64_t BytesOf(size_t party) const;  // to all others
};

// Parties in the order of MatchingFile::Names.
struct MatchingPlan {
  std::string unicode;                // version by which texts are folded
  std::vector<crypto::Digest> rules;  // by pass (match::RulesDigest)
  // Of a matching that reaches its minimum; of level hidden without a linker, where messages are
  // shorter by 32 bytes a match, no longer one.
  std::vector<MatchingPhase> phases;
  std::vector<std::vector<std::string>> learns;  // by party, clauses
  std::vector<std::string> not_prevented;        // whole sentences
  std::optional<privacy::Statement> privacy;     // of the number of matches with noise
};

// "surname, born".
std::string PassName(const MatchingParty& party, size_t pass);

// "surname = column 'nachname' of the table, text, marks dropped", by column of the key.
std::vector<std::string> KeyColumnTexts(const MatchingParty& party);

// Throws kBadInput for more than two holders without a linker, and for what level hidden has with one
// only.
MatchingPlan PlanMatching(const MatchingFile& file);
std::string MatchingPlanText(const MatchingFile& file, const MatchingPlan& plan);

// Without a linker: the first pass; later ones have no minimum of their own.
match::TwoPartyJoinTask JoinTaskOf(const MatchingFile& file, size_t party);
// Level hidden without a linker; with noise, with the pools of count_noise.h in the lists.
match::TwoPartySpineTask SpineTaskOf(const MatchingFile& file, size_t party);
// With one: all passes.
match::LinkedJoinTask LinkTaskOf(const MatchingFile& file);

// What every approval of the matching has to say. fingerprints: of the certificates, by party.
study::ApprovalTerms TermsOfMatching(const MatchingFile& file, const MatchingPlan& plan,
                                     std::span<const std::string> fingerprints);

}  // namespace partita::run
