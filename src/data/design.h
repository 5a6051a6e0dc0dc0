// The numeric columns that analyses compute with, derived by each owner from its own cells with
// constants that are public in the study file: numbers as they are, contrasts of factors, and
// transforms. Nothing here is estimated from data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/schema.h"
#include "data/table.h"

namespace partita::data {

enum class TransformKind { kLog, kLog1p, kSqrt, kScale, kCut, kPoly, kNs };

// One [[derived]] variable.
struct DerivedVariable {
  std::string name;
  std::string from;  // a numeric, integer or date variable of the dictionary
  TransformKind kind = TransformKind::kScale;
  double centre = 0, scale = 1;     // kScale: (x - centre) / scale; kPoly: powers of that
  int degree = 1;                   // kPoly: columns NAME.1 .. NAME.degree
  std::vector<double> points;       // kCut: inner cut points, ascending; intervals (a, b]
  std::vector<std::string> labels;  // kCut: one per interval; the result is a factor
  std::vector<double> knots;  // kNs: inner knots, as splines::ns(x, knots =, Boundary.knots =)
  double boundary_lower = 0, boundary_upper = 1;  // kNs
};

// A numeric column of an analysis. Bounds follow from the source's bounds and the constants.
struct DesignColumn {
  ColumnSchema schema;  // kNumeric or kInteger, with bounds
  std::string source;   // the variable of the dictionary whose holder computes it
  // Which factor level this 0/1 column stands for; empty for anything else.
  std::string factor, level;
};

// Every column that a model can name, in the order of the dictionary and then of `derived`:
//   numeric, integer         NAME
//   date                     NAME, days since 1970-01-01
//   factor, ordered          NAME.LEVEL for each level but the reference (treatment contrasts:
//   0/1),
//                            NAME.LEVEL for each but the last (sum: -1/0/1), NAME.L, .Q, .C, .4 ..
//                            (polynomial, R's contr.poly), NAME (scores 1..k); characters of a
//                            level that cannot stand in a name become '_'
//   survival                 none
//   derived                  NAME, or NAME.1 .. for kPoly and kNs, or the contrasts of a kCut
// Throws kBadInput when two columns get one name, or a transform does not fit its source's bounds
// (log of a number that may be 0, a knot out of bounds).
std::vector<DesignColumn> DesignColumns(const Schema& dictionary,
                                        std::span<const DerivedVariable> derived);

// The dictionary with one more factor for every kCut.
Schema WithDerivedFactors(const Schema& dictionary, std::span<const DerivedVariable> derived);

// Appends to an owner's table every design column whose source is in it and that is not there
// already (kNumeric columns, NaN where the source is missing), and the factors of kCut.
void AddDesignColumns(Table& table, const Schema& dictionary,
                      std::span<const DerivedVariable> derived);

}  // namespace partita::data
