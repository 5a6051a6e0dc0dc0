// The files of `partita regression`: the opened sum as JSON, and results.
#pragma once

#include <string>

#include "sums/file/collection_file.h"
#include "sums/regression/fit.h"
#include "sums/regression/result.h"

namespace partita::cli {

// What `partita aggregate` writes of a sum, too: "collection", "study" (the hash), "epoch",
// "clients" and "grid", the integers that were opened, as decimal texts, for doubles do not hold
// 128 bits.
std::string SumJson(const sums::CollectionFile& collection,
                    const sums::regression::ReleasedSum& sum);

// What SumJson and `partita aggregate` wrote. Throws kBadInput, with the file's name, for anything
// else: another study hash, a number of clients that the collection does not allow, entries that
// are no integers or not as many as the regression has.
sums::regression::ReleasedSum ReadSumFile(const std::string& path,
                                          const sums::CollectionFile& collection);

// The data of `regression fit` and `simulate`, as JSON text.
std::string ResultJson(const sums::regression::RegressionResult& result);

}  // namespace partita::cli
