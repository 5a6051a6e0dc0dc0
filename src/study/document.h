// What a run found, for people and programs: the result of a method that has no report of its own.
// The report writes it to the terminal, as JSON and as HTML (report/document_report.h).
#pragma once

#include <string>
#include <vector>

#include "base/cell_table.h"

namespace partita::study {

using DocumentCell = TableCell;
using DocumentTable = CellTable;

struct DocumentSeries {
  std::string name;
  std::vector<double> x, y;  // equally long
};

struct DocumentPlot {
  std::string title, x_label, y_label;
  std::vector<DocumentSeries> series;
};

struct DocumentSection {
  std::string heading;
  std::vector<std::string> paragraphs = {};  // whole sentences
  std::vector<DocumentTable> tables = {};
  std::vector<DocumentPlot> plots = {};
  // Exact numbers of this party's own rows: shown on its terminal, and in no file that may be
  // passed on.
  bool own_rows = false;
};

// Written beside result.json: a synthetic table, the draws of a chain.
struct DocumentFile {
  std::string name;  // without folders
  std::string contents;
};

struct Document {
  std::string title;
  std::vector<DocumentSection> sections;
  std::string json;  // one object of the method's own, for programs
  std::vector<DocumentFile> files;
  bool converged = true;  // false: the exit code says so
};

}  // namespace partita::study
