#include "methods/mixture/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "net/joint_draw.h"
#include "report/document_report.h"
#include "run/method/plan_privacy.h"
#include "run/party/outcome.h"
#include "stats/mixture/held_out_rows.h"

namespace partita::methods::mixture {

namespace {

using run::MethodRows;

struct MixtureSession final : run::MethodSession {
  bool MayHaveOpened() const override { return session.start.openings > 0; }
  Session session;
};

stats::mixture::BatchMode ModeOf(MixtureBatch batch) {
  switch (batch) {
    case MixtureBatch::kPoisson:
      return stats::mixture::BatchMode::kPoisson;
    case MixtureBatch::kDisjoint:
      return stats::mixture::BatchMode::kDisjoint;
    case MixtureBatch::kFull:
      return stats::mixture::BatchMode::kFull;
  }
  throw Error(ErrorCode::kInternal, "unknown kind of batches");
}

std::vector<ModelColumn> ColumnsOf(const MixtureStudy& study) {
  std::vector<ModelColumn> columns;
  for (const data::ColumnEncoding& encoding : study.spec().columns) {
    const data::Holder* holder = nullptr;
    for (const data::Holder& candidate : study.partition.holders) {
      const auto& held = candidate.columns;
      if (std::find(held.begin(), held.end(), encoding.column.name) != held.end())
        holder = &candidate;
    }
    if (holder == nullptr) {
      throw Error(ErrorCode::kInternal,
                  fmt::format("nobody holds the column {}", encoding.column.name));
    }
    columns.push_back({encoding, holder->party});
  }
  return columns;
}

Audience MixtureAudienceOf(const MixtureStudy& study) {
  Audience audience;
  const std::string& from = study.spec().privacy.noise_from;
  for (size_t p = 0; p < study.num_computing; ++p) {
    const std::string& name = study.parties[p].name;
    const bool adds = from.empty() || from == name;
    (adds ? audience.parties : audience.others).push_back(name);
    if (adds && p == study.receiver) audience.analyst = name;
  }
  audience.engine = run::StructureOf(study.file.engine);
  audience.adjacency = privacy::Adjacency::kReplace;
  audience.delta = study.spec().privacy.delta;
  return audience;
}

RunRequest RunRequestOf(const MixtureStudy& study) {
  const MixtureSpec& spec = study.spec();
  RunRequest request;
  request.layout = ModelLayout(study.columns);
  request.party_index.resize(study.num_computing);
  std::iota(request.party_index.begin(), request.party_index.end(), mpc::PartyIndex{0});
  request.num_rows =
      static_cast<uint32_t>(*study.partition.blocks.front().count) - spec.utility.test_rows;
  request.components = spec.components;
  request.variational.steps = spec.iterations;
  request.variational.learning_rate = spec.learning_rate;
  if (spec.paper_schedule) request.variational.frozen_share = stats::mixture::kPaperFrozenShare;
  if (spec.paper_formulation) request.formulation = Formulation::kPaper;
  request.batch_mode = ModeOf(spec.batch);
  request.batch_size = spec.batch_size;
  request.clip = spec.privacy.clip;
  request.noise_multiplier = spec.privacy.noise_multiplier.value_or(1);
  for (const std::string& name : study.audience.parties)
    request.noise_parties.push_back(run::PartyByName(study, name));
  request.checkpoint_every = spec.checkpoint_every;
  request.reserve = spec.reserve;
  return request;
}

// What synthetic rows are compared with, for the owner: the rows with a value of their own in every
// column. Without rows that were set aside it is all of them.
std::shared_ptr<const RealRows> RowsToJudgeBy(const stats::mixture::Values& values,
                                              const stats::mixture::RowSplit& split,
                                              const data::Table& table) {
  const auto usable = [&](std::vector<uint32_t> rows) {
    std::erase_if(rows, [&](uint32_t row) { return table.Neutral(row); });
    return stats::mixture::SelectRows(values, rows);
  };
  auto real = std::make_shared<RealRows>();
  real->test = usable(split.test.empty() ? split.train : split.test);
  if (!split.test.empty()) real->train = usable(split.train);
  return real;
}

crypto::Digest StudyDigest(const MixtureStudy& study) {
  ByteWriter out;
  out.String("partita mixture");
  out.U32(kMixtureVersion);
  out.String(study.file.text);
  return crypto::Sha256Of(out.bytes());
}

}  // namespace

MixtureStudy PrepareMixtureStudy(study::StudyFile file) {
  MixtureStudy study;
  run::PrepareParties(std::move(file), study);
  const study::AnalysisSpec& analysis = study.file.analyses.front();
  try {
    study.columns = ColumnsOf(study);
    for (const ModelColumn& column : study.columns)
      study.used.push_back(column.encoding.column.name);
    study.audience = MixtureAudienceOf(study);
    RunRequest request = RunRequestOf(study);
    if (const auto epsilon = study.spec().privacy.epsilon) {
      const bool outside = study.spec().privacy.against == MixtureAgainst::kOutside;
      request.noise_multiplier = NoiseFor(request, study.audience, *epsilon,
                                          outside ? Against::kOutside : Against::kParty);
    }
    study.plan = PlanRun(std::move(request));
    study.statement = study.StateOf({study.max_openings(), {}});
    study.choices = CompareBatches(study.plan, study.audience);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}:{}:{}: {}", study.file.file_name, analysis.position.line,
                            analysis.position.column, error.message()),
                error.hint());
  }
  study.releases = {GradientRelease(study.plan)};
  return study;
}

privacy::Statement MixtureStudy::StateOf(const Made& made) const {
  privacy::Statement of_run = StateRun(plan, audience, made);
  if (spec().utility.test_rows > 0) {
    of_run.caveats.emplace_back(
        "Rows are set aside by their place in the order of keys, in public: the losses are those "
        "of rows whose values are replaced while the keys of all rows stay as they are. A row that "
        "is set aside takes no part, and nothing of its values is released.");
  }
  run::AddStudyCaveats(*this, of_run);
  return of_run;
}

std::unique_ptr<MethodRows> MixtureStudy::PrepareRows(size_t party, const data::Holding& holding,
                                                      run::OwnRows& counts) const {
  counts.observed = holding.table->num_rows;
  for (const uint8_t neutral : holding.table->neutral) counts.neutral += neutral;
  auto own = std::make_unique<MixtureRows>();
  std::vector<ModelColumn> held;
  for (const ModelColumn& column : columns) {
    if (column.party == party) held.push_back(column);
  }
  ByteWriter digest;
  const crypto::Digest study = StudyDigest(*this);
  digest.Raw(study);
  if (!held.empty()) {
    stats::mixture::Values values = EncodeValues(held, *holding.table);
    for (const std::vector<double>& column : values) {
      for (const double value : column) digest.F64(value);
    }
    digest.Raw(holding.table->neutral);
    const auto num_rows = static_cast<uint32_t>(*partition.blocks.front().count);
    const stats::mixture::RowSplit split =
        stats::mixture::SplitRows(num_rows, spec().utility.test_rows, spec().utility.seed);
    own->rows = stats::mixture::MakeRows(ModelLayout(held),
                                         stats::mixture::SelectRows(values, split.train));
    const std::vector<uint8_t>& neutral = holding.table->neutral;
    for (const uint32_t row : split.train) {
      if (!neutral.empty()) own->neutral.push_back(neutral[row]);
    }
    own->values = RowsToJudgeBy(values, split, *holding.table);
  }
  own->own = crypto::Sha256Of(digest.bytes());
  return own;
}

std::unique_ptr<MethodRows> MixtureStudy::NoRows() const {
  auto own = std::make_unique<MixtureRows>();
  own->own = StudyDigest(*this);
  return own;
}

std::unique_ptr<run::MethodSession> MixtureStudy::Agree(net::Channel& channel,
                                                        const run::RunInput& input) const {
  const auto* rows = static_cast<const MixtureRows*>(input.rows);
  SessionInput session;
  session.num_computing = num_computing;
  session.study = StudyDigest(*this);
  session.own = rows == nullptr ? session.study : rows->own;
  session.folder = input.state;
  session.random = input.random;
  session.run = input.run_id;
  auto agreed = std::make_unique<MixtureSession>();
  agreed->session = BeginSession(channel, plan, session);
  return agreed;
}

std::optional<run::AgreementCost> MixtureStudy::CostOfAgreement() const {
  const auto bytes = [computing = num_computing](size_t to_party, size_t to_dealer) {
    return [=](size_t from, size_t to) -> std::optional<uint64_t> {
      if (from >= computing) return std::nullopt;
      return to < computing ? to_party : to_dealer;
    };
  };
  const auto among_parties = [computing = num_computing](size_t from,
                                                         size_t to) -> std::optional<uint64_t> {
    if (from >= computing || to >= computing) return std::nullopt;
    return kKeptBytes;
  };
  return run::AgreementCost{
      kKeysPhase,
      {among_parties, bytes(2 * net::kCommitmentBytes, net::kCommitmentBytes),
       bytes(2 * net::kOpeningBytes, net::kOpeningBytes), bytes(kStandBytes, kStandBytes)}};
}

std::vector<std::string> MixtureStudy::FileNames() const {
  std::vector<std::string> names = {kModelFile};
  if (spec().synthetic_rows == 0) return names;
  for (size_t set = 0; set < spec().synthetic_sets; ++set) names.push_back(SyntheticFile(set));
  return names;
}

uint64_t MixtureStudy::FileBytes() const {
  // Cells are numbers of up to 24 characters, or levels.
  uint64_t row = 0;
  for (const ModelColumn& column : columns) {
    size_t longest = 24;
    for (const std::string& level : column.encoding.column.levels)
      longest = std::max(longest, level.size() + 2);
    row += longest + 1;
  }
  const uint64_t model = 2 * 26 * plan.step.num_values();
  return model + row * (spec().synthetic_rows + 1) * spec().synthetic_sets;
}

bool MixtureStudy::GoesOn(const MethodRows& /*rows*/, const std::filesystem::path& state) const {
  return HasRunFiles(state);
}

uint64_t MixtureStudy::Repeats(std::string_view phase) const {
  return phase == kIterations ? spec().iterations - 1 : 1;
}

std::unique_ptr<run::MethodResult> MixtureStudy::Run(mpc::Engine& engine,
                                                     const run::RunInput& input,
                                                     Progress& progress) const {
  auto result = std::make_unique<MixtureResult>();
  progress.Phase(kIterations);
  engine.AgreeToOpen();
  engine.BeginPhase(kFirstIteration);
  if (input.session == nullptr) {
    const std::vector<StatisticReader> nobody(plan.holders.size());
    SecureStep step(engine, plan.step, nobody);
    const StepParameters shapes = NoParameters(plan.holders, spec().components);
    step.Run(shapes, {}, {});
    engine.BeginPhase(kIterations);
    if (spec().iterations > 1) step.Run(shapes, {}, {});
    return result;
  }
  const Session& session = static_cast<const MixtureSession*>(input.session)->session;
  const auto* rows = static_cast<const MixtureRows*>(input.rows);
  const std::optional<CheckpointFiles>& files = session.files;
  RunInputs inputs;
  if (rows != nullptr && !rows->rows.features.empty()) {
    inputs.rows = &rows->rows;
    inputs.neutral = rows->neutral;
  }
  inputs.batch_key = &session.keys.batch;
  if (engine.self()) inputs.public_key = &session.keys.public_key;
  inputs.random = input.random;
  inputs.start = session.start;
  if (files) {
    inputs.mark = [&](uint64_t openings) { files->Mark(openings); };
    inputs.store = [&](const Checkpoint& checkpoint) { files->Store(checkpoint); };
  }
  bool first = true;
  inputs.after_opening = [&](const RunProgress& done) {
    if (first) engine.BeginPhase(kIterations);
    first = false;
    progress.Step(done.steps, spec().iterations);
    progress.CheckCancelled();
  };
  if (rows != nullptr) result->own = rows->values;
  result->keys = session.keys;
  result->went_on = session.start.openings > 0;
  result->accept_useless = input.accept_useless;
  result->run = RunSecureDpvi(engine, plan, inputs);
  if (first) engine.BeginPhase(kIterations);
  return result;
}

void MixtureStudy::Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                            Progress& progress) const {
  outcome.not_trained =
      static_cast<const MixtureResult&>(result).run.state.step < spec().iterations;
  if (party >= num_computing) return;
  progress.Phase("synthetic data");
  crypto::SystemRandom random;
  outcome.result = std::make_unique<report::DocumentResult>(
      ReportMixture(*this, party, static_cast<const MixtureResult&>(result), random));
}

}  // namespace partita::methods::mixture
