// `check` and `commit`: what happens to a study before anybody approves it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "base/version.h"
#include "crypto/signature.h"
#include "data/csv_header.h"
#include "data/holding.h"
#include "data/snapshot.h"
#include "node/job/closed.h"
#include "node/job/documents.h"
#include "node/job/door.h"
#include "node/job/kinds.h"
#include "node/job/own_dictionary.h"
#include "node/job/own_persons.h"
#include "node/job/statement.h"
#include "node/job/table.h"
#include "run/approval/approval_files.h"
#include "run/ledger/price.h"
#include "run/party/local_data.h"
#include "run/party/row_sets.h"
#include "study/plan/hashes.h"

namespace partita::node {
namespace {

constexpr char kCannotCheck[] = "this node cannot check it now";
constexpr char kDraftFile[] = "draft.json", kStatementFile[] = "statement";
constexpr size_t kMaxDraftBytes = size_t{1} << 20;

void RequireLock(const JobWork& work) {
  if (WaitForLock(work.folder, kFolderPatience)) return;
  throw Error(ErrorCode::kTimeout, "another job of this study goes on",
              "Look at the jobs of this machine.");
}

// What goes by without anybody changing the study or the table.
bool MayPass(ErrorCode code) {
  return code == ErrorCode::kStorage || code == ErrorCode::kUnreachable ||
         code == ErrorCode::kTimeout;
}

bool IsHolder(const Prepared& prepared) { return prepared.study->parties[prepared.party].holder; }

// Whether the table has every column that the study reads of this party. No row is looked at: the answer
// goes to the proposer, who chose the columns, before anybody here has seen the study.
bool HasColumns(const Prepared& prepared, const JobTable& table) {
  const run::Study& study = *prepared.study;
  data::CsvOptions options;
  options.separator = study.file.table.separator;
  options.decimal = study.file.table.decimal;
  try {
    data::RequireColumns(table.data,
                         data::SchemaForParty(study.file.dictionary, study.partition,
                                              prepared.party, study.row_columns),
                         options);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadData) return false;
    throw;
  }
}

// The one table of the catalogue that has the columns, and hides none of them.
std::string FindTable(const JobWork& work, const Prepared& prepared) {
  std::string found, hidden_in;
  for (const auto& [name, table] : work.settings.catalogue) {
    if (!HasColumns(prepared, table)) continue;
    if (const std::string hidden = HiddenColumns(work.settings, name, prepared); !hidden.empty()) {
      hidden_in += fmt::format("the dictionary of {} hides {}; ", name, hidden);
      continue;
    }
    if (!found.empty()) throw NotHere("more than one table here has the columns that it asks for");
    found = name;
  }
  if (!found.empty()) return found;
  // The same word for a column that is hidden and one that is not there.
  if (!hidden_in.empty())
    work.folder.NoteProblem(hidden_in + "a study that asks for these is told no more than below");
  throw NotHere("no table here offers the variables that it asks for");
}

// What the study takes of its table's budget; empty where nothing is charged. Throws kBudget, kRefused.
std::string BudgetText(const JobSettings& settings, const Prepared& prepared,
                       const JobTable& table) {
  const run::Study& study = *prepared.study;
  if (settings.ledger.empty() || study.releases.empty()) return "";
  return run::PriceText(run::PriceOf(study, settings.ledger, table.account));
}

// For the own stewards: what was charged since the study was checked may leave too little.
std::string BudgetOrWhyNot(const JobSettings& settings, const Prepared& prepared,
                           const JobTable& table) {
  try {
    return BudgetText(settings, prepared, table);
  } catch (const Error& error) {
    return fmt::format("The budget does not allow it now: {}. A run would be refused.\n",
                       error.message());
  }
}

void RequireNotClosed(const JobWork& work, const JobTable& table) {
  try {
    RequireOpenTable(work.settings, table);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRefused) throw;
    work.folder.NoteProblem(error.message() + "; " + error.hint());
    throw NotHere("its tables are closed now");
  }
}

void RequireBudget(const JobWork& work, const Prepared& prepared, const JobTable& table) {
  const JobSettings& settings = work.settings;
  if (settings.ledger.empty() && prepared.study->IsPrivate())
    throw NotHere("no privacy ledger is kept here");
  try {
    BudgetText(settings, prepared, table);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBudget && error.code() != ErrorCode::kRefused) throw;
    // Its numbers are for the own people.
    work.folder.NoteProblem(error.message() + "; " + error.hint());
    throw NotHere("the budget of its table does not allow it");
  }
}

Facts FactsOf(const Prepared& prepared) {
  const run::Study& study = *prepared.study;
  Facts facts;
  for (const study::Party& party : study.file.parties) facts.parties.push_back(party.name);
  facts.receivers = {study.parties[study.receiver].name};
  // Methods whose parties first agree where to go on.
  facts.resumable = study.CostOfAgreement().has_value();
  // As the doctor counts, but by the declared numbers of rows, which are public.
  uint64_t rows = 0;
  for (const data::RowBlock& block : study.partition.blocks)
    rows += block.count.value_or(run::kMaxUndeclaredRows / study.partition.blocks.size());
  facts.memory_bytes = 64'000'000 + rows * (8 * study.file.dictionary.columns.size() + 64 +
                                            3 * 16 * study.NumbersPerRow());
  double seconds = 0;
  for (const study::PlanPrediction& prediction : prepared.plan.predictions)
    seconds = std::max(seconds, prediction.seconds);
  facts.seconds = static_cast<uint32_t>(std::clamp(std::ceil(seconds), 1.0, 4e9));
  facts.plan_hash = study::PlanHash(prepared.plan);
  return facts;
}

Checked CheckedStudy(const JobWork& work) {
  const JobSettings& settings = work.settings;
  RequireStudy(work.study());
  work.folder.RequireKept();
  if (work.study().expires > NowUtc() + kMaxStudySeconds)
    throw Error(ErrorCode::kRefused, "the study expires later than any may");
  const Prepared prepared = [&] {
    try {
      return Prepare(settings.self, work.study().file);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      work.folder.NoteProblem(error.message() + "; " + error.hint());
      throw NotHere("its study file is not valid in this release of Partita");
    }
  }();
  RequireHouseRules(settings, prepared);
  if (IsHolder(prepared)) {
    const std::string table = FindTable(work, prepared);
    RequireNotClosed(work, settings.catalogue.at(table));
    RequireBudget(work, prepared, settings.catalogue.at(table));
    work.folder.BindTable(table);
  }
  Checked checked;
  checked.facts = FactsOf(prepared);
  checked.run_certificate =
      crypto::EncodeCertificate(*work.folder.MakeRunKey(work.study().expires).certificate);
  checked.address = settings.address;
  return checked;
}

// The approval as the steward signs it. The commitment hides the table (data/snapshot.h).
study::Approval DraftOf(const JobWork& work, const Documents& documents,
                        const crypto::Digest& commitment, crypto::RandomSource& random) {
  study::Approval approval;
  approval.party = work.settings.self;
  approval.study = documents.terms.study;
  approval.agreement_hash = documents.terms.agreement_hash;
  approval.plan_hash = documents.terms.plan_hash;
  approval.disclosure = documents.terms.disclosure;
  approval.commitment = commitment;
  random.Fill(approval.nonce);
  approval.approved_at = NowUtc();
  approval.valid_until = work.study().expires;
  approval.software_version = kVersion;
  approval.stewards = StewardsNeeded(work.settings, work.folder.Table());
  return approval;
}

// What is said of a table to its own stewards.
CommitStatement StatementOf(const JobWork& work, const run::LocalData& local) {
  CommitStatement statement;
  statement.table = work.folder.Table();
  statement.commitment = local.snapshot.commitment;
  statement.rows = local.cells.rows;
  statement.missing = local.cells.missing;
  statement.edition = FrozenEdition(work.folder);
  return statement;
}

struct Commitment {
  study::Approval draft;
  CommitStatement statement;  // but for the draft
};

// Reads the table as the run will: what would stop there stops here. Durable on return.
Commitment Commit(const JobWork& work, const Prepared& prepared, const Documents& documents) {
  crypto::SystemRandom random;
  if (!IsHolder(prepared)) return {DraftOf(work, documents, {}, random), {}};
  const auto table = work.settings.catalogue.find(work.folder.Table());
  if (table == work.settings.catalogue.end()) {
    throw Error(ErrorCode::kRefused, "the table of this study is not in the catalogue any more",
                "Put it back, or withdraw the study.");
  }
  RequireOpenTable(work.settings, table->second);
  RequireOffered(work.settings, table->first, prepared);
  FreezeTable(work.folder, prepared, table->second);
  const auto [data, row_sets] = TableOf(work.folder, table->second);
  SilentProgress progress;
  run::RequireOwnersResult(*prepared.study, prepared.party, data);
  for (const std::filesystem::path& record : row_sets)
    run::RequireServable(*prepared.study, prepared.party, data, record, random, progress);
  const crypto::Key salt = crypto::RandomKey(random);
  const run::LocalData local =
      run::LoadLocalData(*prepared.study, prepared.party, data, salt, progress);
  study::Approval draft = DraftOf(work, documents, local.snapshot.commitment, random);
  WriteFileAtomically(run::SecretPath(work.folder.File("approval.json")).string(),
                      study::RenderSecret({draft.party, draft.commitment, salt}));
  CommitStatement statement = StatementOf(work, local);
  statement.budget = BudgetOrWhyNot(work.settings, prepared, table->second);
  statement.dictionary = DictionaryDifferences(work.settings, table->first, prepared);
  return {draft, statement};
}

// The draft first: what signs it is only of use with it.
void KeepDraft(const JobWork& work, const Commitment& made) {
  const std::string draft = study::RenderApproval({made.draft, {}});
  CommitStatement statement = made.statement;
  statement.study = work.study().id;
  statement.draft = crypto::Sha256Of(AsBytes(draft));
  const Bytes commit = Encode(SignCommit(
      statement, crypto::LoadIdentity(work.settings.job_certificate, work.settings.job_key)));
  work.folder.Show(work.folder.File(kDraftFile), draft);
  work.folder.Show(work.folder.File(kStatementFile),
                   {reinterpret_cast<const char*>(commit.data()), commit.size()});
}

// What an earlier job kept for the same agreement; none, too, where it was killed in between.
std::optional<std::string> KeptDraft(const JobWork& work, const Documents& documents) {
  const std::filesystem::path draft = work.folder.File(kDraftFile),
                              statement = work.folder.File(kStatementFile);
  if (!std::filesystem::exists(draft) || !std::filesystem::exists(statement)) return std::nullopt;
  const std::string text = ReadFile(draft, kMaxDraftBytes, "the draft of an approval");
  const SignedCommit commit =
      DecodeSignedCommit(AsBytes(ReadFile(statement, kMaxStatementBytes, "a commit statement")));
  const bool belongs = commit.statement.draft == crypto::Sha256Of(AsBytes(text));
  const study::Approval before = study::ParseApproval(text, "the draft").approval;
  if (!belongs || before.agreement_hash != documents.terms.agreement_hash) return std::nullopt;
  return text;
}

}  // namespace

JobReport CheckStudy(JobWork& work) {
  RequireLock(work);
  Checked checked;
  try {
    checked = CheckedStudy(work);
  } catch (const NotHere& refusal) {
    checked.refusal = refusal.message();
  } catch (const Error& error) {
    // A full disk, a database that is away: the node asks for the check again.
    if (MayPass(error.code())) throw;
    work.folder.NoteProblem(error.message() + "; " + error.hint());
    checked.refusal = kCannotCheck;
  }
  return work.Report(checked);
}

JobReport CommitTable(JobWork& work) {
  RequireLock(work);
  const Prepared prepared = Prepare(work.settings.self, work.study().file);
  const Documents documents = VerifyDocuments(work.settings, work.study(), prepared, work.folder);
  if (!KeptDraft(work, documents)) KeepDraft(work, Commit(work, prepared, documents));
  JobReport report = work.Report(Committed{documents.terms.agreement_hash});
  report.draft = ReadFile(work.folder.File(kDraftFile), kMaxDraftBytes, "the draft of an approval");
  const std::string statement =
      ReadFile(work.folder.File(kStatementFile), kMaxStatementBytes, "a commit statement");
  report.statement = Bytes(statement.begin(), statement.end());
  return report;
}

}  // namespace partita::node
