// Sums of a table that a database forms: what is asked, and what becomes of it (own_numbers.h).
#include <algorithm>

#include "base/error.h"
#include "methods/describe/mantel_haenszel.h"
#include "methods/describe/study.h"
#include "methods/describe/study_rows.h"
#include "run/method/sum_columns.h"

namespace partita::methods::describe {
namespace {

using run::NeedsRows;

void RequireSums(const DescribeStudy& study, size_t party) {
  run::RequireOneBlockAlone(study, party);
  if (!study.spec.quantiles.empty()) {
    NeedsRows(
        "quantiles are found among counts in thousands of cells of a number, which are all "
        "but its values",
        "write quantiles = [], or freeze the rows");
  }
  if (study.spec.compared.ranks) {
    NeedsRows(
        "ranks are found among counts in thousands of cells of a number, which are all but "
        "its values",
        "leave \"ranks\" out of compare, or freeze the rows");
  }
  run::RequireSumBits(study);
}

class QueryMaker {
 public:
  QueryMaker(const DescribeStudy& study, size_t party)
      : study_(study), spec_(study.spec), layout_(spec_), columns_(study, party) {
    query_.bits = kValueBits;
    query_.columns = columns_.all();
    query_.only_squares = true;
  }

  data::SumQuery Make() {
    for (const size_t v : layout_.numbers) {
      const data::ColumnSchema& schema = spec_.variables[v].schema;
      query_.variables.push_back({columns_.Of(schema.name), UnitScale(schema), {}});
    }
    query_.cells = Groups();
    for (const Variable& variable : spec_.variables) AddCounts(variable.schema);
    const std::vector<data::Condition>& population = study_.file.population.subset;
    query_.sets = {columns_.Rows(population),
                   columns_.Complete(Needed(), columns_.Rows(population)), Taken()};
    return std::move(query_);
  }

 private:
  bool HasGroup() const { return spec_.group && !spec_.by_site; }
  std::vector<std::string> Needed() const {
    return HasGroup() ? std::vector<std::string>{spec_.group->schema.name}
                      : std::vector<std::string>();
  }

  data::SumRows Taken() const {
    std::vector<data::Condition> conditions = study_.file.population.subset;
    const std::vector<data::Condition>& subset = study_.Analysis().subset;
    conditions.insert(conditions.end(), subset.begin(), subset.end());
    return columns_.Complete(Needed(), columns_.Rows(conditions));
  }

  // Of each group, or of all rows together.
  std::vector<data::SumRows> Groups() const {
    if (!HasGroup()) return {Taken()};
    std::vector<data::SumRows> groups;
    for (size_t level = 0; level < spec_.group->schema.levels.size(); ++level)
      groups.push_back(columns_.OfLevel(spec_.group->schema.name, level, Taken()));
    return groups;
  }

  // A value after the other, each by group; of a number the cells that are there.
  void AddCounts(const data::ColumnSchema& schema) {
    const size_t values = CountedValues(schema).size();
    for (size_t value = 0; value < std::max<size_t>(values, 1); ++value) {
      for (const data::SumRows& group : query_.cells) {
        if (values == 0) {
          query_.counts.push_back(columns_.Complete({schema.name}, group));
        } else if (!schema.levels.empty()) {
          query_.counts.push_back(columns_.OfLevel(schema.name, value, group));
        } else {
          data::SumRows rows = group;
          rows.push_back(
              {columns_.Of(schema.name),
               {schema.name, data::Condition::Kind::kIs, static_cast<double>(value), false, {}}});
          query_.counts.push_back(std::move(rows));
        }
      }
    }
  }

  const DescribeStudy& study_;
  const Spec& spec_;
  const Layout layout_;
  const run::SumColumns columns_;
  data::SumQuery query_;
};

// site: the column of a holder, where holders are the groups; else 0. Throws kBadData where a group has another number of
// rows than its counts say.
OwnNumbers NumbersOf(const Spec& spec, const data::SumAnswer& answer, size_t site) {
  const Layout layout(spec);
  OwnNumbers own = NoNumbers(spec);
  const size_t groups = answer.cells.size();
  const auto place = [&](size_t row, size_t group) { return row * layout.groups + site + group; };
  size_t next = 0;
  for (size_t v = 0; v < spec.variables.size(); ++v) {
    const size_t values = layout.rows_of[v] - (spec.missing ? 1 : 0);
    for (size_t group = 0; group < groups; ++group) {
      Int128 missing = answer.cells[group].n;
      for (size_t value = 0; value < values; ++value) {
        const Int128 count = answer.counts.at(next + value * groups + group);
        own.counts[place(layout.first_row[v] + value, group)] = count;
        missing -= count;
      }
      if (missing < 0 || (missing > 0 && !spec.missing)) {
        throw Error(ErrorCode::kBadData, "no rows add up to these sums",
                    "write the file again with partita data freeze");
      }
      if (spec.missing) own.counts[place(layout.first_row[v] + values, group)] = missing;
    }
    next += values * groups;
  }
  for (size_t number = 0; number < layout.numbers.size(); ++number) {
    for (size_t group = 0; group < groups; ++group) {
      own.sums[place(number, group)] = answer.cells[group].sums.at(number);
      own.squares[place(number, group)] = answer.cells[group].products.at(number);
    }
  }
  if (spec.compared.mantel_haenszel) own.stratum = OwnStratum(spec, own.counts);
  return own;
}

}  // namespace

data::SumQuery DescribeStudy::SumsOf(size_t party) const {
  RequireSums(*this, party);
  return QueryMaker(*this, party).Make();
}

std::unique_ptr<run::MethodRows> DescribeStudy::TakeSums(size_t party,
                                                         const data::SumAnswer& answer,
                                                         run::OwnRows& counts) const {
  counts = {};
  counts.observed = static_cast<uint64_t>(answer.rows);
  counts.not_in_population = static_cast<uint64_t>(answer.rows - answer.sets.at(0));
  counts.incomplete = static_cast<uint64_t>(answer.sets[0] - answer.sets.at(1));
  run::RequireAssumedRows(*this, partition.BlocksOf(party).front(), counts.observed);
  auto rows = std::make_unique<DescribeRows>();
  rows->only_sums = true;
  const auto site = static_cast<size_t>(PlaceOf(task, party).rows - task.holders.data());
  rows->numbers = NumbersOf(spec, answer, spec.by_site ? site : 0);
  return rows;
}

}  // namespace partita::methods::describe
