#include "methods/mle/published/published.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/mle/published/conditional.h"
#include "methods/mle/published/moments_by_products.h"
#include "methods/mle/published/plain_passing.h"
#include "methods/mle/published/question_fit.h"
#include "methods/mle/published/secure_sum.h"

namespace partita::methods::mle::published {
namespace {

bool AsksLikelihoods(Protocol protocol) {
  return protocol != Protocol::kSecureMatmul && protocol != Protocol::kObliviousTransfer;
}

OwnRows InUnits(const Task& task, const OwnRows& own, net::PartyIndex self) {
  const stats::StatisticsScale units = UnitsOf(task);
  OwnRows out = own;
  for (size_t b = 0; b < task.layout.blocks.size(); ++b) {
    const BlockNode* node = NodeOf(task.layout.blocks[b], self);
    if (node == nullptr) continue;
    const auto width = static_cast<Eigen::Index>(node->columns.size());
    if (b >= own.size() || own[b].rows() != task.layout.blocks[b].rows || own[b].cols() != width) {
      throw Error(ErrorCode::kUsage, fmt::format("the rows of block {} have another shape", b + 1));
    }
    const Eigen::RowVectorXd centre = units.centre(node->columns).transpose();
    const Eigen::RowVectorXd width_of = units.half_width(node->columns).transpose();
    out[b] = (own[b].rowwise() - centre).array().rowwise() / width_of.array();
  }
  return out;
}

// One byte from the centre to every other party: 1, a question follows; 0, that was all.
void Announce(net::Channel& channel, bool question) {
  const Bytes word = {static_cast<uint8_t>(question ? 1 : 0)};
  std::vector<net::Send> sends;
  for (net::PartyIndex party = 0; party < channel.num_parties(); ++party) {
    if (party == channel.self()) continue;
    net::Send send;
    send.to = party;
    send.bytes = word;
    sends.push_back(std::move(send));
  }
  channel.Exchange(sends, {});
}

bool HearQuestion(net::Channel& channel, net::PartyIndex centre) {
  Bytes word(1);
  net::Receive receive;
  receive.from = centre;
  receive.into = word;
  channel.Exchange({}, {{receive}});
  return word[0] != 0;
}

Answer Ask(net::Channel& channel, const Task& task, const Question& question,
           crypto::RandomSource& random) {
  const bool ring = task.masks == Masks::kRing;
  switch (task.protocol) {
    case Protocol::kConditional:
      return ring ? AskConditional<UInt128>(channel, task.layout, question, random, {})
                  : AskConditional<double>(channel, task.layout, question, random, {});
    case Protocol::kSecureSum:
      return ring ? AskForSum<UInt128>(channel, task.layout, question)
                  : AskForSum<double>(channel, task.layout, question);
    default:
      return AskPlainly(channel, task.layout, question);
  }
}

void Reply(net::Channel& channel, const Task& task, const OwnRows& rows,
           crypto::RandomSource& random) {
  const bool ring = task.masks == Masks::kRing;
  switch (task.protocol) {
    case Protocol::kConditional:
      if (ring) {
        AnswerConditional<UInt128>(channel, task.layout, rows, random, {});
      } else {
        AnswerConditional<double>(channel, task.layout, rows, random, {});
      }
      return;
    case Protocol::kSecureSum:
      if (ring) {
        AnswerSum<UInt128>(channel, task.layout, rows, random, {});
      } else {
        AnswerSum<double>(channel, task.layout, rows, random, {});
      }
      return;
    default:
      AnswerPlainly(channel, task.layout, rows, {});
  }
}

std::vector<std::string> LikelihoodLeaks(const Task& task, const Result& result) {
  const size_t answers =
      task.protocol == Protocol::kSecureSum ? NumGroups(task.layout) : task.layout.blocks.size();
  std::vector<std::string> leaks = {fmt::format(
      "The central node saw {} log-likelihoods; their weights have rank {} of {}{}.",
      static_cast<size_t>(result.questions) * answers, result.usage->rank,
      result.usage->num_statistics,
      result.usage->rank == result.usage->num_statistics ? ": it can solve for all moments" : "")};
  if (task.protocol == Protocol::kSecureSum) {
    leaks.emplace_back(
        "The neighbours of a node, together, have the log-likelihood of its rows at every "
        "question.");
    return leaks;
  }
  for (size_t b = 0; b < task.layout.blocks.size(); ++b) {
    const Block& block = task.layout.blocks[b];
    if (block.nodes.size() < 2) continue;
    if (task.protocol == Protocol::kPlainPassing) {
      leaks.push_back(
          fmt::format("Block {}: nodes 2 to {} saw conditional means of their columns given the "
                      "rows before them.",
                      b + 1, block.nodes.size()));
      continue;
    }
    const auto p = static_cast<Eigen::Index>(block.nodes[0].columns.size());
    const Eigen::Index unknown = block.rows * p + p * (p + 1) / 2 + 1;
    leaks.push_back(fmt::format(
        "Block {}: {} questions at one theta tell node 2 all rows of node 1; {} were asked, at "
        "changing theta. Central node and node k + 1 together have the rows of node k.",
        b + 1, unknown, result.questions));
  }
  if (task.masks == Masks::kPaper) {
    leaks.emplace_back("The masks are bounded: they average out at the central node.");
  }
  return leaks;
}

std::vector<std::string> ProductLeaks(const Task& task) {
  std::vector<std::string> leaks = {
      "The central node has all means and the covariance matrix (sufficient statistics)."};
  if (task.protocol == Protocol::kObliviousTransfer) {
    leaks.emplace_back(
        "The second party of every product has each row of the first among 16 candidates.");
    return leaks;
  }
  for (const MatmulLeakage& pair : MatmulLeakages(task.layout)) {
    leaks.push_back(fmt::format(
        "A product of {} x {} by {} x {}: the first party has {} linear constraints on the {} "
        "numbers of the second, the second {} on the {} numbers of the first.",
        pair.first_columns, pair.rows, pair.rows, pair.second_columns, pair.OnSecond(),
        pair.rows * pair.second_columns, pair.OnFirst(), pair.rows * pair.first_columns));
  }
  return leaks;
}

Result FitAtCentre(net::Channel& channel, const Task& task, crypto::RandomSource& random,
                   Progress& progress) {
  Result result;
  const stats::StatisticsScale units = UnitsOf(task);
  if (!AsksLikelihoods(task.protocol)) {
    const bool matmul = task.protocol == Protocol::kSecureMatmul;
    std::vector<stats::GroupMoments> moments = CollectMoments(
        channel, task.layout, matmul ? ProductMethod::kMatmul : ProductMethod::kTransfer);
    for (stats::GroupMoments& group : moments) {
      group.mean = units.centre + units.half_width.cwiseProduct(group.mean);
      group.covariance =
          (units.half_width.asDiagonal() * group.covariance * units.half_width.asDiagonal()).eval();
    }
    result.fit = stats::FitSem(task.table, moments, {}, progress);
    result.leaks = ProductLeaks(task);
    return result;
  }
  QuestionFitInput input;
  for (size_t g = 0; g < NumGroups(task.layout); ++g) input.n.push_back(RowsOf(task.layout, g));
  input.scale = task.scale;
  input.units = units;
  input.ask = [&](const Question& question) {
    Announce(channel, true);
    Answer answer = Ask(channel, task, question, random);
    if (task.watch) task.watch(answer);
    return answer;
  };
  QuestionFit fit = FitByQuestions(task.table, input, progress);
  Announce(channel, false);
  result.fit = std::move(fit.fit.fit);
  result.usage = fit.fit.usage;
  result.questions = fit.questions;
  result.leaks = LikelihoodLeaks(task, result);
  return result;
}

}  // namespace

void CheckTask(const Task& task, size_t num_parties) {
  if (!task.rows_may_leak) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("protocol '{}' shows rows to other parties", ProtocolName(task.protocol)),
        "use 'sealed', 'likelihood' or 'pooled-moments'; to compare on made-up rows, say "
        "that they may leak");
  }
  CheckLayout(task.layout, num_parties);
  if (task.protocol == Protocol::kSecureSum) CheckSumLayout(task.layout);
  if (AsksLikelihoods(task.protocol) && !task.table.meanstructure) {
    throw Error(ErrorCode::kBadInput,
                "the published protocols that ask for likelihoods need a model with means",
                "set meanstructure = true; estimates of the other parameters do not change");
  }
}

stats::StatisticsScale UnitsOf(const Task& task) {
  const bool natural = task.masks == Masks::kPaper && AsksLikelihoods(task.protocol);
  return natural ? NaturalUnits(task.layout.num_variables) : DeviationUnits(task.scale);
}

std::string_view ProtocolName(Protocol protocol) {
  switch (protocol) {
    case Protocol::kConditional:
      return "conditional";
    case Protocol::kSecureSum:
      return "secure-sum";
    case Protocol::kSecureMatmul:
      return "secure-matmul";
    case Protocol::kObliviousTransfer:
      return "oblivious-transfer";
    case Protocol::kPlainPassing:
      return "plain-passing";
  }
  throw Error(ErrorCode::kInternal, "unknown protocol");
}

std::optional<Result> FitPublished(net::Channel& channel, const Task& task, const OwnRows& own,
                                   crypto::RandomSource& random, Progress& progress) {
  CheckTask(task, channel.num_parties());
  channel.BeginPhase(ProtocolName(task.protocol));
  if (channel.self() == task.layout.centre) return FitAtCentre(channel, task, random, progress);
  const OwnRows rows = InUnits(task, own, channel.self());
  if (AsksLikelihoods(task.protocol)) {
    // A party without rows, such as a dealer of the study, only hears that there was a question.
    const bool has_rows =
        std::any_of(task.layout.blocks.begin(), task.layout.blocks.end(),
                    [&](const Block& block) { return NodeOf(block, channel.self()) != nullptr; });
    while (HearQuestion(channel, task.layout.centre)) {
      if (has_rows) Reply(channel, task, rows, random);
    }
  } else {
    const bool matmul = task.protocol == Protocol::kSecureMatmul;
    ContributeMoments(channel, task.layout, rows,
                      matmul ? ProductMethod::kMatmul : ProductMethod::kTransfer, random);
  }
  return std::nullopt;
}

}  // namespace partita::methods::mle::published
