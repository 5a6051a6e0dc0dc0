// tests/references/dpvi_adult.json (another implementation, in NumPy) and its tables.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "methods/mixture/adult.h"
#include "tests/paths.h"

namespace partita::methods::mixture {

struct AdultReference {
  nlohmann::json json;
  std::vector<ModelColumn> columns = AdultColumns();
  stats::mixture::Layout layout = ModelLayout(columns);
  stats::mixture::Rows train, test;
};

inline AdultReference ReadAdultReference() {
  std::ifstream in(FixturePath("references/dpvi_adult.json"));
  AdultReference reference;
  reference.json = nlohmann::json::parse(in);
  reference.train = EncodeRows(reference.columns, reference.layout,
                               ReadAdult(FixturePath("tables/adult_train.csv.gz")));
  reference.test = EncodeRows(reference.columns, reference.layout,
                              ReadAdult(FixturePath("tables/adult_test.csv.gz")));
  return reference;
}

// Where the reference's flat parameter vector has component k of statistic j: K logits of pi; per
// component all categorical logits; per component all Beta shapes.
class FlatIndex {
 public:
  FlatIndex(const stats::mixture::Layout& layout, size_t components) : components_(components) {
    using stats::mixture::Family;
    for (const Family family : {Family::kCategorical, Family::kBeta}) {
      size_t& count = family == Family::kBeta ? betas_ : levels_;
      for (const stats::mixture::Feature& feature : layout.features) {
        if (feature.family == family) count += NumStatistics(feature);
      }
    }
    size_t level = 0, beta = 0;
    for (const stats::mixture::Feature& feature : layout.features) {
      for (size_t i = 0; i < NumStatistics(feature); ++i) {
        const bool is_beta = feature.family == Family::kBeta;
        offsets_.push_back(is_beta ? beta++ : level++);
        is_beta_.push_back(is_beta);
      }
    }
  }
  size_t operator()(size_t k, size_t column) const {
    if (column == 0) return k;
    const size_t j = column - 1;
    if (is_beta_[j]) return components_ * (1 + levels_) + k * betas_ + offsets_[j];
    return components_ + k * levels_ + offsets_[j];
  }
  size_t size() const { return components_ * (1 + levels_ + betas_); }

 private:
  size_t components_, levels_ = 0, betas_ = 0;
  std::vector<size_t> offsets_;
  std::vector<bool> is_beta_;
};

}  // namespace partita::methods::mixture
