// Multiple imputation between parties: the moments of the completed tables, opened to one receiver.
//
// Ideal function   (moments of patterns on shares) -> to all parties, how many rows have each
//                  pattern, and one bit; if that is 1, to the receiver m completed means and
//                  covariances of every group. Nothing else.
// Method           shared_patterns.h, shared_imputation.h, then one opening.
// Revealed         What ImputationReleases lists. Of variables that no row lacks the completed
//                  moments are the exact ones, m times; of the others they carry the noise of
//                  imputation, of which a party knows its own part. The mean of the m tables is
//                  near the maximum likelihood estimate from the incomplete rows.
// Cost             That of the two files, two openings to all and one to the receiver.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "methods/mle/moments/shared_moments.h"
#include "mpc/engine.h"
#include "mpc/release_gate.h"
#include "stats/sem/imputation.h"

namespace partita::methods::mle {

struct ImputationTask {
  std::string name;  // part of the release ids
  mpc::PartyIndex receiver = 0;
  std::vector<std::string> names;                // of the variables, for messages
  std::vector<size_t> variables;                 // as indices into those of the moments
  std::vector<std::pair<size_t, size_t>> pairs;  // whose covariances open, of `variables`
  std::vector<std::string> groups;               // one, maybe empty, without groups
  std::vector<std::vector<size_t>> observed;     // by pattern, indices into `variables`, ascending
  double max_rows = 0;                           // public upper bound
  stats::ImputationOptions options;
};

std::vector<mpc::Release> ImputationReleases(const ImputationTask& task,
                                             const std::string& receiver_name);

// Numbers that open: counts and moments.
uint64_t NumImputedValues(const ImputationTask& task);

struct OpenedImputations {
  std::vector<std::vector<double>> counts;  // by group and pattern; at parties
  // By group and imputation, half-widths around the centres of the variables; at the receiver.
  std::vector<std::vector<stats::GroupMoments>> moments;
};

// cells: by group and, within it, pattern; f_in kSealedInputBits. random: this party's own; null at
// the dealer. Throws at all parties, after the counts are opened: kRefused, with what to do, for
// fewer rows than an imputation needs in a group, for a variable that no row of a group has or two
// that hardly any row has together, and for a pattern with missing variables and no more rows than
// observed ones; and, before anything else opens, for covariances that became singular or left the
// domain.
OpenedImputations ImputeAndOpen(mpc::Engine& engine, const ImputationTask& task,
                                const std::vector<SharedMoments>& cells,
                                crypto::RandomSource* random, Progress& progress);

}  // namespace partita::methods::mle
