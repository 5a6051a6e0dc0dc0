// The attacks on the protocols of maximum likelihood, carried out on a sample: what parties can
// work out from what they see, compared with the truth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "papers/smle_protocols.h"

namespace partita::papers {

// What of an attack is also in the stored measurements (AddReference).
enum class AttackKind { kMoments, kNextNode, kMasks, kOther };

struct SmleAttack {
  std::string protocol, attacker, target;  // for people
  AttackKind kind = AttackKind::kOther;
  int questions = 0;
  // Moments: the rank of what was told, of all moments. Rows: those of which every cell is within
  // kRecovered standard deviations.
  Eigen::Index recovered = 0, of = 0;
  bool rows = false;
  // Moments: largest error over the largest moment, what is not determined taken as at the
  // estimates. Rows: largest root mean square error of a column, in its standard deviations.
  double error = 0;
  // The same of the stored measurement, where there is one.
  std::optional<double> reference_recovered, reference_of, reference_error;
  std::optional<int> reference_questions;
};

inline constexpr double kRecovered = 1e-3;

struct AttackOptions {
  SmleRunOptions run;
  // Rows of node 1 that are solved for have at most so many cells: it takes as many questions.
  Eigen::Index cells = 320;
};

// Of one protocol, after a fit with it. The sample is the one fitted, the setting too.
std::vector<SmleAttack> AttackProtocol(const std::string& protocol, const SmleRun& run,
                                       const SmleSample& sample, const SmleSetting& setting,
                                       const AttackOptions& options, Progress& progress);

// Fills in the stored numbers from a JSON file like secure_mle_leakage.json. model: its name there;
// empty: none. Throws kBadInput for a file that is something else.
void AddReference(const std::string& file, const std::string& model,
                  std::vector<SmleAttack>& attacks);

}  // namespace partita::papers
