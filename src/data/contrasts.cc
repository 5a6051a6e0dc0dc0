#include "data/contrasts.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/error.h"

namespace partita::data {

namespace {

// A level as the part of a column's name: every character that cannot stand there becomes '_'.
std::string NamePart(const std::string& level) {
  std::string part;
  for (char c : level) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;  // within one character
    if (continues) continue;
    part += letter || (c >= '0' && c <= '9') || c == '.' || c == '_' ? c : '_';
  }
  return part;
}

std::vector<ContrastColumn> TreatmentColumns(const ColumnSchema& factor) {
  const std::string& reference = factor.reference.empty() ? factor.levels[0] : factor.reference;
  std::vector<ContrastColumn> columns;
  for (size_t level = 0; level < factor.levels.size(); ++level) {
    if (factor.levels[level] == reference) continue;
    ContrastColumn column{"." + NamePart(factor.levels[level]), {}, factor.levels[level]};
    column.values.assign(factor.levels.size(), 0);
    column.values[level] = 1;
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<ContrastColumn> SumColumns(const ColumnSchema& factor) {
  std::vector<ContrastColumn> columns;
  for (size_t level = 0; level + 1 < factor.levels.size(); ++level) {
    ContrastColumn column{"." + NamePart(factor.levels[level]), {}, {}};
    column.values.assign(factor.levels.size(), 0);
    column.values[level] = 1;
    column.values.back() = -1;
    columns.push_back(std::move(column));
  }
  return columns;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Orthonormal polynomials of degree 1 to k - 1 in the level's number, each made from the one before
// by a multiplication with it and orthogonalisation (Arnoldi), twice for accuracy.
std::vector<ContrastColumn> PolynomialColumns(const ColumnSchema& factor) {
  const size_t k = factor.levels.size();
  if (k > kMaxPolynomialLevels) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("'{}' has {} levels, and polynomial contrasts go up to {}", factor.name,
                            k, kMaxPolynomialLevels),
                "write contrasts = \"scores\" or contrasts = \"treatment\"");
  }
  std::vector<std::vector<double>> basis = {
      std::vector<double>(k, 1 / std::sqrt(static_cast<double>(k)))};
  const double middle = (static_cast<double>(k) - 1) / 2;
  std::vector<ContrastColumn> columns;
  for (size_t degree = 1; degree < k; ++degree) {
    std::vector<double> next = basis.back();
    for (size_t i = 0; i < k; ++i) next[i] *= static_cast<double>(i) - middle;
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<double>& other : basis) {
        const double projection = Dot(next, other);
        for (size_t i = 0; i < k; ++i) next[i] -= projection * other[i];
      }
    }
    const double norm = std::sqrt(Dot(next, next));
    for (double& value : next) value /= norm;
    const std::string suffix =
        degree <= 3 ? std::string(1, "LQC"[degree - 1]) : std::to_string(degree);
    columns.push_back({"." + suffix, next, {}});
    basis.push_back(std::move(next));
  }
  return columns;
}

}  // namespace

std::vector<ContrastColumn> ContrastColumns(const ColumnSchema& factor) {
  if (factor.levels.size() < 2) {
    throw Error(ErrorCode::kBadInput, fmt::format("'{}' has fewer than two levels", factor.name),
                "list every level that may occur");
  }
  switch (factor.contrasts) {
    case Contrasts::kTreatment:
      return TreatmentColumns(factor);
    case Contrasts::kSum:
      return SumColumns(factor);
    case Contrasts::kPolynomial:
      return PolynomialColumns(factor);
    case Contrasts::kScores: {
      ContrastColumn scores{"", std::vector<double>(factor.levels.size()), {}};
      std::iota(scores.values.begin(), scores.values.end(), 1.0);
      return {scores};
    }
  }
  throw Error(ErrorCode::kInternal, "unknown contrasts");
}

}  // namespace partita::data
