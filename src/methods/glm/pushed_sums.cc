#include "methods/glm/pushed_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "run/method/sum_columns.h"

namespace partita::methods::glm {
namespace {

using run::NeedsRows;

void RequireSums(const GlmStudy& study, size_t party) {
  const Spec& spec = study.task.spec;
  run::RequireOneBlockAlone(study, party);
  if (spec.law.family != stats::glm::Family::kGaussian) {
    NeedsRows(fmt::format("a model of family {} takes sums at points that are not known when they "
                          "are formed",
                          FamilyName(spec.law)),
              run::kFreezeRows);
  }
  if (!spec.aggregates) {
    NeedsRows(fmt::format("level {} takes rows", spec.level()),
              "use protocol = \"aggregates\", or freeze the rows");
  }
  if (spec.robust()) {
    NeedsRows("robust standard errors are sums of squares that are formed row by row",
              "leave out errors, or freeze the rows");
  }
  if (spec.sites > 0) {
    NeedsRows("effects of sites are taken off row by row",
              "write site = \"ignore\", or freeze the rows");
  }
  if (!spec.offsets.empty()) {
    NeedsRows("an offset is taken off the outcome row by row",
              "take it off in the query, or freeze the rows");
  }
  if (!spec.weights.empty() && !spec.copies()) {
    NeedsRows("a database multiplies by whole weights only",
              "use weights_type = \"frequency\", or freeze the rows");
  }
  if (!spec.weights.empty() && !study.Analysis().subset.empty()) {
    NeedsRows("rows of weight 0 are counted apart from those that a subset leaves out",
              "write the subset in [population]");
  }
  run::RequireSumBits(study);
}

bool IsSign(double value) { return value == -1 || value == 0 || value == 1; }

// A design column as a database has it: a number, or the values of levels.
struct Part {
  size_t column = 0;
  std::vector<double> by_level = {};
  bool sign = false;
};

class QueryMaker {
 public:
  QueryMaker(const GlmStudy& study, size_t party)
      : study_(study), spec_(study.task.spec), columns_(study, party) {
    query_.bits = study.task.input_bits;
    query_.columns = columns_.all();
  }

  data::SumQuery Make() {
    for (const data::ModelColumn& column : spec_.columns) {
      if (!column.parts.empty())
        query_.variables.push_back(Variable(column.name, column.parts, 0, column.scale));
    }
    const Outcome& outcome = spec_.outcome;
    query_.variables.push_back(
        Variable(outcome.name, {outcome.name}, outcome.centre, outcome.scale));
    if (!spec_.weights.empty()) query_.weight = {columns_.Of(spec_.weights)};
    const std::vector<data::Condition>& population = study_.file.population.subset;
    const data::SumRows taken = Taken();
    query_.cells = {taken};
    query_.sets = {columns_.Rows(population),
                   columns_.Complete(study_.used, columns_.Rows(population)), taken};
    AddCounts(taken);
    return std::move(query_);
  }

 private:
  data::SumRows Taken() const {
    std::vector<data::Condition> conditions = study_.file.population.subset;
    const std::vector<data::Condition>& subset = study_.Analysis().subset;
    conditions.insert(conditions.end(), subset.begin(), subset.end());
    if (!spec_.weights.empty())
      conditions.push_back({spec_.weights, data::Condition::Kind::kAbove, 0, false, {}});
    return columns_.Complete(study_.used, columns_.Rows(conditions));
  }

  std::string SourceOf(const std::string& name) const {
    for (const data::DerivedVariable& derived : study_.derived) {
      for (const data::DesignColumn& made : data::ColumnsOf(derived, study_.file.dictionary)) {
        if (made.schema.name == name) return name;  // which is not there
      }
    }
    for (const data::DesignColumn& column : spec_.covariates) {
      if (column.schema.name == name) return column.source;
    }
    return name;
  }

  Part PartOf(const std::string& name) const {
    Part part{columns_.Of(SourceOf(name))};
    const data::ColumnSchema& source = query_.columns[part.column];
    if (!data::HasLevels(source.type)) {
      part.sign =
          source.type == data::ColumnType::kInteger && source.lower >= -1 && source.upper <= 1;
      return part;
    }
    data::Table table = run::TableOfLevels(source);
    study_.DeriveColumns(table);
    part.by_level = table.Get(name).numbers;
    part.sign = std::all_of(part.by_level.begin(), part.by_level.end(), IsSign);
    return part;
  }

  // (value - centre) / scale of the product.
  data::SumVariable Variable(const std::string& name, const std::vector<std::string>& parts,
                             double centre, double scale) const {
    std::vector<Part> all;
    for (const std::string& part : parts) all.push_back(PartOf(part));
    const auto is_number = [](const Part& part) { return !part.sign; };
    if (std::count_if(all.begin(), all.end(), is_number) > 1) {
      NeedsRows(fmt::format("'{}' is a product of numbers, which a grid rounds row by row", name),
                "compute the product in the query, as a variable of the dictionary, or freeze the "
                "rows");
    }
    const auto found = std::find_if(all.begin(), all.end(), is_number);
    const auto base = found == all.end() ? all.begin() : found;
    data::SumVariable variable{base->column, {centre, scale}, {}};
    for (const double value : base->by_level) {
      variable.by_level.push_back(
          data::RoundToGrid(data::ToUnitInterval(value, variable.scale), query_.bits));
    }
    if (!variable.by_level.empty()) variable.scale = {};
    for (auto part = all.begin(); part != all.end(); ++part) {
      if (part == base) continue;
      data::SumSign& sign = variable.signs.emplace_back(data::SumSign{part->column, {}});
      for (const double value : part->by_level) sign.by_level.push_back(std::llround(value));
    }
    return variable;
  }

  // Of the rows that take part, those in which the design column of 0 and 1 is above 0, or is not.
  data::SumRows Ones(const std::string& name, bool above, data::SumRows rows) const {
    using Kind = data::Condition::Kind;
    const Part part = PartOf(name);
    const data::ColumnSchema& source = query_.columns[part.column];
    data::Condition condition{source.name, above ? Kind::kAbove : Kind::kAtMost, 0, false, {}};
    if (data::HasLevels(source.type)) {
      condition.kind = Kind::kIs;
      for (size_t level = 0; level < source.levels.size(); ++level) {
        if ((part.by_level[level] > 0) == above) condition.levels.push_back(source.levels[level]);
      }
    }
    rows.push_back({part.column, condition});
    return rows;
  }

  // In the order of data::ModelCounts.
  void AddCounts(const data::SumRows& taken) {
    for (const std::string& name : spec_.factors) {
      const size_t levels = query_.columns[columns_.Of(name)].levels.size();
      for (size_t level = 0; level < levels; ++level)
        query_.counts.push_back(columns_.OfLevel(name, level, taken));
    }
    for (const std::string& name : spec_.binaries) {
      for (const bool above : {false, true}) query_.counts.push_back(Ones(name, above, taken));
    }
    for (const size_t c : spec_.products) {
      data::SumRows rows = taken;
      for (const std::string& part : spec_.columns[c].parts) rows = Ones(part, true, rows);
      query_.counts.push_back(rows);
    }
  }

  const GlmStudy& study_;
  const Spec& spec_;
  const run::SumColumns columns_;
  data::SumQuery query_;
};

// With the column of ones, which is not asked for.
stats::glm::GaussianMoments MomentsOf(const Task& task, const data::SumCell& cell) {
  const std::vector<data::ModelColumn>& columns = task.spec.columns;
  const size_t side = columns.size() + 1;
  stats::glm::GaussianMoments moments = stats::glm::NoMoments(columns.size(), task.input_bits);
  moments.rows = cell.n;
  const Int128 one = Int128{1} << task.input_bits;
  std::vector<size_t> asked;  // by variable of the query, the outcome last
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c].parts.empty()) asked.push_back(c);
  }
  asked.push_back(columns.size());
  const auto set = [&](size_t i, size_t j, Int128 product) {
    moments.products[i * side + j] = moments.products[j * side + i] = product;
  };
  size_t next = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) set(asked[i], asked[j], cell.products.at(next++));
  }
  for (size_t ones = 0; ones < columns.size(); ++ones) {
    if (!columns[ones].parts.empty()) continue;
    set(ones, ones, cell.n * one * one);
    for (size_t i = 0; i < asked.size(); ++i) set(ones, asked[i], cell.sums.at(i) * one);
  }
  return moments;
}

}  // namespace

bool TakesMoments(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  return spec.law.family == stats::glm::Family::kGaussian && spec.aggregates && !spec.robust() &&
         spec.sites == 0 && spec.offsets.empty() && (spec.weights.empty() || spec.copies());
}

bool GlmStudy::TakesInputBits() const { return TakesMoments(*this); }

data::SumQuery GlmStudy::SumsOf(size_t party) const {
  RequireSums(*this, party);
  return QueryMaker(*this, party).Make();
}

std::unique_ptr<run::MethodRows> GlmStudy::TakeSums(size_t party, const data::SumAnswer& answer,
                                                    run::OwnRows& counts) const {
  counts = {};
  counts.observed = static_cast<uint64_t>(answer.rows);
  counts.not_in_population = static_cast<uint64_t>(answer.rows - answer.sets.at(0));
  counts.incomplete = static_cast<uint64_t>(answer.sets[0] - answer.sets.at(1));
  if (!task.spec.weights.empty())
    counts.not_in_population += static_cast<uint64_t>(answer.sets[1] - answer.sets.at(2));
  run::RequireAssumedRows(*this, partition.BlocksOf(party).front(), counts.observed);
  auto rows = std::make_unique<GlmRows>();
  rows->own = NoData(task.spec, CountTables(task.spec, factors));
  rows->only_sums = true;
  rows->own.rows = {};
  rows->own.moments = MomentsOf(task, answer.cells.at(0));
  std::copy(answer.counts.begin(), answer.counts.end(), rows->own.counts.begin());
  rows->own.counts.back() = answer.cells[0].n;
  return rows;
}

}  // namespace partita::methods::glm
