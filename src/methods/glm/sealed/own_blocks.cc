#include "methods/glm/sealed/own_blocks.h"

#include <algorithm>
#include <cmath>

namespace partita::methods::glm {
namespace {

using Eigen::Index;

class BlockColumns {
 public:
  BlockColumns(const Spec& spec, const SealedLayout& layout, const SealedBlock& block,
               const SealedPart& part, const data::Table& table, size_t first,
               const std::vector<uint8_t>& taken)
      : spec_(spec),
        layout_(layout),
        block_(block),
        part_(part),
        table_(table),
        first_(first),
        taken_(taken),
        n_(static_cast<Index>(block.rows)) {}

  OwnBlock Make() {
    OwnBlock own;
    own.selector.resize(n_);
    for (Index i = 0; i < n_; ++i) own.selector[i] = Taken(i) ? 1 : 0;
    own.columns.resize(n_, static_cast<Index>(part_.columns.size()));
    for (size_t c = 0; c < part_.columns.size(); ++c)
      own.columns.col(static_cast<Index>(c)) = ProductOf(spec_.columns[part_.columns[c]].parts);
    own.factors.resize(n_, static_cast<Index>(part_.factors.size()));
    for (size_t f = 0; f < part_.factors.size(); ++f) {
      const data::ModelColumn& column = spec_.columns[block_.crossed[part_.factors[f]].column];
      own.factors.col(static_cast<Index>(f)) = ProductOf(OwnParts(column));
    }
    SetCells(own);
    if (part_.outcome) own.outcome = Outcomes();
    if (part_.offset) own.offset = Offsets();
    if (part_.weights) {
      const std::vector<double>& weights = table_.Get(spec_.weights).numbers;
      own.weights = OfRows([&](size_t row) { return weights[row] / spec_.weight_unit(); });
    }
    if (part_.clusters) own.clusters = Clusters();
    return own;
  }

 private:
  size_t RowAt(Index i) const { return first_ + static_cast<size_t>(i); }
  bool Taken(Index i) const { return taken_[RowAt(i)] != 0; }
  bool Has(const std::string& name) const {
    return std::any_of(table_.columns.begin(), table_.columns.end(),
                       [&](const data::Column& column) { return column.schema.name == name; });
  }

  std::vector<std::string> OwnParts(const data::ModelColumn& column) const {
    std::vector<std::string> own;
    for (const std::string& name : column.parts) {
      if (Has(name)) own.push_back(name);
    }
    return own;
  }

  template <typename Value>
  Eigen::VectorXd OfRows(Value value) const {
    Eigen::VectorXd values = Eigen::VectorXd::Zero(n_);
    for (Index i = 0; i < n_; ++i) {
      if (Taken(i)) values[i] = value(RowAt(i));
    }
    return values;
  }

  Eigen::VectorXd ProductOf(const std::vector<std::string>& parts) const {
    Eigen::VectorXd product = OfRows([](size_t) { return 1.0; });
    for (const std::string& name : parts) {
      const std::vector<double>& numbers = table_.Get(name).numbers;
      const double scale = ScaleOfPart(spec_, name);
      product.array() *= OfRows([&](size_t row) { return numbers[row] / scale; }).array();
    }
    return product;
  }

  void SetCells(OwnBlock& own) const {
    size_t cells = 0;
    for (const size_t t : part_.tables) cells += layout_.table_cells[t];
    own.cells = Eigen::MatrixXd::Zero(n_, static_cast<Index>(cells));
    Index next = 0;
    for (const size_t t : part_.tables) {
      const auto size = static_cast<Index>(layout_.table_cells[t]);
      SetTable(t, own.cells.middleCols(next, size));
      next += size;
    }
  }

  void SetTable(size_t table, Eigen::Ref<Eigen::MatrixXd> cells) const {
    const size_t factors = spec_.factors.size();
    if (table < factors) {
      const std::vector<int32_t>& codes = table_.Get(spec_.factors[table]).codes;
      for (Index i = 0; i < n_; ++i) {
        if (Taken(i)) cells(i, codes[RowAt(i)]) = 1;
      }
    } else if (layout_.product_tables[table] == kNoColumn) {
      const std::vector<double>& numbers = table_.Get(spec_.binaries[table - factors]).numbers;
      for (Index i = 0; i < n_; ++i) {
        if (Taken(i)) cells(i, numbers[RowAt(i)] > 0 ? 1 : 0) = 1;
      }
    } else {
      cells.col(0) = ProductOf(spec_.columns[layout_.product_tables[table]].parts);
    }
  }

  Eigen::VectorXd Outcomes() const {
    const Outcome& outcome = spec_.outcome;
    const data::Column& column = table_.Get(outcome.name);
    return OfRows([&](size_t row) { return OutcomeOf(outcome, column, row); });
  }

  Eigen::VectorXd Offsets() const {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(n_);
    for (const std::string& name : spec_.offsets) {
      const std::vector<double>& numbers = table_.Get(name).numbers;
      sum += OfRows([&](size_t row) { return numbers[row] / spec_.outcome.scale; });
    }
    return sum;
  }

  std::vector<int32_t> Clusters() const {
    const data::Column& column = table_.Get(spec_.cluster);
    std::vector<int32_t> values(static_cast<size_t>(n_), kNoCluster);
    for (Index i = 0; i < n_; ++i) {
      if (!Taken(i)) continue;
      values[static_cast<size_t>(i)] =
          column.codes.empty()
              ? static_cast<int32_t>(column.numbers[RowAt(i)] - column.schema.lower)
              : column.codes[RowAt(i)];
    }
    return values;
  }

  const Spec& spec_;
  const SealedLayout& layout_;
  const SealedBlock& block_;
  const SealedPart& part_;
  const data::Table& table_;
  const size_t first_;
  const std::vector<uint8_t>& taken_;
  const Index n_;
};

}  // namespace

double ScaleOfPart(const Spec& spec, const std::string& part) {
  for (const data::DesignColumn& column : spec.covariates) {
    if (column.schema.name == part)
      return std::max(std::abs(column.schema.lower), std::abs(column.schema.upper));
  }
  return 1;
}

std::vector<OwnBlock> OwnBlocksOf(const Spec& spec, const SealedLayout& layout, size_t party,
                                  const data::Holding& holding, const std::vector<uint8_t>& taken) {
  std::vector<OwnBlock> own(layout.blocks.size());
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const SealedBlock& block = layout.blocks[b];
    for (const SealedPart& part : block.parts) {
      if (part.party != party) continue;
      const size_t first = holding.Block(block.block).first_row;
      own[b] = BlockColumns(spec, layout, block, part, *holding.table, first, taken).Make();
    }
  }
  return own;
}

}  // namespace partita::methods::glm
