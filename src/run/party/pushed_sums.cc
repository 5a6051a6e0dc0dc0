#include "run/party/pushed_sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "crypto/state_file.h"
#include "run/party/editions.h"
#include "run/party/locked_file.h"
#include "run/party/row_sets.h"

namespace partita::run {
namespace {

constexpr uint64_t kMostFileBytes = uint64_t{1} << 28;
constexpr uint64_t kMostQueryBytes = uint64_t{1} << 28;
constexpr size_t kCountedSets = 2;  // of SumsOf: those before what exact results are about

const crypto::StateKind kSumSetsKind = {
    "partita sum sets 1", "the record of served sums",
    "bring it back from a backup, or delete it if no exact result of this source was released"};

struct Served {
  data::SumQuery query;
  crypto::Digest answer{};
};

std::vector<Served> ReadServed(const std::filesystem::path& file) {
  std::vector<Served> served;
  const std::optional<SecretBytes> bytes = crypto::ReadState(kSumSetsKind, file);
  if (!bytes) return served;
  crypto::DecodeState(kSumSetsKind, bytes->Expose(), {}, [&](ByteReader& content) {
    for (uint64_t i = content.U64(); i > 0; --i) {
      Served& one = served.emplace_back();
      one.query = data::DecodeSumQuery(content.Blob(kMostQueryBytes));
      const ByteView digest = content.Raw(one.answer.size());
      std::copy(digest.begin(), digest.end(), one.answer.begin());
    }
  });
  return served;
}

void WriteServed(const std::filesystem::path& file, const std::vector<Served>& served) {
  ByteWriter content;
  content.U64(served.size());
  for (const Served& one : served) {
    content.Blob(data::EncodeSumQuery(one.query));
    content.Raw(one.answer);
  }
  crypto::WriteState(file, crypto::EncodeState(kSumSetsKind, {}, content.Take()));
}

crypto::Digest DigestOf(const data::SumAnswer& answer) {
  crypto::Sha256 hash;
  for (const Int128 number : data::NumbersOf(answer)) hash.Field(ToString(number));
  return hash.Finish();
}

bool IsAnother(const data::SumQuery& one, const data::SumQuery& other) {
  return data::DigestOf(one) != data::DigestOf(other);
}

// The query with pairs of its sets and served ones, whose columns are behind its own.
data::SumQuery WithPairs(const data::SumQuery& query, const std::vector<Served>& served) {
  data::SumQuery asked = query;
  for (const Served& one : served) {
    if (!IsAnother(one.query, query)) continue;
    const size_t first = asked.columns.size();
    asked.columns.insert(asked.columns.end(), one.query.columns.begin(), one.query.columns.end());
    for (size_t theirs = kCountedSets; theirs < one.query.sets.size(); ++theirs) {
      data::SumRows rows = one.query.sets[theirs];
      for (data::SumCondition& condition : rows) condition.column += first;
      for (size_t ours = kCountedSets; ours < query.sets.size(); ++ours)
        asked.apart.emplace_back(query.sets[ours], rows);
    }
  }
  return asked;
}

void RequireApart(const data::SumAnswer& answer, uint64_t least, const std::string& source,
                  const std::filesystem::path& record) {
  for (const Int128 apart : answer.apart) {
    if (apart == 0 || apart >= static_cast<Int128>(least)) continue;
    throw Error(
        ErrorCode::kRefused,
        fmt::format(
            "{}: sums were formed of rows that differ from those of this study by {}, fewer "
            "than {}: exact results of both would show these rows",
            source, ToString(apart), least),
        fmt::format("use the same rows as before: where missing cells leave rows out, let every "
                    "study of this table say the same [population], subset = [{{variable = ..., "
                    "present = true}}]; what was asked is in {}",
                    record.string()));
  }
}

// answers: of now, to what was served.
void RequireUnchanged(const std::vector<data::SumAnswer>& answers,
                      const std::vector<Served>& served, const std::string& source,
                      const std::filesystem::path& record) {
  for (size_t s = 0; s < served.size(); ++s) {
    if (DigestOf(answers.at(s)) == served[s].answer) continue;
    throw Error(
        ErrorCode::kRefused,
        source +
            ": rows have come, gone or changed since sums of them were formed: exact results of "
            "both would show which",
        fmt::format("ask a table, view or partition that stays as it is, and name the next edition "
                    "of it in a source file of its own; what was asked is in {}",
                    record.string()));
  }
}

// Without what was asked for the record alone.
data::SumAnswer OwnAnswer(const data::SumQuery& query, data::SumAnswer answer) {
  answer.apart.clear();
  answer.checks.resize(query.columns.size());
  return answer;
}

bool AllowsMissing(const Study& study) {
  return study.file.design.missing != study::MissingPolicy::kRefuse;
}

// Rows that were frozen for exact studies are known by their edition alone until one runs, under another name.
bool ServedEdition(const std::filesystem::path& record) {
  const std::optional<EditionRecord> kept = ReadEditionRecord(record);
  return kept && std::any_of(kept->editions.begin(), kept->editions.end(),
                             [](const Edition& edition) { return edition.served; });
}

void RequireRows(const Study& study, size_t party, const data::SumAnswer& answer) {
  data::CheckRules rules;
  rules.allow_missing = AllowsMissing(study);
  rules.allow_constant = true;
  data::RequireRowsOfWhole(static_cast<uint64_t>(answer.rows), study.partition, party, rules);
}

}  // namespace

std::filesystem::path SumSetsPath(const std::filesystem::path& source) {
  return source.string() + ".sum-sets";
}

void RequireOneRecord(const std::filesystem::path& source, bool only_sums,
                      const std::filesystem::path& editions) {
  std::filesystem::path other = only_sums ? RowSetsPath(source) : SumSetsPath(source);
  for (const std::filesystem::path& record : {EditionRecordPath(source), editions}) {
    if (only_sums && !record.empty() && ServedEdition(record)) other = record;
  }
  if (!std::filesystem::exists(other)) return;
  throw Error(
      ErrorCode::kRefused,
      fmt::format("{}: exact results were served of {} of this source, and nothing shows by how "
                  "many rows those of {} would differ",
                  source.string(), only_sums ? "rows" : "sums", only_sums ? "sums" : "rows"),
      fmt::format("leave the mode as it was; what was served is in {}", other.string()));
}

FormedSums FormSums(const Study& study, size_t party, const std::filesystem::path& source,
                    const std::filesystem::path& record, Progress* progress) {
  FormedSums formed;
  formed.query = study.SumsOf(party);
  RequireOneRecord(source, true);
  // Of two that begin at once the later one sees what the other served.
  const LockedFile locked(record, kSumSetsKind.name);
  std::vector<Served> served = ReadServed(record);
  const std::unique_ptr<data::SumSource> database =
      data::OpenSums(data::ReadSourceFile(source), progress);
  // At once, so that rows which pass do so once; what is asked again is what the study asks where it is the same.
  std::vector<data::SumQuery> queries = {WithPairs(formed.query, served)};
  for (const Served& one : served) {
    if (IsAnother(one.query, formed.query)) queries.push_back(one.query);
  }
  data::SumAnswer answer;
  const std::vector<data::SumAnswer> answers =
      database->AskAll(queries, [&](const data::SumAnswer& first) {
        answer = first;
        formed.sums = {database->engine(), OwnAnswer(formed.query, answer)};
        data::RequireUsable(formed.query, formed.sums.answer, AllowsMissing(study),
                            source.string());
        RequireRows(study, party, formed.sums.answer);
      });
  auto next = answers.begin();
  std::vector<data::SumAnswer> of_served;
  for (const Served& one : served)
    of_served.push_back(IsAnother(one.query, formed.query) ? *++next : formed.sums.answer);
  RequireUnchanged(of_served, served, source.string(), record);
  RequireApart(answer, study.LeastRowsApart(), source.string(), record);
  const bool known = std::any_of(served.begin(), served.end(), [&](const Served& one) {
    return !IsAnother(one.query, formed.query);
  });
  if (!known) {
    served.push_back({formed.query, DigestOf(formed.sums.answer)});
    WriteServed(record, served);
  }
  return formed;
}

LocalData LoadSums(const Study& study, size_t party, const std::filesystem::path& path,
                   const crypto::Key& salt) {
  const SteadyClock::time_point start = SteadyClock::now();
  const std::string text = ReadFile(path, kMostFileBytes, "the sums");
  data::SnapshotHasher snapshot(salt);
  snapshot.Update(AsBytes(text));
  const data::SumQuery query = study.SumsOf(party);
  const data::SumFile file = data::ReadSumFile(text, query, path.string());
  data::RequireUsable(query, file.answer, AllowsMissing(study), path.string());
  RequireRows(study, party, file.answer);
  LocalData local;
  local.holding = {.party = party,
                   .table = std::make_shared<const data::Table>(),
                   .blocks = {{study.partition.BlocksOf(party).front(), 0, 0, false}},
                   .key_column = {}};
  local.row_order.resize(study.shared_blocks.size());
  local.cells.rows = static_cast<uint64_t>(file.answer.rows);
  for (const data::SumChecks& checks : file.answer.checks)
    local.cells.missing += static_cast<uint64_t>(checks.missing);
  local.method = study.TakeSums(party, file.answer, local.rows);
  local.snapshot = snapshot.Finish();
  local.seconds_read = SecondsSince(start);
  return local;
}

}  // namespace partita::run
