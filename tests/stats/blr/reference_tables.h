// The UCI tables and the splits of tests/references/blr.json.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "stats/blr/figure2.h"
#include "tests/paths.h"

namespace partita::stats::blr {

inline Table ReadTable(const std::string& name, const std::string& file, size_t train,
                       size_t test) {
  std::ifstream in(FixturePath("tables/" + file));
  std::string line;
  std::getline(in, line);
  std::vector<double> values;
  size_t rows = 0;
  while (std::getline(in, line)) {
    std::stringstream cells(line);
    std::string cell;
    while (std::getline(cells, cell, ','))
      values.push_back(cell == "M" ? 0 : cell == "F" || cell == "I" ? 1 : std::stod(cell));
    ++rows;
  }
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return {name,
          Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(rows),
                                     static_cast<Eigen::Index>(values.size() / rows)),
          train, test};
}

// numpy.random.RandomState(1).choice(rows, size, replace=False), called `count` times.
inline std::vector<Split> NumpySplits(size_t rows, size_t size, size_t count) {
  std::mt19937 twister(1);
  std::vector<Split> splits;
  for (size_t k = 0; k < count; ++k) {
    Split order(rows);
    for (size_t i = 0; i < rows; ++i) order[i] = i;
    for (size_t i = rows - 1; i > 0; --i) {
      uint32_t mask = static_cast<uint32_t>(i);
      for (const int shift : {1, 2, 4, 8, 16}) mask |= mask >> shift;
      uint32_t j;
      do j = static_cast<uint32_t>(twister()) & mask;
      while (j > i);
      std::swap(order[i], order[j]);
    }
    order.resize(size);
    splits.push_back(order);
  }
  return splits;
}

struct Case {
  const char* name;
  const char* file;
  size_t train, test;
};
inline constexpr Case kCases[] = {{"red_wine", "winequality_red.csv", 1000, 500},
                                  {"white_wine", "winequality_white.csv", 3000, 1000},
                                  {"abalone", "abalone.csv", 3000, 1000}};

}  // namespace partita::stats::blr
