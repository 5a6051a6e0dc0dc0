// [regression] and [[variable]] of a collection file: a linear regression on the private sum.
// Private to the collection file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/file/toml_reader.h"
#include "sums/regression/spec.h"

namespace partita::sums {

// Empty without [regression]; then [[variable]] is an error. Throws kBadInput with place and hint,
// also for what regression::DesignOf refuses.
std::optional<regression::Spec> ReadRegression(const study::TableReader& root);

// Everything in the spec that decides what a client's vector means, for the collection's hash. The
// estimator, its prior and the level are not in it: they are chosen after the sum is open.
std::string CanonicalRegression(const regression::Spec& spec);

}  // namespace partita::sums
