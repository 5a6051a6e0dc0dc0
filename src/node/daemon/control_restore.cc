// Of copies of the state, and of a node that was restored from one. Answers to requests (control.h).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hex.h"
#include "base/public_file.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/daemon/control.h"
#include "node/daemon/request_fields.h"
#include "node/job/closed.h"
#include "node/job/kept_budgets.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

// Whether the tables are closed since a restore.
Answered RestoredJson(const NodeFolder& folder, const Digest& steward) {
  const std::optional<RestoredMark> mark = ReadRestoredMark(folder.restored());
  const RestoreWord word =
      mark ? WordFor(*mark, RestoreFilesOf(folder), {steward}) : RestoreWord::kAllSpent;
  if (word == RestoreWord::kAllSpent) {
    return {{"mark", ""},
            {"time", mark ? FormatUtc(mark->time) : ""},
            {"accounts", 0},
            {"closed", false}};
  }
  return {{"mark", ToHex(Encode(*mark))},
          {"time", FormatUtc(mark->time)},
          {"accounts", mark->accounts.size()},
          {"closed", word == RestoreWord::kNone}};
}

Answered AnswersJson(const std::vector<Bytes>& answers) {
  Answered all = Answered::array();
  for (const Bytes& answer : answers) all.push_back({{"answer", ToHex(answer)}});
  return all;
}

}  // namespace

Control::Answered Control::Backup(RequestFields& request, const Actor& actor) {
  request.End();
  const std::filesystem::path copy = parts_.folder.state() / "backup.sqlite";
  std::filesystem::remove(copy);
  // First: the copy has it, too.
  Note(actor, AuditAction::kExport, "backup");
  OnLoop([&](Node& node, int64_t) { node.CopyStateTo(copy); });
  return {{"file", copy.string()}};
}

Control::Answered Control::RestoredTables(RequestFields& request, const Actor& /*actor*/) {
  request.End();
  return RestoredJson(parts_.folder, parts_.steward);
}

Control::Answered Control::ReopenTables(RequestFields& request, const Actor& actor) {
  const Signature word{request.Raw("certificate"), request.Raw("signature")};
  request.End();
  const std::optional<RestoredMark> mark = ReadRestoredMark(parts_.folder.restored());
  if (!mark)
    throw Error(ErrorCode::kUsage, "this node was not restored", "There is nothing to open.");
  const Bytes document = EncodeReopened(DigestOf(*mark), word);
  if (!IsReopenedBy(document, DigestOf(*mark), {parts_.steward})) {
    throw Error(ErrorCode::kRefused, "only the site's steward opens the tables of a restored node",
                "Name the folder of the steward's key.");
  }
  // For jobs of another user, too; it is signed, and says nothing that is secret.
  WritePublicFile(parts_.folder.reopened().string(),
                  {reinterpret_cast<const char*>(document.data()), document.size()}, 0644);
  Note(actor, AuditAction::kReopened, "",
       fmt::format("the budgets of {} accounts count as spent", mark->accounts.size()));
  parts_.log.Write("reopened");
  return Answered::object();
}

Control::Answered Control::KeptBudgets(RequestFields& request, const Actor& /*actor*/) {
  request.End();
  const HeadsDesk::Found found = parts_.heads.Find();
  return {{"finding", ToHex(found.finding)},
          {"list", ToHex(parts_.keeper.Document())},
          {"answers", AnswersJson(found.answers)}};
}

Control::Answered Control::KeepBudgets(RequestFields& request, const Actor& actor) {
  const Bytes document = request.Raw("document");
  request.End();
  const std::optional<RestoredMark> mark = ReadRestoredMark(parts_.folder.restored());
  if (!mark)
    throw Error(ErrorCode::kUsage, "this node was not restored", "There is nothing to open.");
  const SignedKept word = DecodeSignedKept(document);
  if (word.kept.mark != DigestOf(*mark) || !IsKeptSignedBy(word, kKeptDomain, {parts_.steward})) {
    throw Error(ErrorCode::kRefused, "only the site's steward says which budgets are kept",
                "Name the folder of the steward's key.");
  }
  WritePublicFile(parts_.folder.kept().string(),
                  {reinterpret_cast<const char*>(document.data()), document.size()}, 0644);
  const size_t spent = SpentBy(*mark, RestoreFilesOf(parts_.folder), {parts_.steward}).size();
  Note(actor, AuditAction::kBudgetsKept, "",
       fmt::format("the budgets of {} accounts are kept, those of {} count as spent",
                   mark->accounts.size() - spent, spent));
  parts_.log.Write("budgets-kept");
  return Answered::object();
}

}  // namespace partita::node
