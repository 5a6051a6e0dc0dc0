// The columns of a party's table that a study reads, by their names in the header.
#pragma once

#include <string>
#include <vector>

#include "run/method/study.h"

namespace partita::run {

// Each once, in the dictionary's order; without those that rows are matched by.
std::vector<std::string> TableColumns(const Study& study, size_t party);

}  // namespace partita::run
