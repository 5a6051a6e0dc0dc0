// An envelope: a steward's signed approval in advance of every study that keeps within it, for a
// number of runs and until a date.
//
//   partita_envelope = 1
//   name = "asthma"
//   methods = ["mle"]                       # every list: what a study may use, nothing else
//   protocols = ["pooled-moments"]
//   functions = ["sem", "cfa"]
//   engines = ["dealer"]
//   receivers = ["north"]
//   releases = ["moments"]
//   variables = ["age", "fev1", "school"]
//   max_results = 10
//   valid_until = "2026-12-31"
//   min_cell = 10                           # may be left out, as in [disclosure]
//   min_rows = 50
//   refuse_small_samples = true
//
// The text above is what the steward writes (strict, kBadInput with file, line and column); the
// signed document is JSON like an approval. It stays with the steward: peers see an ordinary
// approval of each study, which names the envelope's digest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "study/approval/approval.h"
#include "study/file/study_file.h"

namespace partita::study {

inline constexpr uint64_t kMaxEnvelopeResults = 10'000;
inline constexpr size_t kMaxEnvelopeNameBytes = 64;  // of what a list names

// What a study may use, and nothing else.
struct AdmittedLists {
  std::vector<std::string> methods, protocols, functions, engines, receivers, releases, variables;
};

struct Envelope : AdmittedLists {
  std::string party;
  std::string name;          // as a study's
  uint64_t max_results = 0;  // runs, whether they end well or not
  DisclosureSpec disclosure;
  int64_t approved_at = 0, valid_until = 0;  // utc_time.h
  std::string software_version;
};

struct SignedEnvelope {
  Envelope envelope;
  Signature signature;
};

// The steward's text; party, approved_at and software_version stay empty. file: for messages;
// methods: the names of all that there are. Throws kBadInput.
Envelope ParseEnvelopeFile(const std::string& text, const std::string& file,
                           const std::vector<std::string>& methods);

SignedEnvelope SignEnvelope(Envelope envelope, const crypto::Identity& identity);
// SHA-256 over the signed fields.
Digest EnvelopeDigest(const Envelope& envelope);

// As RenderApproval and ParseApproval.
std::string RenderEnvelope(const SignedEnvelope& document);
SignedEnvelope ParseEnvelope(std::string_view text, std::string_view file);
// Whether a document says that it is an envelope rather than an approval.
bool IsEnvelope(std::string_view text);

// As RequireSigned.
void RequireSigned(const SignedEnvelope& document, const std::string& party,
                   const std::string& fingerprint);
// Throws kRefused unless the envelope is the party's and holds at `now`.
void RequireValid(const Envelope& envelope, const std::string& party, int64_t now);

// Throws kRefused naming all that lies outside unless every analysis's method, protocol and
// function, the engine, the receiver, all releases, and every variable of the dictionary (with the
// columns that survival variables read), of conditions, groups, weights, clusters and derived
// variables is listed. Epsilon, delta and noise are not compared: the ledger limits them.
void RequireInside(const StudyFile& study, const Envelope& envelope);

}  // namespace partita::study
