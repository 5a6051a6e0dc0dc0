#include "papers/smle_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "data/csv_reader.h"
#include "methods/mle/moments/public_scale.h"
#include "stats/blr/variates.h"

namespace partita::papers {
namespace {

namespace mle = methods::mle;
namespace published = methods::mle::published;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Far enough that no made-up cell is beyond (1e-15 for each).
constexpr double kBoundDeviations = 8;
// Where bounds come from the rows, which are beyond the reach of any other check here.
constexpr double kAnyNumber = 1e15;

struct NamedColumns {
  std::vector<std::string> names;
  VectorXd lower, upper;
};

mle::MleAnalysis PrepareModel(const std::string& model, const std::string& function,
                              const NamedColumns& columns) {
  mle::MleOptions options;
  options.name = "main";
  options.function = function;
  options.model = model;
  options.meanstructure = true;
  options.fixed_x = false;
  data::Schema dictionary;
  std::vector<data::DesignColumn> design;
  for (size_t i = 0; i < columns.names.size(); ++i) {
    data::ColumnSchema column;
    column.name = columns.names[i];
    column.lower = columns.lower[static_cast<Index>(i)];
    column.upper = columns.upper[static_cast<Index>(i)];
    design.push_back({column, column.name, "", ""});
    dictionary.columns.push_back(std::move(column));
  }
  return mle::PrepareAnalysis(options, dictionary, design);
}

// Columns `names` of `rows` in the order of the model, without those that it does not use.
MatrixXd InModelOrder(const mle::MleAnalysis& analysis, const std::vector<std::string>& names,
                      const MatrixXd& rows) {
  std::vector<Index> order;
  for (const std::string& variable : analysis.table.observed) {
    order.push_back(std::find(names.begin(), names.end(), variable) - names.begin());
  }
  return rows(Eigen::all, order);
}

std::vector<std::string> Numbered(const char* stem, Index count) {
  std::vector<std::string> names;
  for (Index i = 1; i <= count; ++i) names.push_back(fmt::format("{}{}", stem, i));
  return names;
}

NamedColumns Around(std::vector<std::string> names, const VectorXd& mean, const VectorXd& sd) {
  return {std::move(names), mean - kBoundDeviations * sd, mean + kBoundDeviations * sd};
}

std::string ReadSampleText(const std::string& path) {
  return ReadFile(path, uint64_t{1} << 30, "the sample");
}

// The names in the first line of a file without quotes.
std::vector<std::string> HeaderOf(const std::string& path) {
  std::string line = ReadSampleText(path);
  line.resize(std::min(line.find_first_of("\r\n"), line.size()));
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    names.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

data::Schema NumbersOf(const std::vector<std::string>& names) {
  data::Schema schema;
  for (const std::string& name : names) {
    data::ColumnSchema column;
    column.name = name;
    column.lower = -kAnyNumber;
    column.upper = kAnyNumber;
    schema.columns.push_back(std::move(column));
  }
  data::ValidateSchema(schema);
  return schema;
}

// Part `i` of `parts` of [0, count): where it begins.
Index PartBegin(Index count, size_t i, size_t parts) {
  return count * static_cast<Index>(i) / static_cast<Index>(parts);
}

published::BlockNode NodeWith(size_t party, Index begin, Index end) {
  published::BlockNode node;
  node.party = party;
  for (Index column = begin; column < end; ++column) node.columns.push_back(column);
  return node;
}

// Adds rows [first, first + count) as a block of these nodes.
void AddBlock(const MatrixXd& rows, Index first, Index count,
              std::vector<published::BlockNode> nodes, SmleSetting& setting) {
  for (published::OwnRows& own : setting.rows) own.emplace_back();
  for (const published::BlockNode& node : nodes) {
    const MatrixXd block = rows.middleRows(first, count);
    setting.rows[node.party].back() = block(Eigen::all, node.columns);
  }
  setting.layout.blocks.push_back({0, count, std::move(nodes)});
}

SmleSetting EmptySetting(const MatrixXd& rows, size_t nodes) {
  SmleSetting setting;
  setting.layout.centre = nodes;
  setting.layout.num_variables = rows.cols();
  setting.rows.resize(nodes + 1);
  return setting;
}

}  // namespace

stats::StatisticsScale SmleSample::scale() const { return mle::PublicScale(analysis); }

std::string GrowthModel(Index waves) {
  std::string intercept = "i =~ ", slope = "s =~ ", residuals;
  for (Index j = 0; j < waves; ++j) {
    const char* plus = j > 0 ? " + " : "";
    intercept += fmt::format("{}1*t{}", plus, j + 1);
    slope += fmt::format("{}{}*t{}", plus, j, j + 1);
    residuals += fmt::format("t{0} ~~ e*t{0}\n", j + 1);
  }
  return intercept + "\n" + slope + "\n" + residuals;
}

SmleSample GrowthSample(Index rows, Index waves, const GrowthPopulation& population,
                        crypto::RandomSource& random) {
  stats::blr::Variates draw(random);
  SmleSample sample;
  sample.name = fmt::format("growth curve of {} waves, {} made-up rows", waves, rows);
  sample.rows.resize(rows, waves);
  VectorXd mean(waves), sd(waves);
  for (Index j = 0; j < waves; ++j) {
    const auto time = static_cast<double>(j);
    mean[j] = population.intercept_mean + time * population.slope_mean;
    sd[j] = std::hypot(population.intercept_sd + time * population.slope_on_intercept,
                       time * population.slope_rest_sd, population.residual_sd);
  }
  for (Index r = 0; r < rows; ++r) {
    const double first = draw.Normal(), second = draw.Normal();
    const double intercept = population.intercept_mean + population.intercept_sd * first;
    const double slope = population.slope_mean + population.slope_on_intercept * first +
                         population.slope_rest_sd * second;
    for (Index j = 0; j < waves; ++j) {
      sample.rows(r, j) =
          intercept + static_cast<double>(j) * slope + population.residual_sd * draw.Normal();
    }
  }
  NamedColumns columns = Around(Numbered("t", waves), mean, sd);
  // One range for all waves, as one measurement has: equal residual variances need it on shares.
  columns.lower.setConstant(columns.lower.minCoeff());
  columns.upper.setConstant(columns.upper.maxCoeff());
  sample.analysis = PrepareModel(GrowthModel(waves), "growth", columns);
  sample.rows = InModelOrder(sample.analysis, columns.names, sample.rows);
  return sample;
}

SmleSample FactorSample(Index rows, crypto::RandomSource& random) {
  stats::blr::Variates draw(random);
  const VectorXd loading{{1, 0.8, 1.2, 0.6, 0.9}}, mean{{5, 6, 2, 3, 4}};
  const VectorXd residual_sd{{0.7, 0.8, 1, 0.9, 0.6}};
  SmleSample sample;
  sample.name = fmt::format("one factor of {} items, {} made-up rows", loading.size(), rows);
  sample.rows.resize(rows, loading.size());
  for (Index r = 0; r < rows; ++r) {
    const double factor = draw.Normal();
    for (Index j = 0; j < loading.size(); ++j) {
      sample.rows(r, j) = mean[j] + loading[j] * factor + residual_sd[j] * draw.Normal();
    }
  }
  const VectorXd sd = (loading.array().square() + residual_sd.array().square()).sqrt();
  const NamedColumns columns = Around(Numbered("x", loading.size()), mean, sd);
  sample.analysis = PrepareModel("f =~ x1 + x2 + x3 + x4 + x5", "cfa", columns);
  sample.rows = InModelOrder(sample.analysis, columns.names, sample.rows);
  return sample;
}

SmleSample ReadSample(const std::string& csv_file, const std::string& model_file,
                      const std::string& function) {
  const std::vector<std::string> header = HeaderOf(csv_file);
  const std::string model = ReadSampleText(model_file);
  // Which columns the model needs; a column that it does not use may hold anything.
  NamedColumns columns{header, VectorXd::Constant(static_cast<Index>(header.size()), -1),
                       VectorXd::Constant(static_cast<Index>(header.size()), 1)};
  columns.names = PrepareModel(model, function, columns).table.observed;
  const data::CsvContents csv = data::ReadCsvFile(csv_file, NumbersOf(columns.names), {});
  data::RequireClean(csv.report);
  SmleSample sample;
  sample.rows.resize(static_cast<Index>(csv.table.num_rows),
                     static_cast<Index>(columns.names.size()));
  for (Index c = 0; c < sample.rows.cols(); ++c) {
    const std::vector<double>& numbers = csv.table.columns[static_cast<size_t>(c)].numbers;
    sample.rows.col(c) = Eigen::Map<const VectorXd>(numbers.data(), sample.rows.rows());
  }
  const VectorXd lower = sample.rows.colwise().minCoeff(), upper = sample.rows.colwise().maxCoeff();
  columns.lower = lower - (upper - lower) / 2;
  columns.upper = upper + (upper - lower) / 2;
  sample.analysis = PrepareModel(model, function, columns);
  sample.name = fmt::format("{}, {} rows", csv_file, sample.rows.rows());
  return sample;
}

stats::GroupMoments MomentsOfRows(const MatrixXd& rows) {
  stats::GroupMoments moments;
  moments.n = static_cast<double>(rows.rows());
  moments.mean = rows.colwise().mean();
  const MatrixXd centred = rows.rowwise() - moments.mean.transpose();
  moments.covariance = centred.transpose() * centred / moments.n;
  return moments;
}

SmleSetting SplitColumns(const MatrixXd& rows, size_t nodes) {
  if (nodes > static_cast<size_t>(rows.cols())) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} columns cannot be split over {} nodes", rows.cols(), nodes),
                "give --nodes a number up to that of the model's variables");
  }
  SmleSetting setting = EmptySetting(rows, nodes);
  std::vector<published::BlockNode> chain;
  for (size_t k = 0; k < nodes; ++k) {
    // The first nodes get the extra columns.
    const Index begin = rows.cols() - PartBegin(rows.cols(), nodes - k, nodes);
    const Index end = rows.cols() - PartBegin(rows.cols(), nodes - k - 1, nodes);
    chain.push_back(NodeWith(k, begin, end));
  }
  AddBlock(rows, 0, rows.rows(), std::move(chain), setting);
  return setting;
}

SmleSetting SplitRows(const MatrixXd& rows, size_t nodes) {
  SmleSetting setting = EmptySetting(rows, nodes);
  for (size_t k = 0; k < nodes; ++k) {
    const Index begin = PartBegin(rows.rows(), k, nodes);
    AddBlock(rows, begin, PartBegin(rows.rows(), k + 1, nodes) - begin,
             {NodeWith(k, 0, rows.cols())}, setting);
  }
  return setting;
}

SmleSetting SplitFirstColumn(const MatrixXd& rows, Index first) {
  SmleSetting setting = EmptySetting(rows, 3);
  const published::BlockNode later = NodeWith(2, 1, rows.cols());
  AddBlock(rows, 0, first, {NodeWith(0, 0, 1), later}, setting);
  AddBlock(rows, first, rows.rows() - first, {NodeWith(1, 0, 1), later}, setting);
  return setting;
}

}  // namespace partita::papers
