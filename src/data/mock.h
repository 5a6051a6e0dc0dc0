// Mock tables: what every holder of a study could have, made from the schema alone.
//
// No data goes in. Columns, types, bounds, levels, blocks and counts are those of the study; keys
// are equal at all holders of a shared block, and the rows of every table are in an order of its
// own. Numbers share one common factor, and the indicators of each cluster one more, so that
// structural equation models on them converge; they mean nothing else. Integers of 50 values at
// most take each about as often, as they may be levels of a model.
//
// Deterministic: the same study, rows and seed give the same bytes (with the same mathematical
// library). The seed is for mock data only; nothing secret is ever drawn from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/csv_reader.h"
#include "data/holding.h"
#include "data/partition.h"
#include "data/table.h"

namespace partita::data {

struct MockOptions {
  uint64_t rows_per_block = 200;  // of blocks without a declared count
  uint64_t seed = 1;
  double missing_rate = 0;  // of every cell but keys, blocks and factors that name the block
  // Instead: sets of variables that are missing together; every row gets one that its block can
  // have, all of them about as often. Empty: none.
  std::vector<std::vector<std::string>> patterns = {};
  // Names of numeric variables that measure the same thing: correlated more highly with each
  // other. A variable in several counts in the first.
  std::vector<std::vector<std::string>> clusters;
  char separator = ',', decimal = '.';
};

struct MockTable {
  size_t party = 0;  // index in the roster
  std::string csv;
};

struct MockStudy {
  // All rows in the order of the blocks, all columns of the dictionary; numbers exactly as the
  // tables write them.
  Table pooled;
  std::vector<std::string> row_blocks;  // the block of each row
  std::vector<std::string> row_keys;    // by which holders of a shared block order its rows
  std::vector<MockTable> tables;        // one per holder
};

// Throws kBadInput as SchemaForParty does, and for more than 10^8 rows.
MockStudy MakeMockStudy(const Schema& dictionary, const Partition& partition,
                        const RowColumns& row_columns, const MockOptions& options);

}  // namespace partita::data
