// A study of method `meta` with any number of sites, and their tables.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "stats/meta/pool.h"

namespace partita::methods::meta::testing {

// keys: further lines of the analysis.
inline std::string MetaText(size_t sites, const std::string& engine, const std::string& keys = "",
                            const std::string& more = "") {
  std::string text = "partita = 1\nname = \"sites\"\n";
  for (size_t h = 0; h < sites; ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  if (engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (size_t h = 0; h < sites; ++h)
    text += fmt::format("[[rows]]\nname = \"r{}\"\ncount = 1\n", h);
  text +=
      "[[variable]]\nname = \"b\"\ntype = \"numeric\"\nlower = -4\nupper = 4\n"
      "[[variable]]\nname = \"se\"\ntype = \"numeric\"\nlower = 0.01\nupper = 4\n"
      "[[variable]]\nname = \"centre\"\ntype = \"factor\"\nlevels = [\"small\", \"large\"]\n"
      "[design]\nsite = \"ignore\"\nmissing = \"complete\"\n";
  text += more;
  text += fmt::format("[engine]\nname = \"{}\"\n", engine);
  return text + "[[analysis]]\nmethod = \"meta\"\nestimate = \"b\"\nstandard_error = \"se\"\n" +
         keys + "release = [\"pooled\"]\n";
}

// Sites with rows of their own.
inline std::string FormulaText(size_t sites, const std::string& engine,
                               const std::string& keys = "") {
  std::string text = MetaText(sites, engine, "@");
  const std::string count = "count = 1\n";
  for (size_t at = text.find(count); at != std::string::npos; at = text.find(count))
    text.erase(at, count.size());
  const size_t variables = text.find("[[variable]]"), design = text.find("[design]");
  text.replace(variables, design - variables,
               "[[variable]]\nname = \"relapse\"\ntype = \"factor\"\nlevels = [\"no\", \"yes\"]\n"
               "[[variable]]\nname = \"arm\"\ntype = \"factor\"\nlevels = [\"old\", \"new\"]\n"
               "[[variable]]\nname = \"age\"\ntype = \"integer\"\nlower = 20\nupper = 80\n"
               "[disclosure]\nmin_rows = 100\n");
  const size_t analysis = text.find("estimate = \"b\"");
  return text.replace(analysis, text.find('@') + 1 - analysis,
                      "formula = \"relapse ~ arm + age\"\nfamily = \"binomial\"\nterm = "
                      "\"arm.new\"\n" +
                          keys);
}

inline const std::string kAccept = "[release]\naccept = \"table of covariates\"\n";

inline std::vector<std::string> TablesOf(const stats::meta::Sites& sites) {
  std::vector<std::string> tables;
  for (size_t s = 0; s < sites.estimates.size(); ++s) {
    tables.push_back(fmt::format("b,se,centre\n{:.17g},{:.17g},{}\n", sites.estimates[s],
                                 sites.standard_errors[s], s % 2 == 0 ? "small" : "large"));
  }
  return tables;
}

inline const std::string kNoEstimate = "b,se,centre\n,,small\n";

}  // namespace partita::methods::meta::testing
