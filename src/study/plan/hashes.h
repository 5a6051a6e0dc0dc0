// The hashes that bind a run: what the parties compare in the hello and what an approval signs.
//
// Every hash is SHA-256 over a domain name and length-prefixed fields (base/bytes.h), so that no
// two different inputs have the same encoding. `AgreementHash` is known before anybody talks;
// `StudyHash` adds the snapshot commitments that the hello carries.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crypto/hash.h"
#include "study/plan/plan.h"

namespace partita::study {

using crypto::Digest;

// What a hash says about one party, in roster order.
struct PartyIdentity {
  std::string name;
  Digest schema{};          // of its table's schema; zero for a party that holds nothing
  std::string fingerprint;  // of its certificate, from the roster; empty where there is no TLS
  // Of the certificate whose key approves for it, where the roster names one; empty: the one above.
  std::string steward = {};
};

struct StudyIdentity {
  uint32_t wire_version = 0;
  std::string method;
  uint32_t method_version = 0;
  std::string study_text;  // the exact bytes of the study file
  std::vector<PartyIdentity> parties;
};

// Without the commitments: compared in the hello. Of a roster without stewards the same as before there
// were any.
Digest AgreementHash(const StudyIdentity& identity);

// With one snapshot commitment per party in roster order (zero for a party that holds nothing).
// Throws kInternal if their number differs from the number of parties.
Digest StudyHash(const StudyIdentity& identity, std::span<const Digest> commitments);

// Over the plan's normative part.
Digest PlanHash(const Plan& plan);

}  // namespace partita::study
