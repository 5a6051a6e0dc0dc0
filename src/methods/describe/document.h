// The table for people and programs: as it can stand in a paper, on terminals and pages and as
// table1.csv; the numbers as JSON.
#pragma once

#include <string>

#include "methods/describe/result.h"
#include "study/plan/document.h"

namespace partita::methods::describe {

inline constexpr char kTableFile[] = "table1.csv";

study::Document TableDocument(const std::string& title, const Spec& spec,
                              const DescribedTable& table, uint64_t min_cell);

}  // namespace partita::methods::describe
