#include "data/mock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/date.h"
#include "base/normal.h"
#include "crypto/prg.h"
#include "data/csv_writer.h"
#include "data/number_text.h"

namespace partita::data {

namespace {

constexpr uint64_t kMaxMockRows = 100'000'000;
// Of a number's variance: what all share, and what a cluster shares beside that.
constexpr double kCommonShare = 0.3, kClusterShare = 0.3;
// Standard deviations from the middle of the bounds to a bound; beyond them numbers are clipped.
constexpr double kHalfWidths = 3.5;
// Integers with so many values at most can be levels of a model's factor(...).
constexpr double kFewValues = 50;

// Uniform and normal numbers from a keyed stream.
class MockRandom {
 public:
  // Every use has a stream of its own, so that one more column changes no other.
  MockRandom(uint64_t seed, std::string_view purpose) : stream_(KeyOf(seed, purpose)) {}

  double Uniform() {  // in (0, 1)
    return (static_cast<double>(Word() >> 11) + 0.5) * 0x1p-53;
  }

  // Box and Muller (1958): the cosine half only, one number for two uniform ones.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

  uint64_t Below(uint64_t bound) {
    return std::min(bound - 1, static_cast<uint64_t>(Uniform() * static_cast<double>(bound)));
  }

 private:
  static crypto::Key KeyOf(uint64_t seed, std::string_view purpose) {
    ByteWriter writer;
    writer.String("partita mock data v1");
    writer.U64(seed);
    writer.String(purpose);
    return crypto::Key(crypto::Sha256Of(writer.bytes()));
  }

  uint64_t Word() {
    std::array<uint8_t, 8> bytes{};
    stream_.Fill(bytes);
    return ByteReader(bytes).U64();
  }

  crypto::Prg stream_;
};

// The study's rows: which block each is in, its key, and what its numbers have in common.
struct MockRows {
  std::vector<size_t> block;
  std::vector<std::string> keys;
  std::vector<double> common;
  std::vector<const std::vector<std::string>*> missing;  // with patterns; null: nothing
};

// Patterns that name every variable that nobody holds in the block.
std::vector<const std::vector<std::string>*> PatternsOf(const Partition& partition, size_t block,
                                                        const MockOptions& options) {
  std::vector<const std::vector<std::string>*> possible;
  for (const std::vector<std::string>& pattern : options.patterns) {
    bool fits = true;
    for (size_t v = 0; v < partition.variables.size(); ++v) {
      fits = fits &&
             (partition.segments[block].Has(v) ||
              std::find(pattern.begin(), pattern.end(), partition.variables[v]) != pattern.end());
    }
    if (fits) possible.push_back(&pattern);
  }
  return possible;
}

MockRows MakeRows(const Partition& partition, const MockOptions& options) {
  MockRows rows;
  uint64_t total = 0;
  for (const RowBlock& block : partition.blocks) {
    total += block.count.value_or(options.rows_per_block);
    if (total > kMaxMockRows) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("mock tables of more than {} rows are not made", kMaxMockRows),
                  "declare smaller counts in a copy of the study file");
    }
  }
  MockRandom keys(options.seed, "keys"), common(options.seed, "common factor");
  // Distinct numbers in a random order, so that keys tell nothing about blocks.
  std::vector<uint64_t> numbers(total);
  std::iota(numbers.begin(), numbers.end(), uint64_t{1});
  for (uint64_t i = total; i > 1; --i) std::swap(numbers[i - 1], numbers[keys.Below(i)]);
  const size_t digits = fmt::format("{}", total).size();
  MockRandom pattern(options.seed, "pattern");
  for (size_t b = 0; b < partition.blocks.size(); ++b) {
    const uint64_t count = partition.blocks[b].count.value_or(options.rows_per_block);
    const auto patterns = PatternsOf(partition, b, options);
    for (uint64_t i = 0; i < count; ++i) {
      rows.keys.push_back(fmt::format("mock{:0{}}", numbers[rows.block.size()], digits));
      rows.block.push_back(b);
      rows.common.push_back(common.Normal());
      rows.missing.push_back(patterns.empty() ? nullptr : patterns[pattern.Below(patterns.size())]);
    }
  }
  return rows;
}

// Cells of one column as texts without regard to the decimal mark ('.'); empty: missing.
using Texts = std::vector<std::string>;

class MockColumns {
 public:
  MockColumns(const Partition& partition, const RowColumns& row_columns, const MockRows& rows,
              const MockOptions& options)
      : partition_(partition), row_columns_(row_columns), rows_(rows), options_(options) {}

  Texts Make(const ColumnSchema& schema) {
    switch (schema.type) {
      case ColumnType::kNumeric:
      case ColumnType::kInteger:
        return Numbers(schema, schema.name);
      case ColumnType::kDate:
        return Dates(schema);
      case ColumnType::kFactor:
      case ColumnType::kOrdered:
        return Levels(schema);
      case ColumnType::kKey:
        return rows_.keys;
      case ColumnType::kSurvival:
        break;
    }
    throw Error(ErrorCode::kInternal, "a survival variable has no cells of its own");
  }

  Texts Times(const ColumnSchema& survival) { return Numbers(survival, survival.time_column); }

  // About two events in three rows.
  Texts Events(const ColumnSchema& survival) {
    MockRandom random(options_.seed, "event " + survival.name);
    Texts cells;
    while (cells.size() < rows_.block.size())
      cells.emplace_back(1, random.Uniform() < 2.0 / 3 ? '1' : '0');
    return cells;
  }

 private:
  // Standard normal, correlated as mock.h says.
  std::vector<double> Scores(const std::string& name) {
    const std::vector<double>* cluster = ClusterScores(name);
    const double own = std::sqrt(1 - kCommonShare - (cluster != nullptr ? kClusterShare : 0));
    MockRandom random(options_.seed, "column " + name);
    std::vector<double> scores(rows_.block.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      scores[i] = std::sqrt(kCommonShare) * rows_.common[i] + own * random.Normal();
      if (cluster != nullptr) scores[i] += std::sqrt(kClusterShare) * (*cluster)[i];
    }
    return scores;
  }

  // Null if the variable is in no cluster.
  const std::vector<double>* ClusterScores(const std::string& name) {
    for (size_t c = 0; c < options_.clusters.size(); ++c) {
      const auto& members = options_.clusters[c];
      if (std::find(members.begin(), members.end(), name) == members.end()) continue;
      std::vector<double>& scores = cluster_scores_[c];
      MockRandom random(options_.seed, fmt::format("cluster {}", c));
      while (scores.size() < rows_.block.size()) scores.push_back(random.Normal());
      return &scores;
    }
    return nullptr;
  }

  // In the middle of the bounds, clipped to them. Of integers with few values every one about as
  // often, as they may be a factor.
  std::vector<double> InBounds(const ColumnSchema& schema, const std::string& name) {
    std::vector<double> values = Scores(name);
    const double levels = std::floor(schema.upper) - std::ceil(schema.lower) + 1;
    if (schema.type == ColumnType::kInteger && levels >= 1 && levels <= kFewValues) {
      for (double& value : values) {
        value =
            std::ceil(schema.lower) + std::min(levels - 1, std::floor(levels * NormalTail(-value)));
      }
      return values;
    }
    const double centre = schema.lower / 2 + schema.upper / 2;
    const double half_width = schema.upper / 2 - schema.lower / 2;
    for (double& value : values) {
      value = std::clamp(centre + half_width * value / kHalfWidths, schema.lower, schema.upper);
    }
    return values;
  }

  Texts Numbers(const ColumnSchema& schema, const std::string& name) {
    const std::vector<double> values = InBounds(schema, name);
    Texts cells(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (schema.type == ColumnType::kInteger) {
        const double whole = std::clamp(std::nearbyint(values[i]), schema.lower, schema.upper);
        cells[i] = fmt::format("{:.0f}", whole);
        continue;
      }
      cells[i] = fmt::format("{:.6g}", values[i]);
      // Six digits may round past a bound with more.
      const double written = *ParseNumber(cells[i], '.');
      if (written < schema.lower || written > schema.upper) cells[i] = fmt::format("{}", values[i]);
    }
    return WithMissing(std::move(cells), name);
  }

  Texts Dates(const ColumnSchema& schema) {
    Texts cells;
    for (double day : InBounds(schema, schema.name)) {
      const double whole =
          std::clamp(std::nearbyint(day), std::ceil(schema.lower), std::floor(schema.upper));
      cells.push_back(FormatDate(whole));
    }
    return WithMissing(std::move(cells), schema.name);
  }

  // Every level about as often; a factor that names the row's block names the right one. Ordered
  // levels go up with the common factor.
  Texts Levels(const ColumnSchema& schema) {
    Texts cells;
    const auto k = static_cast<double>(schema.levels.size());
    if (schema.name == row_columns_.block) {
      for (size_t block : rows_.block) cells.push_back(partition_.blocks[block].name);
      return cells;
    }
    MockRandom random(options_.seed, "column " + schema.name);
    const std::vector<double> scores =
        schema.type == ColumnType::kOrdered ? Scores(schema.name) : std::vector<double>();
    for (size_t i = 0; i < rows_.block.size(); ++i) {
      // The distribution function of the normal makes an even number of a score.
      const double even = scores.empty() ? random.Uniform() : NormalTail(-scores[i]);
      cells.push_back(
          schema.levels[static_cast<size_t>(std::clamp(std::floor(even * k), 0.0, k - 1))]);
    }
    return WithMissing(std::move(cells), schema.name);
  }

  Texts WithMissing(Texts cells, const std::string& name) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::vector<std::string>* missing = rows_.missing[i];
      if (missing != nullptr && std::find(missing->begin(), missing->end(), name) != missing->end())
        cells[i].clear();
    }
    if (options_.missing_rate <= 0) return cells;
    MockRandom random(options_.seed, "missing " + name);
    for (std::string& cell : cells) {
      if (random.Uniform() < options_.missing_rate) cell.clear();
    }
    return cells;
  }

  const Partition& partition_;
  const RowColumns& row_columns_;
  const MockRows& rows_;
  const MockOptions& options_;
  std::unordered_map<size_t, std::vector<double>> cluster_scores_;
};

Column PooledColumn(const ColumnSchema& schema, const Texts& cells) {
  Column column;
  column.schema = schema;
  for (const std::string& cell : cells) {
    if (schema.type == ColumnType::kFactor || schema.type == ColumnType::kOrdered) {
      const auto level = std::find(schema.levels.begin(), schema.levels.end(), cell);
      column.codes.push_back(cell.empty() ? -1
                                          : static_cast<int32_t>(level - schema.levels.begin()));
    } else if (cell.empty()) {
      column.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (schema.type == ColumnType::kDate) {
      column.numbers.push_back(*ParseDate(cell));
    } else {
      column.numbers.push_back(*ParseNumber(cell, '.'));
    }
  }
  return column;
}

Column PooledSurvival(const ColumnSchema& schema, const Texts& times, const Texts& events) {
  Column column = PooledColumn(schema, times);
  for (size_t i = 0; i < times.size(); ++i)
    column.codes.push_back(times[i].empty() ? -1 : (events[i] == "1" ? 1 : 0));
  return column;
}

// The columns of a table as it is written: name, cells, and whether they are numbers.
struct WrittenColumn {
  std::string name;
  const Texts* cells = nullptr;
  bool number = false;
};

std::string WriteTable(const std::vector<WrittenColumn>& columns, const std::vector<size_t>& rows,
                       const MockOptions& options) {
  std::string csv;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) csv += options.separator;
    csv += QuotedField(columns[c].name, options.separator);
  }
  csv += '\n';
  for (size_t row : rows) {
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) csv += options.separator;
      std::string cell = (*columns[c].cells)[row];
      if (columns[c].number) std::replace(cell.begin(), cell.end(), '.', options.decimal);
      // An empty line would be no row.
      csv += cell.empty() && columns.size() == 1 ? "\"\"" : QuotedField(cell, options.separator);
    }
    csv += '\n';
  }
  return csv;
}

// The rows of the holder's blocks, in an order of its own.
std::vector<size_t> RowsOf(const Partition& partition, size_t party, const MockRows& rows,
                           uint64_t seed) {
  const std::vector<size_t> blocks = partition.BlocksOf(party);
  std::vector<size_t> held;
  for (size_t i = 0; i < rows.block.size(); ++i) {
    if (std::find(blocks.begin(), blocks.end(), rows.block[i]) != blocks.end()) held.push_back(i);
  }
  MockRandom random(seed, fmt::format("order {}", party));
  for (size_t i = held.size(); i > 1; --i) std::swap(held[i - 1], held[random.Below(i)]);
  return held;
}

}  // namespace

MockStudy MakeMockStudy(const Schema& dictionary, const Partition& partition,
                        const RowColumns& row_columns, const MockOptions& options) {
  const MockRows rows = MakeRows(partition, options);
  MockColumns columns(partition, row_columns, rows, options);
  std::unordered_map<std::string, Texts> cells;
  const auto is_number = [](ColumnType type) {
    return type == ColumnType::kNumeric || type == ColumnType::kInteger;
  };

  MockStudy study;
  study.pooled.num_rows = rows.block.size();
  for (size_t block : rows.block) study.row_blocks.push_back(partition.blocks[block].name);
  study.row_keys = rows.keys;
  for (const ColumnSchema& schema : dictionary.columns) {
    if (schema.type != ColumnType::kSurvival) {
      cells[schema.name] = columns.Make(schema);
      study.pooled.columns.push_back(PooledColumn(schema, cells[schema.name]));
    } else {
      cells[schema.time_column] = columns.Times(schema);
      cells[schema.event_column] = columns.Events(schema);
      study.pooled.columns.push_back(
          PooledSurvival(schema, cells[schema.time_column], cells[schema.event_column]));
    }
  }
  Texts block_names = study.row_blocks;
  for (const Holder& holder : partition.holders) {
    std::vector<WrittenColumn> written;
    for (const ColumnSchema& schema :
         SchemaForParty(dictionary, partition, holder.party, row_columns).columns) {
      if (schema.type == ColumnType::kKey) {
        written.push_back({schema.name, &rows.keys, false});
      } else if (schema.type == ColumnType::kSurvival) {
        written.push_back({schema.time_column, &cells[schema.time_column], true});
        written.push_back({schema.event_column, &cells[schema.event_column], true});
      } else if (dictionary.Find(schema.name) == nullptr) {
        written.push_back({schema.name, &block_names, false});
      } else {
        written.push_back({schema.name, &cells[schema.name], is_number(schema.type)});
      }
    }
    study.tables.push_back(
        {holder.party,
         WriteTable(written, RowsOf(partition, holder.party, rows, options.seed), options)});
  }
  return study;
}

}  // namespace partita::data
