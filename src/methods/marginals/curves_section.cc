#include "methods/marginals/curves_section.h"

#include <fmt/format.h>

#include "base/error.h"
#include "methods/marginals/section.h"
#include "methods/marginals/section_promise.h"
#include "study/file/sections.h"
#include "study/file/survival_keys.h"
#include "study/file/text.h"

namespace partita::methods::marginals {
namespace {

using study::Quote;
using study::StudyFile;
using study::TableReader;

void RefuseExactCurves(const TableReader& reader) {
  if (reader.Has("model")) {
    reader.Fail(reader.PositionOf("model"),
                "models of hazards keep no promise of differential privacy",
                "remove [analysis.privacy], or 'model' for curves from noised counts");
  }
  study::RefuseModelKeys(reader);
  if (reader.Has("subset")) {
    reader.Fail(reader.PositionOf("subset"),
                "'subset' with [analysis.privacy] would leave rows out, and every row is counted",
                "remove it, and agree on tables of those rows, or name it as a group");
  }
  if (reader.Has("release")) {
    reader.Fail(reader.PositionOf("release"),
                "'release' with [analysis.privacy] is not asked: the counts open to all",
                "remove it");
  }
}

// Intervals between report times.
void ReadReportAlone(const TableReader& reader, CurveCells& cells) {
  for (const study::Located<double>& time : reader.Values("report", false, "report = [365, 730]")) {
    if (!(time.value > cells.outcome.lower && time.value <= cells.outcome.upper)) {
      reader.Fail(
          time.position,
          fmt::format("{:g} is no time after {:g} and until {:g}, the bounds of {}", time.value,
                      cells.outcome.lower, cells.outcome.upper, Quote(cells.outcome.name)),
          "name times within the bounds");
    }
    if (!cells.ends.empty() && time.value <= cells.ends.back())
      reader.Fail(time.position, "report times increase", "sort them, and name each once");
    cells.report.push_back(cells.ends.size());
    cells.ends.push_back(time.value);
  }
  if (cells.ends.empty() || cells.ends.size() > study::kMostReports) {
    reader.Fail(reader.PositionOf("report"),
                fmt::format("there are {} report times", cells.ends.size()),
                fmt::format("ask for 1 to {}", study::kMostReports));
  }
}

// Cells of one width until the last report time.
void ReadReportInCells(const TableReader& reader, CurveCells& cells) {
  const data::TimeGrid grid = study::ReadTimeGrid(reader, cells.outcome);
  reader.Values("report", false, "report = [365, 730]");  // it must be there
  for (const size_t cell : study::ReadReportTimes(reader, cells.outcome, grid)) {
    if (cell == 0) {
      reader.Fail(
          reader.PositionOf("report"),
          fmt::format("{:g}, the lower bound, is no report time of noised curves", grid.lower),
          "name later times");
    }
    cells.report.push_back(cell - 1);
  }
  if (cells.report.empty())
    reader.Fail(reader.PositionOf("report"), "there are no report times", "name one at least");
  for (size_t cell = 1; cell <= cells.report.back() + 1; ++cell)
    cells.ends.push_back(grid.End(cell));
}

}  // namespace

std::shared_ptr<const study::Section> ReadCurves(const TableReader& reader, const StudyFile& study,
                                                 study::AnalysisSpec& analysis) {
  auto section = std::make_shared<MarginalsSection>();
  RefuseExactCurves(reader);
  study::CurveFormula formula = study::ReadCurveFormula(reader, study);
  CurveCells cells;
  cells.formula = std::move(formula.text);
  cells.outcome = std::move(formula.outcome);
  cells.groups = std::move(formula.groups);
  reader.Has("cell") ? ReadReportInCells(reader, cells) : ReadReportAlone(reader, cells);
  cells.confidence = study::ReadConfidence(reader);
  const bool missing = study.design.missing == study::MissingPolicy::kComplete;
  section->spec.columns = {ColumnOfCells(cells, missing)};
  section->spec.curves = std::move(cells);
  RequireRows(reader, study, section->spec);
  try {
    TablesOfColumns(section->spec.columns);
  } catch (const Error&) {
    const CurveCells& curves = *section->spec.curves;
    reader.Fail(
        reader.position(),
        fmt::format("{} groups with {} intervals of time have {} cells, more than {}",
                    curves.num_groups(), curves.ends.size(),
                    curves.num_groups() * curves.cells_of_group(), stats::marginals::kMaxLevels),
        "take fewer groups or report times, or wider cells");
  }
  ReadPromise(reader, study, section->spec);
  analysis.protocol = kProtocol;
  return section;
}

}  // namespace partita::methods::marginals
