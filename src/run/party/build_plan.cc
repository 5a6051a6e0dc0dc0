#include "run/party/build_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "crypto/hash.h"
#include "mpc/plan_engine.h"
#include "mpc/shamir_code.h"
#include "net/hello.h"
#include "run/ahead/correlations.h"
#include "run/approval/approvals.h"
#include "run/ledger/run_ledger.h"
#include "run/party/predict.h"
#include "run/party/stripes.h"
#include "run/party/study_engine.h"

namespace partita::run {
namespace {

// Of releases that are rounded.
constexpr std::string_view kOnGrid = " on a grid of ";

// Follows every party's depth (architecture.md, "Engines") through the phases around the engine's.
class PhaseBuilder {
 public:
  explicit PhaseBuilder(std::vector<std::string> names)
      : names_(std::move(names)), depth_(names_.size(), 0) {}

  // One step: messages that leave together. bytes(from, to) is empty where nothing is sent.
  template <typename F>
  void Step(study::PlanPhase& phase, F bytes) {
    const std::vector<uint64_t> before = depth_;
    for (size_t from = 0; from < names_.size(); ++from) {
      for (size_t to = 0; to < names_.size(); ++to) {
        const std::optional<uint64_t> size = from == to ? std::nullopt : bytes(from, to);
        if (!size) continue;
        AddLink(phase, from, to, 1, *size);
        depth_[to] = std::max(depth_[to], before[from] + 1);
      }
    }
  }

  void AddLink(study::PlanPhase& phase, size_t from, size_t to, uint64_t messages, uint64_t bytes) {
    for (study::PlanLink& link : phase.links) {
      if (link.from != names_[from] || link.to != names_[to]) continue;
      link.messages += messages;
      link.bytes += bytes;
      return;
    }
    phase.links.push_back({names_[from], names_[to], messages, bytes});
  }

  // Rounds are the growth of the deepest party's depth since the last call.
  void Close(std::vector<study::PlanPhase>& phases, study::PlanPhase phase) {
    const uint64_t deepest = *std::max_element(depth_.begin(), depth_.end());
    phase.rounds = deepest - closed_;
    closed_ = deepest;
    phases.push_back(std::move(phase));
  }

  std::vector<uint64_t>& depth() { return depth_; }

 private:
  std::vector<std::string> names_;
  std::vector<uint64_t> depth_;
  uint64_t closed_ = 0;
};

void AddHello(const std::vector<std::string>& names, PhaseBuilder& builder,
              std::vector<study::PlanPhase>& phases) {
  study::PlanPhase phase{"hello", 0, {}};
  builder.Step(phase, [&](size_t from, size_t) -> std::optional<uint64_t> {
    net::Hello hello;
    hello.name = names[from];
    return net::EncodeHello(hello).size();
  });
  builder.Step(phase,
               [&](size_t, size_t) -> std::optional<uint64_t> { return net::kHelloAckBytes; });
  builder.Close(phases, std::move(phase));
}

void AddApprovals(PhaseBuilder& builder, study::Plan& plan) {
  study::PlanPhase phase{kApprovalsPhase, 0, {}};
  builder.Step(phase,
               [](size_t, size_t) -> std::optional<uint64_t> { return study::kApprovalBytes; });
  builder.Close(plan.phases, std::move(phase));
}

void AddLedger(PhaseBuilder& builder, study::Plan& plan) {
  study::PlanPhase phase{kLedgerPhase, 0, {}};
  for (const uint64_t bytes : {kShownLedgerBytes, privacy::ledger::kReceiptBytes})
    builder.Step(phase, [&](size_t, size_t) -> std::optional<uint64_t> { return bytes; });
  builder.Close(plan.phases, std::move(phase));
}

void AddRowOrder(const Study& study, PhaseBuilder& builder, study::Plan& plan) {
  if (study.shared_blocks.empty()) return;
  study::PlanPhase phase{"row-order", 0, {}};
  for (uint64_t round = 0; round < match::RowOrderRounds(study.shared_blocks); ++round) {
    builder.Step(phase, [&](size_t from, size_t to) -> std::optional<uint64_t> {
      const match::RowOrderTraffic traffic =
          match::RowOrderTrafficBetween(study.shared_blocks, from, to);
      if (traffic.messages == 0) return std::nullopt;
      return traffic.bytes_per_message;
    });
  }
  builder.Close(plan.phases, std::move(phase));
}

std::string ProductName(mpc::Product::Kind kind) {
  switch (kind) {
    case mpc::Product::Kind::kElementwise:
      return "elementwise";
    case mpc::Product::Kind::kMatrix:
      return "matrix";
    case mpc::Product::Kind::kGram:
      return "gram";
  }
  return "";
}

std::string CorrelationName(const mpc::Correlation& correlation) {
  using Kind = mpc::Correlation::Kind;
  const std::string shapes = fmt::format("{} x {}", correlation.left.rows, correlation.left.cols);
  const std::string product = fmt::format("{}, {} and {} x {}", ProductName(correlation.product),
                                          shapes, correlation.right.rows, correlation.right.cols);
  switch (correlation.kind) {
    case Kind::kTriple:
      return "triple, " + product;
    case Kind::kMixedTriple:
      return "triple with a private operand, " + product;
    case Kind::kPrivateProduct:
      return "product of private masks, " + product;
    case Kind::kTruncation:
      return "truncation pairs, " + shapes;
    case Kind::kRandomSharing:
      return "pairwise masks, " + shapes;
    case Kind::kOracleRows:
      return "rows of a linear oracle, " + product;
    case Kind::kBitTriple:
      return "bit triples, " + shapes;
    case Kind::kBitMask:
      return "masks with their bits, " + shapes;
    case Kind::kBitConversion:
      return "bits as ring elements, " + shapes;
  }
  return "";
}

void AddMethodAgreement(const Study& study, PhaseBuilder& builder, study::Plan& plan) {
  const std::optional<AgreementCost> cost = study.CostOfAgreement();
  if (!cost) return;
  study::PlanPhase phase{cost->phase, 0, {}};
  for (const auto& bytes : cost->rounds) builder.Step(phase, bytes);
  builder.Close(plan.phases, std::move(phase));
}

void AddProtocol(const Study& study, PhaseBuilder& builder, study::Plan& plan) {
  mpc::AgreedReleaseGate gate(ByteView{});
  gate.Reserve(study.releases);
  mpc::PlanEngine engine = study.file.engine.stored_correlations
                               ? mpc::PlanEngine(StoredCostModel(study), &gate)
                               : mpc::PlanEngine(CostModelOf(study), &gate);
  engine.StartAt(builder.depth());
  SilentProgress progress;
  const std::unique_ptr<Stripes> stripes = PlannedStripes(study, engine);
  study.Run(engine,
            {.disclosure = study.file.disclosure,
             .stripes = study.file.engine.stripes > 1 ? stripes.get() : nullptr},
            progress);
  gate.Finish();
  std::map<std::string, uint64_t> correlations;
  for (const mpc::PhaseCost& cost : engine.phases()) {
    const uint64_t times = study.Repeats(cost.phase);
    study::PlanPhase phase{cost.phase, 0, {}};
    for (size_t from = 0; from < cost.links.size(); ++from) {
      for (size_t to = 0; to < cost.links.size(); ++to) {
        const mpc::LinkCost& link = cost.links[from][to];
        if (link.messages > 0)
          builder.AddLink(phase, from, to, times * link.messages, times * link.bytes);
      }
    }
    for (size_t i = 0; i < cost.rounds.size(); ++i) builder.depth()[i] += times * cost.rounds[i];
    builder.Close(plan.phases, std::move(phase));
    for (const mpc::Correlation& correlation : cost.requirements)
      correlations[CorrelationName(correlation)] += times;
  }
  for (const auto& [name, count] : correlations) plan.correlations.push_back({name, count});
}

// `common` bytes among the first num_computing processes.
void AddFinish(size_t num_computing, uint64_t common, PhaseBuilder& builder,
               std::vector<study::PlanPhase>& phases) {
  study::PlanPhase phase{"finish", 0, {}};
  builder.Step(phase, [&](size_t from, size_t to) -> std::optional<uint64_t> {
    return from < num_computing && to < num_computing ? common : 0;
  });
  builder.Close(phases, std::move(phase));
}

// Among the parties with data.
void AddRound(size_t num_computing, uint64_t bytes, PhaseBuilder& builder,
              study::PlanPhase& phase) {
  builder.Step(phase, [&](size_t from, size_t to) -> std::optional<uint64_t> {
    if (from >= num_computing || to >= num_computing) return std::nullopt;
    return bytes;
  });
}

// The parties with data compare the marks of their stores.
void AddAgreement(size_t num_computing, PhaseBuilder& builder, study::PlanPhase& phase) {
  AddRound(num_computing, mpc::kMarkStatementBytes, builder, phase);
  AddRound(num_computing, mpc::kPackageMapBytes, builder, phase);
}

// What is dealt, or transferred, for one package.
std::vector<mpc::ExecutionCost> CostsOfMaking(const Study& study) {
  if (study.num_computing == study.parties.size())
    return {mpc::CostOfTransfers(kRingBits, ShapeBodyOf(study))};
  return mpc::CostOfDealing(study.num_computing, kRingBits, ShapeBodyOf(study));
}

// Before the run, for one package.
std::vector<study::PlanPhase> PreparationPhases(const Study& study) {
  std::vector<study::PlanPhase> phases;
  PhaseBuilder builder(PartyNames(study));
  AddHello(PartyNames(study), builder, phases);
  study::PlanPhase agree{kAgreePhase, 0, {}};
  builder.Step(agree,
               [](size_t, size_t) -> std::optional<uint64_t> { return kPrepareStatementBytes; });
  AddAgreement(study.num_computing, builder, agree);
  builder.Close(phases, std::move(agree));
  study::PlanPhase make{kMakePhase, 0, {}};
  for (const mpc::ExecutionCost& cost : CostsOfMaking(study)) {
    std::vector<std::map<std::pair<size_t, size_t>, uint64_t>> steps(cost.steps);
    for (const mpc::MessagePart& part : cost.parts)
      if (part.bytes > 0) steps[part.step][{part.from, part.to}] += part.bytes;
    for (const auto& links : steps) {
      builder.Step(make, [&](size_t from, size_t to) -> std::optional<uint64_t> {
        const auto link = links.find({from, to});
        return link == links.end() ? std::nullopt : std::optional(link->second);
      });
    }
  }
  builder.Close(phases, std::move(make));
  AddFinish(study.num_computing, 0, builder, phases);
  return phases;
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string Contribution(const Study& study, size_t party) {
  const data::Holder* holder = study.partition.HolderOf(party);
  if (holder == nullptr) return "";
  std::vector<std::string> rows;
  for (size_t b : study.partition.BlocksOf(party)) {
    const data::RowBlock& block = study.partition.blocks[b];
    rows.push_back(block.count ? fmt::format("{} ({} {})", block.name, *block.count,
                                             block.hidden ? "positions" : "rows")
                               : block.name);
  }
  return fmt::format("{} of {}", JoinWords(holder->columns), JoinWords(rows));
}

const study::RowMatch* MatchOfBlock(const Study& study, const std::string& name) {
  for (const study::RowBlock& block : study.file.blocks) {
    if (block.name == name && block.match) return &*block.match;
  }
  return nullptr;
}

std::string RowOrderClause(const Study& study, const match::SharedBlock& block, size_t party) {
  const study::RowMatch* match = MatchOfBlock(study, block.name);
  if (match == nullptr) {
    return fmt::format("whether the ordered row lists of block {} are equal at its holders",
                       block.name);
  }
  if (match->hidden) {
    return fmt::format(
        "from the matching '{}', before this study, positions of its own rows of block {}, but not "
        "at which of them all holders have a row{}; and whether every two bring the result of the "
        "same matching",
        match->matching, block.name,
        match->count == study::MatchCount::kExact   ? ", only how many there are"
        : match->count == study::MatchCount::kNoisy ? ", only how many there are with noise"
                                                    : "");
  }
  std::vector<std::string> others;
  for (const size_t holder : block.holders) {
    if (holder != party) others.push_back(study.parties[holder].name);
  }
  if (others.size() == 1) {
    return fmt::format(
        "from the matching '{}', before this study, which of its own rows {} has too (block {}); "
        "and whether both bring the result of the same matching",
        match->matching, others[0], block.name);
  }
  return fmt::format(
      "from the matching '{}', before this study, which of its own rows {} all have too (block "
      "{}); "
      "and whether every two bring the result of the same matching",
      match->matching, JoinWords(others), block.name);
}

// What of a matching's linker concerns the study.
void AddLinker(const Study& study, const std::string& linker, study::Plan& plan) {
  if (linker.empty()) return;
  plan.assumptions.push_back(fmt::format(
      "In that matching {} saw which rows of the lists agree, as pseudonyms without their key. "
      "Together with any one of the holders it knows who is in the lists of all others, as far as "
      "their keys can be guessed.",
      linker));
  const auto is_linker = [&](const study::Party& party) { return party.name == linker; };
  const auto party = std::find_if(study.parties.begin(), study.parties.end(), is_linker);
  if (party == study.parties.end()) return;
  plan.assumptions.push_back(fmt::format(
      "{} has a part in this study, too{}.", linker,
      party->dealer ? ": as dealer it has, together with any one of the holders, all data of all "
                      "holders besides"
                    : ""));
}

// Of a study with a promise nothing opens without noise; an exact number is refused there.
std::string HiddenCountText(const Study& study, study::MatchCount count) {
  if (count == study::MatchCount::kExact)
    return "How many people match follows from the number of positions and the matching file.";
  if (count == study::MatchCount::kNoisy) {
    return study.IsPrivate()
               ? "How many people match was told with noise; what this study opens of it has noise "
                 "of its own."
               : "How many people match was told with noise; what this study opens may say it "
                 "without.";
  }
  return study.IsPrivate()
             ? "How many people match the number of positions does not say; what this study opens "
               "says it with noise only."
             : "How many people match the number of positions does not say; what this study opens "
               "may.";
}

std::string HiddenClause(const Study& study, const match::SharedBlock& block,
                         const study::RowMatch& match) {
  const auto is_block = [&](const data::RowBlock& rows) { return rows.name == block.name; };
  const auto& blocks = study.partition.blocks;
  const auto found = std::find_if(blocks.begin(), blocks.end(), is_block);
  const std::string known =
      match.linker.empty()
          ? "neither holder knows, if both followed the protocol of the matching: one that did not "
            "can know it of its own rows, unnoticed"
          : fmt::format("no holder knows, if {} tells nobody", match.linker);
  return fmt::format(
      "Block {} has {} positions, by the matching '{}' (record {}...), at the level hidden: rows "
      "of "
      "one person stand at one position, and those at which all holders have a row take part. "
      "Which "
      "these are {}; every holder shares which positions it has with the others as numbers that "
      "nobody can read. {}",
      block.name, *found->count, match.matching, ToHex(match.record).substr(0, 16), known,
      HiddenCountText(study, match.count));
}

// The level of every block that is matched.
void AddMatchings(const Study& study, study::Plan& plan) {
  for (const match::SharedBlock& block : study.shared_blocks) {
    const study::RowMatch* match = MatchOfBlock(study, block.name);
    if (match == nullptr) continue;
    if (match->hidden) {
      plan.assumptions.push_back(HiddenClause(study, block, *match));
      if (study.IsPrivate()) {
        AddLinker(study, match->linker, plan);
        continue;
      }
      plan.assumptions.push_back(
          "Any two holders of the block together know which of their rows match. A holder that "
          "gets "
          "results, from the receiver or otherwise, can find out which of its own rows match; and "
          "the "
          "answers of the checks, which all parties get, tell one with hardly as many rows as a "
          "check "
          "asks for whether they match.");
      plan.assumptions.push_back(
          "Exact results of joins that differ by few people show these people. By how many two "
          "matchings of a list differ in their joins no holder can see, nor how many of the rows "
          "that "
          "a condition leaves out match.");
      AddLinker(study, match->linker, plan);
      continue;
    }
    plan.assumptions.push_back(fmt::format(
        "The rows of block {} are those that were found in {} lists by the matching '{}' (record "
        "{}...), at the level matched-ids: its holders know which of their own rows these are, and "
        "how many they are stands in this plan.",
        block.name, block.holders.size() == 2 ? "both" : "all", match->matching,
        ToHex(match->record).substr(0, 16)));
    AddLinker(study, match->linker, plan);
    if (study.IsPrivate()) {
      plan.assumptions.push_back(
          "What the study promises of privacy is about the cells of matched rows, not about who is "
          "matched.");
    }
  }
}

std::vector<std::string> Learns(const Study& study, size_t party) {
  std::vector<std::string> learns;
  if (study.parties[party].dealer) return study.AlsoLearns(party);
  for (const mpc::Release& release : study.releases) {
    if (release.to_party == party) {
      const bool exactly = !study.IsPrivate() && release.what.find(kOnGrid) == std::string::npos;
      learns.push_back(release.what + (exactly ? ", exactly" : ""));
    }
    if (release.to_party == mpc::kEverybody) learns.push_back(release.what);
  }
  for (std::string& clause : study.AlsoLearns(party)) learns.push_back(std::move(clause));
  for (const match::SharedBlock& block : study.shared_blocks) {
    if (std::find(block.holders.begin(), block.holders.end(), party) == block.holders.end())
      continue;
    learns.push_back(RowOrderClause(study, block, party));
  }
  return learns;
}

}  // namespace

study::Plan BuildPlan(const Study& study) {
  study::Plan plan;
  plan.study = study.file.name;
  plan.title = study.file.title;
  plan.declared = study.file.declared;
  plan.study_file_hash = ToHex(crypto::Sha256Of(AsBytes(study.file.text)));
  const MethodName method = study.Method();
  plan.method = method.name;
  plan.method_version = method.version;
  plan.protocol = method.protocol;
  plan.engine = study.file.engine.name;
  if (plan.engine == "shamir") plan.threshold = ThresholdOf(study);
  plan.partition = data::PartitionKindName(study.partition.kind);
  for (size_t i = 0; i < study.parties.size(); ++i) {
    study::PlanParty party;
    party.name = study.parties[i].name;
    if (study.parties[i].holder) party.roles.push_back("holder");
    if (study.parties[i].receiver) party.roles.push_back("receiver");
    if (study.parties[i].dealer) party.roles.push_back("dealer");
    party.contributes = Contribution(study, i);
    party.learns = Learns(study, i);
    plan.parties.push_back(std::move(party));
  }
  PhaseBuilder builder(OnlineNames(study));
  AddHello(OnlineNames(study), builder, plan.phases);
  AddApprovals(builder, plan);
  AddLedger(builder, plan);
  if (study.file.engine.stored_correlations) {
    study::PlanPhase phase{kCorrelationsPhase, 0, {}};
    AddAgreement(study.num_computing, builder, phase);
    builder.Close(plan.phases, std::move(phase));
  }
  AddRowOrder(study, builder, plan);
  AddMethodAgreement(study, builder, plan);
  if (study.file.engine.stored_correlations) {
    study::PlanPhase phase{kSpendPhase, 0, {}};
    AddRound(study.num_computing, mpc::kTakenBytes, builder, phase);
    builder.Close(plan.phases, std::move(phase));
  }
  AddProtocol(study, builder, plan);
  AddFinish(study.num_computing, study.ComparesResults() ? crypto::Digest{}.size() : 0, builder,
            plan.phases);
  if (study.file.engine.stored_correlations) plan.preparation = PreparationPhases(study);
  for (const mpc::Release& release : study.releases) {
    plan.releases.push_back(
        {release.id, release.what, release.to, release.mechanism, release.max_count});
  }
  plan.exposures = study.Exposures();
  if (const auto threshold = study.file.engine.threshold) {
    // Instead of the engine's own words, which are those of its largest threshold.
    const size_t parties = study.num_computing;
    const size_t corrected = mpc::CorrectedErrors(parties, *threshold);
    plan.assumptions.push_back(
        fmt::format("Semi-honest. Here {} of {} parties may collude and learn nothing of the "
                    "others' inputs; {} together see everything. ",
                    *threshold, parties, *threshold + 1) +
        (corrected > 0 ? fmt::format("Up to {} wrong shares of an opening are corrected, and named",
                                     corrected)
                       : fmt::format("Wrong shares of an opening from up to {} parties are noticed",
                                     *threshold)) +
        "; other lies are not.");
  } else {
    plan.assumptions.push_back(CostModelOf(study)->capabilities().trust);
  }
  if (study.file.engine.stored_correlations) {
    plan.assumptions.push_back(
        "Correlated randomness is made before the run and stored at the parties with data, each "
        "package for one run. Whoever reads a party's file before the run knows the masks of that "
        "party's values; no file comes back from a backup at all parties at once.");
  }
  if (study.file.engine.stripes > 1) {
    plan.assumptions.push_back(fmt::format(
        "Rows whose columns are split are computed in {} stripes, ranges of equal length, each "
        "over "
        "connections, keys and correlations of its own; nothing opens in a stripe, and every party "
        "adds its "
        "shares by itself. A party may spread its stripes over several machines, which is its own "
        "business: whoever runs these machines reads what they compute.",
        study.file.engine.stripes));
  }
  plan.assumptions.push_back(
      "All parties follow the protocol; one that deviates can spoil the result or learn more, and "
      "is not detected.");
  plan.assumptions.push_back(
      "Beside what is listed here everybody sees who takes part, all approvals, how many entries "
      "each holder's privacy ledger has and how many exact results it counts, when messages come, "
      "and whether a party stops, for which reason of a fixed list.");
  AddMatchings(study, plan);
  study.Describe(plan);
  plan.predictions = Predictions(study, plan);
  return plan;
}

void AddAlternatives(const Study& study, study::Plan& plan) {
  std::vector<OtherSchedule> schedules = study.OtherSchedules();
  for (OtherSchedule& other : schedules) {
    const study::Plan by_schedule = other.study == nullptr ? plan : BuildPlan(*other.study);
    plan.alternatives.push_back(
        study::AlternativeOf(by_schedule, std::move(other.schedule), std::move(other.result)));
  }
}

}  // namespace partita::run
