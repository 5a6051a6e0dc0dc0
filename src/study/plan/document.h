// What a run found, for people and programs: the result of a method that has no report of its own.
// The report writes it to the terminal, as JSON and as HTML (report/document_report.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/cell_table.h"

namespace partita::study {

using DocumentCell = TableCell;
using DocumentTable = CellTable;

struct DocumentSeries {
  std::string name;
  std::vector<double> x, y;  // equally long
  // As long, or empty: the series is a band from y to here instead of a line.
  std::vector<double> upper = {};
};

struct DocumentPlot {
  std::string title, x_label, y_label;
  std::vector<DocumentSeries> series;
  std::string note = {};  // what stands below the title
};

// An estimate with its interval.
struct DocumentInterval {
  std::string name;
  double lower = 0, middle = 0, upper = 0;
};

// Rows of names with their intervals on one axis (a forest plot). ratios: positive numbers, on a
// logarithmic axis with a line at 1; else with a line at 0.
struct DocumentIntervals {
  std::string title, x_label;
  bool ratios = false;
  std::vector<DocumentInterval> rows;
};

struct DocumentSection {
  std::string heading;
  std::vector<std::string> paragraphs = {};  // whole sentences
  std::vector<DocumentTable> tables = {};
  std::vector<DocumentPlot> plots = {};
  std::vector<DocumentIntervals> intervals = {};
  // Exact numbers of this party's own rows: shown on its terminal, and in no file that may be
  // passed on.
  bool own_rows = false;
};

// Written beside result.json: a synthetic table, the draws of a chain.
struct DocumentFile {
  std::string name;  // without folders
  std::string contents;
};

// How a result ended.
enum class Ending {
  kConverged,
  kNotConverged,
  kNotTrained,  // interruptions took openings that it was to be made from
};
// "converged", "not-converged", "not-trained".
inline std::string_view EndingName(Ending ending) {
  switch (ending) {
    case Ending::kConverged:
      return "converged";
    case Ending::kNotConverged:
      return "not-converged";
    case Ending::kNotTrained:
      break;
  }
  return "not-trained";
}

struct Document {
  std::string title;
  std::vector<DocumentSection> sections;
  std::string json;  // one object of the method's own, for programs
  std::vector<DocumentFile> files;
  Ending ending = Ending::kConverged;  // anything else: the exit code says so
};

}  // namespace partita::study
