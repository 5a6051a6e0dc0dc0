// Released moments in result.json, in files of `--moments-out`, and in those that people write
// themselves (docs/sem-commands.md):
//   {"variables": ["x", "y"], "groups": [{"label": "", "n": 100, "mean": [0, 0],
//    "covariance": [[1, 0.5], [0.5, 1]]}], "noise": null}
// with covariances of divisor n. "noise", which may be missing, is an object for moments that were
// released with noise.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// Moments with the names of what they are of.
struct NamedMoments {
  std::string analysis;  // whose moments they are; empty: of no study
  std::vector<std::string> variables;
  std::vector<std::string> labels;  // of the groups; one without groups
  ReleasedMoments moments;
};

// Throws kBadInput, saying why, for a result that has none.
NamedMoments MomentsOf(const MleResult& result);

nlohmann::ordered_json MomentsJson(const NamedMoments& moments);
// Throws what nlohmann-json throws for anything else.
NamedMoments ReadMoments(const nlohmann::ordered_json& json);

// The file of `--moments-out`: {"moments": [{"analysis": NAME, and as above}, ...]} of all results
// that have some. Throws kBadInput if none has.
std::string MomentsFileText(const std::vector<MleResult>& results);

}  // namespace partita::methods::mle
