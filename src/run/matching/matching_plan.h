// What a matching of two lists will do and who learns what by it, before anything is done: the
// counterpart of the plan of a study. Every party makes it from the matching file alone; its hash is
// compared in the hello, and is what an approval signs.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "match/two_party_join.h"
#include "run/matching/matching_file.h"
#include "study/approval/approval.h"

namespace partita::run {

inline constexpr size_t kMatchedHolders = 2;

// Of the channel. bytes: payload that each of the two sends.
struct MatchingPhase {
  std::string name;
  uint64_t rounds = 0, messages = 0;  // messages: of each
  std::array<uint64_t, kMatchedHolders> bytes{};
};

struct MatchingPlan {
  std::string unicode;                           // version by which texts are folded
  std::vector<crypto::Digest> rules;             // by pass (match::RulesDigest)
  std::vector<MatchingPhase> phases;             // of a matching that reaches its minimum
  std::vector<std::vector<std::string>> learns;  // by party, clauses
  std::vector<std::string> not_prevented;        // whole sentences
};

// "surname, born".
std::string PassName(const MatchingParty& party, size_t pass);

// "surname = column 'nachname' of the table, text, marks dropped", by column of the key.
std::vector<std::string> KeyColumnTexts(const MatchingParty& party);

// Throws kBadInput for more than two parties.
MatchingPlan PlanMatching(const MatchingFile& file);
std::string MatchingPlanText(const MatchingFile& file, const MatchingPlan& plan);

// The first pass; later ones have no minimum of their own.
match::TwoPartyJoinTask JoinTaskOf(const MatchingFile& file, size_t party);

// What every approval of the matching has to say. fingerprints: of the certificates, by party.
study::ApprovalTerms TermsOfMatching(const MatchingFile& file, const MatchingPlan& plan,
                                     std::span<const std::string> fingerprints);

}  // namespace partita::run
