// A short study file from what was said on the command line, and what else is asked.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/interview.h"
#include "study/file/analysis_start.h"
#include "study/file/short_study.h"

namespace partita::cli {

struct NewStudyOptions {
  std::string file;  // to be written; names the study
  std::string name, title, receiver, helper, engine, key, matched, site, missing, min_rows, method,
      accept, weights, weights_type, cluster;
  study::Declaration declared;
  std::vector<std::string> parties;
  std::vector<std::string> dictionaries;  // a file, or PARTY=FILE for each where columns are split
  std::vector<std::string> bounds;        // NAMES=LOWER..UPPER
  std::vector<std::string> levels;        // NAMES=LEVELS
  std::vector<std::string> without;       // variables that are left out
  std::vector<std::string> rows;          // COUNT, or PARTY=COUNT
  study::Said said;                       // of the analysis
  study::Said engine_said;                // further keys of [engine]
};

// Every party holds rows of its own, or the dictionaries say who holds which columns of the same
// rows. The dictionary has the variables that the analysis names. Without a word about the engine:
// "dealer" with a helper, else "ot" for two, "replicated" for three, "shamir" for four to seven
// parties. Throws kUsage for what makes no sense or, where nobody can be asked, is missing.
study::ShortStudy NewStudy(const NewStudyOptions& options, Interview& interview);

}  // namespace partita::cli
