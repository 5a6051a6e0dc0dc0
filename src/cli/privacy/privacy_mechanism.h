// Mechanisms as users write them: on the command line, as one text, or in a file.
//
//   kind               sigma, scale         sensitivity   else
//   gaussian           sigma                L2, real
//   laplace            scale                L1, real
//   discrete-gaussian  sigma                whole
//   discrete-gaussian-sum  sigma (a share)  whole         shares
//   discrete-laplace   scale                whole
//   randomised-response                                   each-epsilon
//   approximate                                           each-epsilon, each-delta
//   pmf                                                   file
// and for all of them steps (uses) and rate (of Poisson sampling). `sensitivity` is how far one row
// moves the result by being there or not (1 if not given); exchanging a row moves it by twice that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "privacy/accounting/mechanism.h"

namespace partita::cli {

// Values by key, as texts. `where` begins messages about it: "budget.toml:4:1: "; may be empty.
struct MechanismText {
  std::string kind;
  std::map<std::string, std::string> values;
  std::string where;
};

enum class MechanismKind {
  kGaussian,
  kLaplace,
  kDiscreteGaussian,
  kDiscreteGaussianSum,
  kDiscreteLaplace,
  kRandomisedResponse,
  kApproximate,
  kPmf,
};

struct MechanismSpec {
  MechanismKind kind = MechanismKind::kGaussian;
  double noise = 0;  // sigma or scale
  double sensitivity = 1;
  uint32_t shares = 1;
  privacy::EpsilonDelta each;
  std::string file;
  std::vector<double> with, without;  // kPmf: the two laws
  double rate = 1;
  uint64_t steps = 1;
  std::string where;
};

// "gaussian sigma=2 rate=100/30162 steps=500".
MechanismText SplitMechanism(const std::string& text);

// All throw kUsage that says what was wrong and what to write.
// A number, or a fraction such as 100/30162. `key` names it in the message.
double ParseNumber(const std::string& key, const std::string& text);
// A whole number, also written 1e6.
uint64_t ParseCount(const std::string& key, const std::string& text);

// Reads the file of a pmf. noise_wanted: the noise is what is looked for and must not be given.
MechanismSpec ReadMechanism(const MechanismText& text, bool noise_wanted = false);

// The accountant's event; errors of its parameters begin with `where`.
privacy::Event MakeEvent(const MechanismSpec& spec, privacy::Adjacency adjacency);

// "sigma" or "scale"; empty: the mechanism has no noise to choose.
std::string_view NoiseKey(MechanismKind kind);
// The same for the name of a mechanism; true for unknown ones, which ReadMechanism refuses.
bool HasNoise(std::string_view kind);

// One sentence with all parameters.
std::string DescribeMechanism(const MechanismSpec& spec, privacy::Adjacency adjacency);

// All kinds, for help and messages.
std::vector<std::string> MechanismKinds();
std::vector<std::string> MechanismKeys();

// A list of mechanisms with an adjacency and a delta, from a TOML file:
//   adjacency = "add-remove"; delta = 1e-5 (both optional); [[mechanism]] kind = ..., keys as
//   above.
struct CompositionFile {
  std::string adjacency;  // empty: not given
  std::string delta;
  std::vector<MechanismText> mechanisms;
};
// Throws kBadInput with file, line and column.
CompositionFile LoadCompositionFile(const std::string& file);

// p = [...], q = [...] of a TOML file.
void LoadPmfPair(const std::string& file, std::vector<double>& p, std::vector<double>& q);

}  // namespace partita::cli
