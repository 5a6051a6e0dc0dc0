// The numeric columns that analyses compute with, derived by each owner from its own cells with
// constants that are public in the study file: numbers as they are, contrasts of factors, and
// transforms. Nothing here is estimated from data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/schema.h"
#include "data/table.h"

namespace partita::data {

// In the order of the columns' names in study files: "log", "log1p", "sqrt", "scale", "cut",
// "poly", "ns", "product".
enum class TransformKind { kLog, kLog1p, kSqrt, kScale, kCut, kPoly, kNs, kProduct };

// One [[derived]] variable.
struct DerivedVariable {
  std::string name;
  std::string from;  // a numeric, integer or date variable of the dictionary
  std::string with;  // kProduct: another one, or the same; whoever holds `from` holds it too
  TransformKind kind = TransformKind::kScale;
  double centre = 0, scale = 1;  // kScale: (x - centre) / scale; kPoly: powers of that; scale > 0
  int degree = 1;                // kPoly: columns NAME.1 .. NAME.degree
  std::vector<double> points;    // kCut: inner cut points, ascending; intervals (a, b]
  std::vector<std::string> labels;  // kCut: one per interval; the result is a factor
  std::string reference;            // kCut: one of the labels; empty: the first
  std::vector<double> knots;  // kNs: inner knots, as splines::ns(x, knots =, Boundary.knots =)
  double boundary_lower = 0, boundary_upper = 1;  // kNs
  bool operator==(const DerivedVariable&) const = default;
};

inline constexpr int kMaxPolyDegree = 10;
inline constexpr size_t kMaxSplineKnots = 50;

std::string_view TransformName(TransformKind kind);

// A numeric column of an analysis. Bounds follow from the source's bounds and the constants.
struct DesignColumn {
  ColumnSchema schema;  // kNumeric or kInteger, with bounds
  std::string source;   // the variable of the dictionary whose holder computes it
  // Which factor level this 0/1 column stands for; empty for anything else.
  std::string factor, level;
  std::string with = {};  // of a product the other variable, of the same holder; else empty
};

// The variables of the dictionary that a column is computed from.
std::vector<std::string> SourcesOf(const DesignColumn& column);

// Every column that a model can name, in the order of the dictionary and then of `derived`:
//   numeric, integer   NAME
//   date               NAME, days since 1970-01-01 (kInteger)
//   factor, ordered    treatment contrasts: NAME.LEVEL for each level but the reference, 0 or 1;
//                      sum: NAME.LEVEL for each level but the last, -1, 0 or 1;
//                      polynomial: NAME.L, .Q, .C, .4, .5 .. as R's contr.poly; scores: NAME, 1..k;
//                      characters of a level that cannot stand in a name become '_'
//   survival           none
//   derived            NAME; NAME.1 .. for kPoly and kNs; the treatment contrasts of a kCut
// Throws kBadInput when two columns, or a column and another variable, get one name, or a transform
// does not fit its source's bounds (log of a number that may be 0, a knot out of bounds).
std::vector<DesignColumn> DesignColumns(const Schema& dictionary,
                                        std::span<const DerivedVariable> derived);

// The columns of one variable, and of one derived variable; the names are not compared with others.
// Throw kBadInput as above.
std::vector<DesignColumn> ColumnsOf(const ColumnSchema& variable);
std::vector<DesignColumn> ColumnsOf(const DerivedVariable& derived, const Schema& dictionary);

// The dictionary with one more factor for every kCut.
Schema WithDerivedFactors(const Schema& dictionary, std::span<const DerivedVariable> derived);

// Appends to an owner's table every design column whose source is in it and that is not there
// already (kNumeric columns, NaN where the source is missing), and the factors of kCut. Scores are
// written into the numbers of their ordered variable. The table must have been found clean
// (RequireClean): then every value is within the column's bounds, as the bounds enclose the image
// of the source's interval; only the last bit of rounding is clamped. Cost: 8 bytes per row and
// column. A factor of k levels has k - 1 columns, so name what is needed.
void AddDesignColumns(Table& table, const Schema& dictionary,
                      std::span<const DerivedVariable> derived);
// The same for those columns that are among `names`, and all factors of kCut.
void AddDesignColumns(Table& table, const Schema& dictionary,
                      std::span<const DerivedVariable> derived, std::span<const std::string> names);

}  // namespace partita::data
