// The rows of method `mcmc` and its protocol.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "data/condition.h"
#include "data/design.h"
#include "methods/mcmc/row_checks.h"
#include "methods/mcmc/study.h"
#include "net/joint_draw.h"
#include "report/document_report.h"
#include "run/party/finish.h"
#include "run/party/outcome.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using run::MethodResult;
using run::MethodRows;
using run::RunInput;

constexpr char kRecordPhase[] = "record", kRecordFile[] = "record";

struct McmcRows : MethodRows {
  ChainRows rows;
  std::vector<uint64_t> counts;  // by check
  crypto::Digest own{};          // of the study and these rows: what a record is bound to
};

struct McmcSession final : run::MethodSession {
  bool MayHaveOpened() const override { return record.may_be_open > 0; }
  ChainRecord record;  // agreed
  crypto::Key seed;    // at the parties: the record's, or a new one
  std::optional<RecordFile> file;
};

std::vector<std::string> ModelColumns(const McmcStudy& study) {
  std::vector<std::string> names = study.spec.predictors;
  if (!IsSurvival(study.spec.model)) names.push_back(study.spec.outcome);
  return names;
}

Eigen::VectorXd Selected(const std::vector<double>& numbers, const std::vector<size_t>& rows) {
  Eigen::VectorXd values(static_cast<Index>(rows.size()));
  for (size_t k = 0; k < rows.size(); ++k) values(static_cast<Index>(k)) = numbers[rows[k]];
  return values;
}

std::vector<uint64_t> CheckCountsOf(const McmcStudy& study, const data::Table& table,
                                    const std::vector<size_t>& rows) {
  using Counts = McmcCheck::Counts;
  std::vector<uint64_t> counts;
  for (const McmcCheck& check : study.Checks(study.file.disclosure)) {
    if (check.counts == Counts::kRows) {
      counts.push_back(rows.size());
      continue;
    }
    const data::Column& column = table.Get(check.variable);
    uint64_t count = 0;
    for (const size_t r : rows) {
      const bool one =
          check.counts == Counts::kEvents ? column.codes[r] == 1 : column.numbers[r] == 1;
      count += one != (check.counts == Counts::kZeros) ? 1 : 0;
    }
    counts.push_back(count);
  }
  return counts;
}

// Of the study and of a party's rows, if it has any.
crypto::Digest DigestOf(const McmcStudy& study, const ChainRows& rows) {
  ByteWriter out;
  out.String("partita mcmc");
  out.U32(study.Method().version);
  out.String(study.file.text);
  for (const double value : rows.predictors.reshaped()) out.F64(value);
  for (const Eigen::VectorXd& values : {rows.outcome, rows.event}) {
    out.U64(static_cast<uint64_t>(values.size()));
    for (const double value : values) out.F64(value);
  }
  return crypto::Sha256Of(out.bytes());
}

RecordFile RecordIn(const McmcStudy& study, const std::filesystem::path& state,
                    const McmcRows& rows) {
  return {state / kRecordFile, study.chain.options.chains, rows.own};
}

void RunChainChecks(mpc::Engine& engine, const McmcStudy& study,
                    const std::vector<uint64_t>& counts, const RunInput& input,
                    McmcResult& result) {
  const std::vector<McmcCheck> checks = study.Checks(input.disclosure);
  std::vector<uint64_t> minima;
  for (const McmcCheck& check : checks) minima.push_back(check.minimum);
  const std::vector<bool> reached = ReachMinima(engine, counts, minima);
  std::string failed;
  for (size_t k = 0; k < reached.size(); ++k) {
    const McmcCheck& check = checks[k];
    const std::string variable = check.variable.empty() ? "rows" : check.variable;
    result.checks.push_back(
        {study.file.analyses.front().name, variable, check.rule, reached[k], check.warning});
    if (reached[k] || check.warning) continue;
    failed += fmt::format("{}{}: {}", failed.empty() ? "" : "; ", variable, check.rule);
  }
  if (failed.empty()) return;
  if (input.channel != nullptr) run::ConfirmRefusal(*input.channel, study.num_computing);
  throw Error(ErrorCode::kRefused, "nothing was released, because this does not hold: " + failed,
              "leave out the variable, join levels, or find more rows");
}

// Between two stages: the first party says whether chains go on, to all others in one byte. All
// parties would say the same; a dealer has no draws, and rounding of machines that differ must not
// part them here.
bool ToldToGoOn(net::Channel& channel, std::optional<bool> own) {
  std::array<uint8_t, 1> word = {own.value_or(false) ? uint8_t{1} : uint8_t{0}};
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  if (channel.self() == 0) {
    for (size_t peer = 1; peer < channel.num_parties(); ++peer)
      sends.push_back({peer, word, 0, nullptr});
  } else {
    receives.emplace_back();
    receives.back().from = 0;
    receives.back().into = word;
  }
  channel.Exchange(sends, receives);
  return word[0] == 1;
}

}  // namespace

crypto::Digest McmcResult::Common() const {
  ByteWriter draws_of_all;
  for (const Eigen::MatrixXd& one : chain.draws.chains) {
    for (const double value : one.reshaped()) draws_of_all.F64(value);
  }
  return crypto::Sha256Of(draws_of_all.bytes());
}

ChainRows ChainRowsOf(const McmcStudy& study, const data::Table& table,
                      const std::vector<size_t>& rows) {
  ChainRows own;
  own.predictors.resize(static_cast<Index>(rows.size()),
                        static_cast<Index>(study.spec.predictors.size()));
  for (size_t j = 0; j < study.spec.predictors.size(); ++j) {
    own.predictors.col(static_cast<Index>(j)) =
        Selected(table.Get(study.spec.predictors[j]).numbers, rows);
  }
  const data::Column& outcome = table.Get(study.spec.outcome);
  own.outcome = Selected(outcome.numbers, rows);
  if (IsSurvival(study.spec.model)) {
    own.event.resize(own.outcome.size());
    for (size_t k = 0; k < rows.size(); ++k) {
      own.event(static_cast<Index>(k)) = outcome.codes[rows[k]];
    }
  }
  return own;
}

void McmcStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, file.derived, ModelColumns(*this));
}

std::unique_ptr<MethodRows> McmcStudy::PrepareRows(size_t /*party*/, const data::Holding& holding,
                                                   run::OwnRows& counts) const {
  const data::Table& table = *holding.table;
  const std::vector<uint8_t> population = data::SelectRows(table, file.population.subset);
  const std::vector<uint8_t> subset = data::SelectRows(table, file.analyses.front().subset);
  std::vector<uint8_t> complete(table.num_rows, 1);
  if (file.design.missing == study::MissingPolicy::kComplete) {
    complete = data::CompleteRows(table, used);
  }
  // Of a private study: a row without a usable value, and one whose outcome the model does not
  // know, adds nothing to any log ratio; no more did a row that a neighbouring table lacks.
  const std::vector<double>& outcome = table.Get(spec.outcome).numbers;
  const auto neutral = [&](size_t r) {
    return table.Neutral(r) || (IsPrivate() && !TakesOutcome(spec.model, outcome[r]));
  };
  std::vector<size_t> rows;
  counts.observed = table.num_rows;
  for (size_t r = 0; r < table.num_rows; ++r) {
    if (population[r] == 0) {
      ++counts.not_in_population;
    } else if (complete[r] == 0) {
      ++counts.incomplete;
    } else if (neutral(r)) {
      ++counts.neutral;
    } else if (subset[r] != 0) {
      rows.push_back(r);
    }
  }
  auto own = std::make_unique<McmcRows>();
  own->rows = ChainRowsOf(*this, table, rows);
  own->counts = CheckCountsOf(*this, table, rows);
  own->own = DigestOf(*this, own->rows);
  TargetOf(spec, own->rows);  // what is wrong with a row is found before anybody connects
  return own;
}

std::unique_ptr<MethodRows> McmcStudy::NoRows() const {
  auto none = std::make_unique<McmcRows>();
  none->counts.resize(Checks(file.disclosure).size());
  none->own = DigestOf(*this, none->rows);
  return none;
}

std::unique_ptr<run::MethodSession> McmcStudy::Agree(net::Channel& channel,
                                                     const RunInput& input) const {
  channel.BeginPhase(kRecordPhase);
  auto session = std::make_unique<McmcSession>();
  ChainRecord own;
  if (input.rows != nullptr && !input.state.empty()) {
    std::filesystem::create_directories(input.state);
    session->file = RecordIn(*this, input.state, *static_cast<const McmcRows*>(input.rows));
    own = session->file->LoadOrMake();  // GoesOn from now on
  }
  session->record = AgreeOnRecord(channel, num_computing, chain.options.chains,
                                  stats::mcmc::DecisionsOf(chain.options), own);
  session->seed = session->record.seed;
  if (session->record.may_be_open > 0) return session;
  std::vector<crypto::Key> share;
  if (channel.self() < num_computing) share = {crypto::RandomKey(*input.random)};
  const std::array<net::JointKey, 1> key = {{{"chain seed", num_computing}}};
  session->seed =
      net::DrawTogether(channel, num_computing, key, share, AsBytes(input.run_id), input.random)
          .front();
  return session;
}

std::optional<run::AgreementCost> McmcStudy::CostOfAgreement() const {
  const auto lengths = [computing = num_computing](size_t from, size_t) {
    return from < computing ? std::optional<uint64_t>(kLengthBytes) : std::nullopt;
  };
  const auto among_parties = [computing = num_computing](uint64_t bytes) {
    return [=](size_t from, size_t to) {
      return from < computing && to < computing ? std::optional<uint64_t>(bytes) : std::nullopt;
    };
  };
  return run::AgreementCost{
      kRecordPhase,
      {lengths, among_parties(net::kCommitmentBytes), among_parties(net::kOpeningBytes)}};
}

bool McmcStudy::GoesOn(const MethodRows& rows, const std::filesystem::path& state) const {
  return !state.empty() && RecordIn(*this, state, static_cast<const McmcRows&>(rows)).Exists();
}

std::unique_ptr<MethodResult> McmcStudy::Run(mpc::Engine& engine, const RunInput& input,
                                             Progress& progress) const {
  auto result = std::make_unique<McmcResult>();
  const McmcRows none;
  const McmcRows& own = input.rows == nullptr ? none : *static_cast<const McmcRows*>(input.rows);
  crypto::SystemRandom unused;
  crypto::RandomSource& random = engine.self() ? *input.random : unused;

  const auto* session = static_cast<const McmcSession*>(input.session);
  ChainInputs inputs;
  if (session != nullptr) inputs.record = session->record;
  engine.AgreeToOpen();
  const crypto::Key seed = session != nullptr ? session->seed : crypto::Key();
  if (!IsPrivate()) {
    progress.Phase("disclosure checks");
    engine.BeginPhase("disclosure");
    RunChainChecks(engine, *this, own.counts, input, *result);
  }
  progress.Phase("chain");
  engine.BeginPhase("chain");
  stats::mcmc::TargetPtr target, later;
  if (engine.self() && chain.staged) {
    const StagedRows stages = SplitStages(own.rows, spec.first_stage);
    target = TargetOf(spec, stages.first);
    later = TargetOf(spec, stages.later);
  } else if (engine.self()) {
    target = TargetOf(spec, own.rows);
  }
  if (engine.self()) {
    inputs.target = target.get();
    inputs.later = later.get();
    inputs.public_key = &seed;
    inputs.random = &random;
  }
  if (session != nullptr && session->file) {
    inputs.mark = [session](uint64_t decisions) { session->file->Mark(decisions); };
    inputs.store = [session](const ChainRecord& record) { session->file->Store(record); };
  }
  if (input.channel != nullptr) {
    inputs.go_on = [channel = input.channel](std::optional<bool> says) {
      return ToldToGoOn(*channel, says);
    };
  }
  result->chain = RunSecureChains(engine, chain, inputs, progress);
  result->own = own.rows;
  return result;
}

void McmcStudy::Conclude(size_t /*party*/, MethodResult& run, run::PartyOutcome& outcome,
                         Progress& /*progress*/) const {
  auto& result = static_cast<McmcResult&>(run);
  outcome.checks = result.checks;
  if (result.chain.draws.chains.empty()) return;
  study::Document document = McmcDocument(*this, result.chain);
  crypto::SystemRandom random;
  if (auto section = OwnRowsSection(*this, result.own, result.chain.draws, random))
    document.sections.push_back(std::move(*section));
  outcome.result = std::make_unique<report::DocumentResult>(std::move(document));
}

}  // namespace partita::methods::mcmc
