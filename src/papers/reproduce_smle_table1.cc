// partita reproduce smle-table1
#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "papers/reproduce_smle.h"
#include "papers/smle_protocols.h"
#include "stats/blr/variates.h"
#include "stats/sem/fiml.h"

namespace partita::papers {
namespace {

using cli::Json;
using Eigen::Index;
using Eigen::MatrixXd;

// The Family Needs Scale: 244 families, of which the first holder has wave 1 of 158.
constexpr Index kRows = 244, kFirst = 158, kWaves = 7;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::array<const char*, 6> kParameters = {
    "sigma intercept", "intercept-slope", "sigma slope", "sigma e", "mean intercept", "mean slope"};
// Parts of cells that are missing, by wave: the paper has 28 % at the first, 84 % at the last and
// 63 % of all.
constexpr std::array<double, kWaves> kMissing = {0.28, 0.52, 0.62, 0.67, 0.72, 0.76, 0.84};

struct Cell {
  double estimate = kNaN, error = kNaN;
};
using Column = std::array<Cell, kParameters.size()>;

constexpr const char* kPartitioned = "conditional";
constexpr const char* kSealed = "sealed";
constexpr const char* kOnePlace = "in one place";
constexpr const char* kPaperPartitioned = "paper, partitioned";
constexpr const char* kPaperOpenMx = "paper, OpenMx";
constexpr std::array<const char*, 5> kColumns = {kPartitioned, kSealed, kOnePlace,
                                                 kPaperPartitioned, kPaperOpenMx};

// Table 1 of the paper: marginal imputation and full information.
constexpr Column kPaperMarginal = {{{0.4468, 0.0236},
                                    {0, kNaN},
                                    {0.0460, 0.0063},
                                    {0.3658, 0.0074},
                                    {2.0230, 0.0318},
                                    {-0.0809, 0.0059}}};
constexpr Column kOpenMxMarginal = {{{0.4470, 0.0256},
                                     {0, 0.0104},
                                     {0.0462, 0.0065},
                                     {0.3646, 0.0077},
                                     {2.0722, 0.0327},
                                     {-0.0750, 0.0053}}};
constexpr Column kOpenMxFiml = {{{0.5941, 0.0421},
                                 {0, 0.0191},
                                 {0.0456, 0.0270},
                                 {0.4365, 0.0179},
                                 {2.1097, 0.0483},
                                 {-0.0697, 0.0129}}};

constexpr const char* kTable1Is =
    "Made-up rows of a normal population with the paper's OpenMx estimates under marginal "
    "imputation: not the paper's rows, so that numbers are not equal. Three holders: wave 1 of 158 "
    "rows, wave 1 of the other 86, waves 2 to 7. As in the paper sigmas are the lower triangular "
    "root of the factors' covariance; standard errors by the delta method.";
constexpr const char* kBias =
    "Marginal imputation: every holder fills its holes by draws from the normal distribution of "
    "its "
    "own columns, given what it has of the row. Covariances between holders are weakened, so that "
    "estimates are biased, and standard errors are too small. It stands here for comparison with "
    "the paper only.";

struct Table1Command {
  uint64_t seed = 1;
  std::string masks = "ring", output;
  bool quick = false;
};

struct Panel {
  std::string name;
  std::vector<std::pair<std::string, Column>> columns;
  // Largest differences from the fit in one place, by protocol.
  std::vector<std::pair<std::string, double>> off;
};

// Rows of the table by their names; the intercept has factor i, the slope s.
struct Places {
  size_t intercept = 0, both = 0, slope = 0, residual = 0, mean = 0, mean_slope = 0;
};

Places FindPlaces(const stats::ParameterTable& table) {
  Places places;
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const stats::Parameter& row = table.rows[r];
    const std::string name = row.lhs + row.op + row.rhs;
    if (name == "i~~i") places.intercept = r;
    if (name == "i~~s" || name == "s~~i") places.both = r;
    if (name == "s~~s") places.slope = r;
    if (name == "t1~~t1") places.residual = r;
    if (name == "i~1") places.mean = r;
    if (name == "s~1") places.mean_slope = r;
  }
  return places;
}

Column ColumnOf(const stats::ParameterTable& table, const stats::SemFit& fit) {
  const Places at = FindPlaces(table);
  const auto estimate = [&](size_t row) { return fit.estimates[row].estimate; };
  const std::array<size_t, 3> rows = {at.intercept, at.both, at.slope};
  Eigen::Matrix3d covariance;
  for (Index a = 0; a < 3; ++a) {
    for (Index b = 0; b < 3; ++b) {
      covariance(a, b) = fit.vcov(table.rows[rows[static_cast<size_t>(a)]].free - 1,
                                  table.rows[rows[static_cast<size_t>(b)]].free - 1);
    }
  }
  const auto by_delta = [&](double value, const Eigen::Vector3d& gradient) {
    return Cell{value, std::sqrt(gradient.dot(covariance * gradient))};
  };
  const double v = estimate(at.intercept), c = estimate(at.both), w = estimate(at.slope);
  const double root = std::sqrt(v), rest = std::sqrt(w - c * c / v);
  const double sigma = std::sqrt(estimate(at.residual));
  const auto plain = [&](size_t row) {
    return Cell{estimate(row), fit.estimates[row].standard_error};
  };
  return {by_delta(root, {1 / (2 * root), 0, 0}),
          by_delta(c / root, {-c / (2 * root * v), 1 / root, 0}),
          by_delta(rest, {c * c / (2 * v * v * rest), -c / (v * rest), 1 / (2 * rest)}),
          Cell{sigma, fit.estimates[at.residual].standard_error / (2 * sigma)},
          plain(at.mean),
          plain(at.mean_slope)};
}

// Rows with holes.
MatrixXd WithHoles(MatrixXd rows, crypto::RandomSource& random) {
  stats::blr::Variates draw(random);
  for (Index j = 0; j < rows.cols(); ++j) {
    for (Index r = 0; r < rows.rows(); ++r) {
      if (draw.Uniform() < kMissing[static_cast<size_t>(j)]) rows(r, j) = kNaN;
    }
  }
  return rows;
}

// A holder's own columns of its own rows, holes filled by draws from the normal distribution that
// it fits to them (EM), given what the row has.
void FillAtHolder(MatrixXd& rows, Index first_row, Index num_rows, Index first_column,
                  Index num_columns, crypto::RandomSource& random) {
  stats::blr::Variates draw(random);
  MatrixXd own = rows.block(first_row, first_column, num_rows, num_columns);
  stats::ParameterTable table;  // names the variables
  for (Index j = 0; j < num_columns; ++j) {
    table.observed.push_back(fmt::format("t{}", first_column + j + 1));
  }
  const stats::GroupMoments normal = stats::SaturatedMoments(table, stats::PatternsOf(own, 0), 0);
  for (Index r = 0; r < num_rows; ++r) {
    std::vector<Index> there, missing;
    for (Index j = 0; j < num_columns; ++j) {
      (std::isnan(own(r, j)) ? missing : there).push_back(j);
    }
    if (missing.empty()) continue;
    const Eigen::LLT<MatrixXd> known(normal.covariance(there, there));
    const MatrixXd across = normal.covariance(there, missing);
    const Eigen::VectorXd off = own.row(r)(there).transpose() - normal.mean(there);
    const MatrixXd slope = known.solve(across);
    const MatrixXd rest = normal.covariance(missing, missing) - across.transpose() * slope;
    Eigen::VectorXd noise(static_cast<Index>(missing.size()));
    for (double& value : noise) value = draw.Normal();
    own.row(r)(missing) =
        normal.mean(missing) + slope.transpose() * off + rest.llt().matrixL() * noise;
  }
  rows.block(first_row, first_column, num_rows, num_columns) = own;
}

MatrixXd FilledAtHolders(MatrixXd rows, crypto::RandomSource& random) {
  FillAtHolder(rows, 0, kFirst, 0, 1, random);
  FillAtHolder(rows, kFirst, kRows - kFirst, 0, 1, random);
  FillAtHolder(rows, 0, kRows, 1, kWaves - 1, random);
  return rows;
}

Panel FitPanel(const std::string& name, const SmleSample& sample, const Table1Command& command,
               Progress& progress) {
  const stats::ParameterTable& table = sample.analysis.table;
  SilentProgress silent;
  const stats::SemFit plain = stats::FitSem(table, {MomentsOfRows(sample.rows)}, {}, silent);
  const SmleSetting setting = SplitFirstColumn(sample.rows, kFirst);
  SmleRunOptions options;
  options.rows_may_leak = true;  // made up
  options.masks = command.masks == "ring" ? methods::mle::published::Masks::kRing
                                          : methods::mle::published::Masks::kPaper;
  Panel panel{name, {}, {}};
  for (const std::string protocol : {kPartitioned, kSealed}) {
    if (command.quick && protocol == kSealed) continue;
    progress.Phase(fmt::format("{}, {}", name, protocol));
    const SmleRun run = RunSmle(protocol, sample, setting, options, progress);
    panel.columns.emplace_back(protocol, ColumnOf(table, run.fit));
    panel.off.emplace_back(protocol, Compare(run.fit, plain).estimates);
  }
  panel.columns.emplace_back(kOnePlace, ColumnOf(table, plain));
  return panel;
}

std::vector<Panel> Panels(const Table1Command& command, Progress& progress) {
  crypto::Prg random = RowRandom(command.seed);
  GrowthPopulation population;
  population.intercept_sd = kOpenMxMarginal[0].estimate;
  population.slope_on_intercept = kOpenMxMarginal[1].estimate;
  population.slope_rest_sd = kOpenMxMarginal[2].estimate;
  population.residual_sd = kOpenMxMarginal[3].estimate;
  population.intercept_mean = kOpenMxMarginal[4].estimate;
  population.slope_mean = kOpenMxMarginal[5].estimate;
  SmleSample sample = GrowthSample(kRows, kWaves, population, random);
  std::vector<Panel> panels = {FitPanel("before cells are missing", sample, command, progress)};
  const MatrixXd holes = WithHoles(sample.rows, random);
  sample.rows = FilledAtHolders(holes, random);
  panels.push_back(FitPanel("marginal imputation", sample, command, progress));
  panels.back().columns.emplace_back(kPaperPartitioned, kPaperMarginal);
  panels.back().columns.emplace_back(kPaperOpenMx, kOpenMxMarginal);
  stats::SemFitOptions options;
  options.information = stats::Information::kObserved;
  progress.Phase("full information");
  const stats::ParameterTable& table = sample.analysis.table;
  const stats::SemFit fiml = stats::FitFiml(table, stats::PatternsOf(holes, 0), options, progress);
  panels.push_back({"full information maximum likelihood",
                    {{kOnePlace, ColumnOf(table, fiml)}, {kPaperOpenMx, kOpenMxFiml}},
                    {}});
  return panels;
}

std::string CellText(const Cell& cell) {
  const auto text = [](double value) {
    return std::isnan(value) ? std::string("NA") : fmt::format("{:.4f}", value);
  };
  return fmt::format("{} ({})", text(cell.estimate), text(cell.error));
}

std::string Table1Text(const std::vector<Panel>& panels) {
  std::string text = "Latent growth curve of seven waves over three holders\n";
  for (const Panel& panel : panels) {
    TextTable table;
    table.header = {""};
    std::vector<const Column*> columns;
    for (const char* name : kColumns) {
      for (const auto& [column, cells] : panel.columns) {
        if (column != name) continue;
        table.header.emplace_back(name);
        table.right.push_back(table.header.size() - 1);
        columns.push_back(&cells);
      }
    }
    for (size_t k = 0; k < kParameters.size(); ++k) {
      table.rows.push_back({kParameters[k]});
      for (const Column* column : columns) table.rows.back().push_back(CellText((*column)[k]));
    }
    text += "\n" + panel.name + "\n\n" + RenderTable(table, 0);
    for (const auto& [protocol, off] : panel.off) {
      text += fmt::format("{}: at most {:.1e} standard errors from the fit in one place\n",
                          protocol, off);
    }
  }
  return text + "\n" + WrapText(kTable1Is, 0) + WrapText(kBias, 0);
}

Json Table1Number(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }

Json Table1Data(const std::vector<Panel>& panels) {
  Json rows = Json::array(), off = Json::array();
  for (const Panel& panel : panels) {
    for (const auto& [name, cells] : panel.columns) {
      for (size_t k = 0; k < kParameters.size(); ++k) {
        rows.push_back({{"panel", panel.name},
                        {"column", name},
                        {"parameter", kParameters[k]},
                        {"estimate", Table1Number(cells[k].estimate)},
                        {"standard_error", Table1Number(cells[k].error)}});
      }
    }
    for (const auto& [protocol, difference] : panel.off) {
      off.push_back({{"panel", panel.name}, {"column", protocol}, {"estimates_off", difference}});
    }
  }
  return {{"rows", rows}, {"differences", off}, {"warning", kBias}};
}

std::string Table1Csv(const std::vector<Panel>& panels) {
  std::string csv = "panel,column,parameter,estimate,standard_error\n";
  for (const Panel& panel : panels) {
    for (const auto& [name, cells] : panel.columns) {
      for (size_t k = 0; k < kParameters.size(); ++k) {
        csv += fmt::format("{},\"{}\",{},{},{}\n", panel.name, name, kParameters[k],
                           cells[k].estimate, cells[k].error);
      }
    }
  }
  return csv;
}

int RunTable1(const cli::OutputOptions& output, const Table1Command& command) {
  cli::CommandProgress progress(output);
  const std::vector<Panel> panels = Panels(command, progress.progress());
  progress.Finish();
  if (!command.output.empty()) WriteFileAtomically(command.output, Table1Csv(panels));
  cli::PrintResult(output, Table1Text(panels), Table1Data(panels).dump());
  return cli::kDone;
}

}  // namespace

void AddSmleTable1(CLI::App& reproduce, cli::Invocation& invocation) {
  auto command = std::make_shared<Table1Command>();
  CLI::App* app = reproduce.add_subcommand(
      "smle-table1", "A growth curve over three holders, on made-up rows of the paper's shape");
  cli::AddOutputOptions(*app, invocation, "reproduce smle-table1");
  app->add_option("--masks", command->masks, "Of conditional: ring or paper")
      ->check(CLI::IsMember({"ring", "paper"}))
      ->capture_default_str();
  app->add_option("--seed", command->seed, "Of the made-up rows")->capture_default_str();
  cli::AddNewFile(*app, invocation, "--output", command->output,
                  "Also write the numbers as CSV to this file");
  app->add_flag("--quick", command->quick, "Without the protocol sealed");
  app->callback([&invocation, command] {
    invocation.run = [&invocation, command] { return RunTable1(invocation.output, *command); };
  });
}

}  // namespace partita::papers
