#include "node/job/errand.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "node/job/heads_answer.h"
#include "node/job/kept_look.h"
#include "node/job/own_dictionary.h"
#include "node/job/short_answer.h"
#include "node/job/table_look.h"
#include "node/job/tidy_folders.h"

namespace partita::node {
namespace {

std::string TidyFolders(const JobSettings& settings, const std::vector<OverStudy>& studies) {
  size_t deleted = 0;
  std::string problem;
  for (const OverStudy& study : studies) {
    try {
      deleted += DeleteWhatIsNotKept(settings.studies, study);
    } catch (const Error& error) {
      if (problem.empty()) problem = error.message();
    }
  }
  return nlohmann::ordered_json{{"deleted", deleted}, {"problem", problem}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string TextOf(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

std::string DoErrand(const JobSettings& settings, const JobErrand& errand) {
  switch (errand.kind) {
    case ErrandKind::kPlaces:
      return LookAtTables(settings, TableLook::kPlaces);
    case ErrandKind::kBudgets:
      return LookAtTables(settings, TableLook::kBudgets);
    case ErrandKind::kTidy:
      return TidyFolders(settings, errand.studies);
    case ErrandKind::kDraft:
      if (!settings.catalogue.contains(errand.name)) return "";
      return DraftOfTable(settings, errand.name);
    case ErrandKind::kHeads:
      return TextOf(ShortAnswerOf([&] { return Encode(HeadsShownBy(settings, errand.name)); }));
    case ErrandKind::kKept:
      return TextOf(ShortAnswerOf([&] { return FindKept(settings, errand.answers); }));
  }
  throw Error(ErrorCode::kInternal, "an errand that does not exist");
}

}  // namespace partita::node
