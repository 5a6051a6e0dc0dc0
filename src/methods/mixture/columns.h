// From the columns of a table to the features of the mixture model, and from rows of the model back
// to a table.
#pragma once

#include <string>
#include <vector>

#include "data/encoding.h"
#include "stats/mixture/rows.h"

namespace partita::methods::mixture {

// A column of the model and who holds it.
struct ModelColumn {
  data::ColumnEncoding encoding;
  size_t party = 0;  // index in the roster
};

// levels, whole and bins are categorical; indicator Bernoulli; unit Beta; standard Gaussian; count
// Poisson in units of a tenth of its range. Throws kBadInput as CheckEncoding and MakeLayout do.
stats::mixture::Layout ModelLayout(const std::vector<ModelColumn>& columns);

// The rows of those columns, all of which `table` has. Throws as data::Encode does.
stats::mixture::Rows EncodeRows(const std::vector<ModelColumn>& columns,
                                const stats::mixture::Layout& layout, const data::Table& table);
// values[f][n], as MakeRows takes them.
std::vector<std::vector<double>> EncodeValues(const std::vector<ModelColumn>& columns,
                                              const data::Table& table);

// A table of the columns' types from values of the model.
data::Table DecodeTable(const std::vector<ModelColumn>& columns,
                        const std::vector<std::vector<double>>& values,
                        crypto::RandomSource& source);

}  // namespace partita::methods::mixture
