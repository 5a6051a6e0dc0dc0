#include "methods/describe/hidden.h"

#include <fmt/format.h>

#include "run/method/hidden_rows.h"

namespace partita::methods::describe {

using run::Refuse;

void RequireSupportedHidden(const DescribeStudy& study) {
  if (!run::HasHiddenRows(study)) return;
  const study::AnalysisSpec& analysis = study.Analysis();
  if (study.spec.told_to_all) {
    Refuse(study, analysis.position,
           fmt::format("analysis '{}' opens the table to others than the receiver: holders could "
                       "subtract its counts from their own and find which rows match",
                       analysis.name),
           "release it to the receiver only");
  }
  run::RequireNoSubset(study, analysis);
  run::RequireHiddenAlone(study);
  run::RequireOutsideReceiver(study);
}

std::string HiddenText(const DescribeStudy& study) {
  const std::string& receiver = study.parties[study.receiver].name;
  return fmt::format(
      "Which rows match is hidden: holders are told whether there are min_rows rows, and nothing "
      "else, not what was withheld; one that has hardly more rows learns from a yes that nearly "
      "all "
      "of them match. No message's size depends on which rows match. Counts are compared with "
      "min_cell over the rows that match, not over those that do not, which {} cannot count. "
      "Whoever shows the table to a holder, or publishes it, tells it how many of its rows with "
      "each value match: where few do not, or all or none do, which these are.",
      receiver);
}

}  // namespace partita::methods::describe
