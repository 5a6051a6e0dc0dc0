#include "methods/glm/hidden.h"

#include <fmt/format.h>

#include "run/method/hidden_rows.h"

namespace partita::methods::glm {

using run::Refuse;

void RequireSupportedHidden(const GlmStudy& study) {
  if (!run::HasHiddenRows(study)) return;
  const study::AnalysisSpec& analysis = study.Analysis();
  if (!study.task.spec.sealed) {
    Refuse(study, analysis.position,
           fmt::format("which rows match is hidden, and at level {} holders compute with rows that "
                       "they know to take part",
                       study.task.spec.level()),
           "take protocol = \"sealed\"");
  }
  if (study.task.spec.told_to_all) {
    Refuse(study, analysis.position,
           fmt::format("analysis '{}' tells estimates to others than the receiver: holders could "
                       "find from them and their own rows which of these match",
                       analysis.name),
           "release them to the receiver only");
  }
  if (!study.task.spec.weights.empty()) {
    Refuse(study, analysis.position,
           "which rows match is hidden, and with weights one row could decide whether there are "
           "enough, which all holders are told",
           "leave the weights out, or match by a list that the holders may know");
  }
  if (study.task.spec.clustered()) {
    Refuse(study, analysis.position,
           "which rows match is hidden, and whether there are enough clusters would be one more "
           "answer to all about them",
           "take errors = \"robust\" without a cluster in [design], or match by a list that the "
           "holders may know");
  }
  run::RequireNoSubset(study, analysis);
  run::RequireHiddenAlone(study);
  run::RequireOutsideReceiver(study);
}

std::string NotToldText(const Task& task) {
  return task.hidden_rows ? "; else there are no estimates, and nobody is told that it was this"
                          : "";
}

std::string HiddenText(const GlmStudy& study) {
  const std::string& receiver = study.parties[study.receiver].name;
  return fmt::format(
      "Which rows match is hidden: holders are told whether there are enough rows, and nothing "
      "else; "
      "one that has hardly more than that learns from a yes that nearly all of its rows match. "
      "Small "
      "counts, collinear columns and a fit that did not converge are one answer, which opens to {} "
      "with the number of rows; then {} learns neither which of these it was nor anything of the "
      "fit. No message's size depends on which rows match. What opens to {} is of the rows that "
      "match: from it and its own rows a holder could find which these are, so keep it from them.",
      receiver, receiver, receiver);
}

}  // namespace partita::methods::glm
