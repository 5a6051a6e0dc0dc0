#include "papers/smle_attacks.h"

#include <fmt/format.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "methods/mle/published/attacks/mask_attack.h"
#include "methods/mle/published/attacks/moment_attack.h"
#include "methods/mle/published/attacks/product_attacks.h"
#include "methods/mle/published/attacks/row_attack.h"
#include "methods/mle/published/conditional.h"
#include "methods/mle/published/plain_passing.h"
#include "methods/mle/published/question_fit.h"
#include "methods/mle/published/secure_sum.h"
#include "methods/mle/published/transfer_products.h"
#include "papers/smle_parties.h"

namespace partita::papers {
namespace {

namespace published = methods::mle::published;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using published::Decode;
using published::Masks;
using published::NormalParameters;

constexpr const char* kCentre = "central node";

MatrixXd InUnits(const MatrixXd& rows, const stats::StatisticsScale& units) {
  return (rows.rowwise() - units.centre.transpose()).array().rowwise() /
         units.half_width.transpose().array();
}

// What the model implies at the estimates.
NormalParameters AtEstimates(const stats::SemFit& fit, const stats::StatisticsScale& units) {
  const auto inverse = units.half_width.cwiseInverse().asDiagonal();
  return {(fit.implied_mean[0] - units.centre).cwiseQuotient(units.half_width),
          inverse * fit.implied_covariance[0] * inverse};
}

Index RecoveredRows(const MatrixXd& found, const MatrixXd& truth) {
  const VectorXd deviation = MomentsOfRows(truth).covariance.diagonal().cwiseSqrt();
  const MatrixXd off = (found - truth).cwiseAbs() * deviation.cwiseInverse().asDiagonal();
  return (off.rowwise().maxCoeff().array() < kRecovered).count();
}

// Everything that attacks on one protocol share.
class Attacks {
 public:
  Attacks(const std::string& protocol, const SmleRun& run, const SmleSample& sample,
          const SmleSetting& setting, const AttackOptions& options)
      : protocol_(protocol), run_(run), sample_(sample), setting_(setting), options_(options) {
    if (protocol == "pooled-moments" || protocol == "likelihood" || protocol == "sealed") {
      units_ = published::NaturalUnits(sample.rows.cols());
    } else {
      units_ = UnitsOf(PublishedTask(protocol, sample, setting, options.run));
    }
    rows_ = InUnits(sample.rows, units_);
    estimates_ = AtEstimates(run.fit, units_);
  }

  // From what the central node was told of all rows.
  SmleAttack Moments(const std::vector<published::KnownLikelihood>& known) const {
    return MomentsOf(known, rows_, kCentre, "moments of all rows");
  }

  // All moments open; what they are needs no attack.
  SmleAttack Opened() const {
    SmleAttack attack = Start(kCentre, "moments of all rows (opened)");
    attack.recovered = attack.of = run_.unknown;
    return attack;
  }

  std::vector<published::KnownLikelihood> Answers() const {
    std::vector<published::KnownLikelihood> known;
    for (const published::Answer& answer : run_.answers) {
      known.push_back({answer[0].mean, answer[0].precision, answer[0].quadratic});
    }
    return known;
  }

  // The questions of the same fit in the clear: `likelihood` tells values and gradients, that is,
  // the same span with other numbers.
  std::vector<published::KnownLikelihood> LikelihoodQuestions(Progress& progress) const {
    std::vector<published::KnownLikelihood> known;
    published::QuestionFitInput input;
    input.n = {static_cast<double>(rows_.rows())};
    input.scale = sample_.scale();
    input.units = units_;
    input.ask = [&](const published::Question& question) {
      published::BlockAnswer answer;
      answer.rows = static_cast<double>(rows_.rows());
      answer.mean = question[0].mean;
      answer.precision = question[0].covariance.inverse();
      const MatrixXd e = rows_.rowwise() - answer.mean.transpose();
      answer.quadratic = (e * answer.precision).cwiseProduct(e).sum();
      known.push_back({answer.mean, answer.precision, answer.quadratic});
      return published::Answer{answer};
    };
    published::FitByQuestions(sample_.analysis.table, input, progress);
    return known;
  }

  SmleAttack Neighbours() const {
    return options_.run.masks == Masks::kRing ? NeighboursWith<UInt128>()
                                              : NeighboursWith<double>();
  }
  std::vector<SmleAttack> Chain() const {
    return options_.run.masks == Masks::kRing ? ChainWith<UInt128>() : ChainWith<double>();
  }
  SmleAttack Plain() const;
  SmleAttack Matmul() const;
  SmleAttack Transfer() const;

 private:
  SmleAttack Start(std::string attacker, std::string target) const {
    SmleAttack attack;
    attack.protocol = run_.protocol;
    attack.attacker = std::move(attacker);
    attack.target = std::move(target);
    return attack;
  }

  SmleAttack MomentsOf(const std::vector<published::KnownLikelihood>& known, const MatrixXd& rows,
                       std::string attacker, std::string target) const {
    const stats::GroupMoments truth = MomentsOfRows(rows);
    const bool rounded = protocol_ == "conditional" && options_.run.masks == Masks::kRing;
    const published::SolvedMoments solved = published::SolveMoments(
        known, truth.n, estimates_, rounded ? published::kToldInRing : published::kTold);
    SmleAttack attack = Start(std::move(attacker), std::move(target));
    attack.kind = AttackKind::kMoments;
    attack.questions = static_cast<int>(known.size());
    attack.recovered = solved.rank;
    attack.of = solved.unknown;
    attack.error = RelativeError(solved, truth.mean, truth.covariance);
    return attack;
  }

  SmleAttack RowsOf(const MatrixXd& found, const MatrixXd& truth, std::string attacker,
                    std::string target) const {
    SmleAttack attack = Start(std::move(attacker), std::move(target));
    attack.rows = true;
    attack.recovered = RecoveredRows(found, truth);
    attack.of = truth.rows();
    attack.error = published::CompareRows(found, truth).error_over_deviation;
    return attack;
  }

  const published::BlockNode& Node(size_t k) const { return setting_.layout.blocks[0].nodes[k]; }
  MatrixXd Columns(size_t k) const { return rows_(Eigen::all, Node(k).columns); }

  template <typename T>
  SmleAttack NeighboursWith() const;
  template <typename T>
  std::vector<SmleAttack> ChainWith() const;

  const std::string& protocol_;
  const SmleRun& run_;
  const SmleSample& sample_;
  const SmleSetting& setting_;
  const AttackOptions& options_;
  stats::StatisticsScale units_;
  MatrixXd rows_;               // in these units
  NormalParameters estimates_;  // likewise
};

// Nodes 1 and 3 compare what node 2 got and sent on, at the questions of the fit.
template <typename T>
SmleAttack Attacks::NeighboursWith() const {
  std::vector<T> sent, received;
  const SmleSetting setting = SplitRows(rows_, setting_.layout.centre);
  RunInThreads(setting.layout.centre + 1, 0, [&](net::Channel& channel) {
    crypto::SystemRandom random;
    const published::SumWatch<T> watch = [&](const published::SumSight<T>& sight) {
      if (channel.self() == 0) sent.push_back(sight.sent);
      if (channel.self() == 2) received.push_back(sight.received);
    };
    for (const published::KnownLikelihood& asked : Answers()) {
      if (channel.self() == setting.layout.centre) {
        AskForSum<T>(channel, setting.layout, {{asked.mean, asked.precision.inverse()}});
      } else {
        AnswerSum<T>(channel, setting.layout, setting.rows[channel.self()], random, watch);
      }
    }
  });
  std::vector<published::KnownLikelihood> known = Answers();
  const int bits = std::is_same_v<T, UInt128> ? published::kSumBits : 0;
  for (size_t i = 0; i < known.size(); ++i) {
    published::Matrix<T> between(1, 1);
    between(0, 0) = received[i] - sent[i];
    known[i].quadratic = Decode(between, bits)(0, 0);
  }
  return MomentsOf(known, setting.rows[1][1], "nodes 1 and 3", "moments of node 2's rows");
}

// What node 2 and the central node keep of questions at one theta.
template <typename T>
struct ChainSights {
  published::ToldTotals<T> told;
  published::MaskedRows masked;
  published::Matrix<T> a1, precision, p, mean;  // of the last question, of node 1
  published::Matrix<T> r;                       // R_1, at node 2
};

template <typename T>
ChainSights<T> AskAtOneTheta(const SmleSetting& setting, const NormalParameters& theta,
                             Index questions) {
  ChainSights<T> out;
  const size_t centre = setting.layout.centre;
  RunInThreads(centre + 1, centre, [&](net::Channel& channel) {
    crypto::SystemRandom random;
    const published::CentreWatch<T> centre_watch = [&](const published::CentreSight<T>& sight) {
      if (sight.node != 0) return;
      out.a1 = sight.a1;
      out.precision = sight.precision;
      out.p = sight.p;
      out.mean = sight.noisy_mean;
      if constexpr (std::is_same_v<T, double>) {
        out.masked.Add(published::MaskedBy(out.a1, out.precision, out.p, out.mean));
      }
    };
    const published::NodeWatch<T> node_watch = [&](const published::NodeSight<T>& sight) {
      if (sight.node != 1) return;
      out.told.p.push_back(sight.previous_p);
      out.told.totals.push_back(sight.running_total);
      out.r = sight.previous_r;
    };
    for (Index i = 0; i < questions; ++i) {
      if (channel.self() == centre) {
        AskConditional<T>(channel, setting.layout, {theta}, random, centre_watch);
      } else {
        AnswerConditional<T>(channel, setting.layout, setting.rows[channel.self()], random,
                             node_watch);
      }
    }
  });
  return out;
}

template <typename T>
std::vector<SmleAttack> Attacks::ChainWith() const {
  const auto p = static_cast<Index>(Node(0).columns.size());
  const Index n = std::min(rows_.rows(), std::max<Index>(1, options_.cells / p));
  const SmleSetting setting = SplitColumns(rows_.topRows(n), setting_.layout.centre);
  const Index questions = published::QuestionsForRows(n, p) +
                          (std::is_same_v<T, UInt128> ? published::kSpareQuestions : 0);
  const ChainSights<T> seen = AskAtOneTheta<T>(setting, estimates_, questions);
  const MatrixXd truth = setting.rows[0][0];
  const Eigen::RowVectorXd mean = estimates_.mean(Node(0).columns).transpose();

  const published::SolvedRows solved = SolveRows(seen.told);
  const MatrixXd found =
      solved.solved ? MatrixXd(solved.deviations.rowwise() + mean) : mean.replicate(n, 1);
  SmleAttack next = RowsOf(found, truth, "node 2", "rows of node 1");
  next.kind = AttackKind::kNextNode;
  next.questions = static_cast<int>(questions);

  // A1 - R S^-1 = (x - mu - P) S^-1, and the central node knows mu and P.
  const published::Matrix<T> rest =
      seen.a1 - seen.r * seen.precision + (seen.mean + seen.p) * seen.precision;
  const MatrixXd joint = Decode(rest, published::kDataBits<T> + published::kWeightBits<T>) *
                         MatrixXd(Decode(seen.precision, published::kWeightBits<T>)).inverse();
  SmleAttack pair = RowsOf(joint, truth, "central node and node 2", "rows of node 1");
  pair.questions = 1;
  std::vector<SmleAttack> attacks = {next, pair};
  if constexpr (std::is_same_v<T, double>) {
    attacks.push_back(RowsOf(seen.masked.Estimate(), truth, kCentre, "rows of node 1, averaged"));
    attacks.back().kind = AttackKind::kMasks;
    attacks.back().questions = seen.masked.questions();
  }
  return attacks;
}

// m = mu_2+ + (x_1 - mu_1) C with C = S_11^-1 S_12+. The best guess of x_1 at this theta is its
// conditional mean; it is exact where C has a right inverse.
SmleAttack Attacks::Plain() const {
  MatrixXd m;
  RunInThreads(setting_.layout.centre + 1, 0, [&](net::Channel& channel) {
    const SmleSetting setting = SplitColumns(rows_, setting_.layout.centre);
    if (channel.self() == setting.layout.centre) {
      AskPlainly(channel, setting.layout, {estimates_});
      return;
    }
    AnswerPlainly(channel, setting.layout, setting.rows[channel.self()],
                  [&](const published::PlainSight& sight) {
                    if (sight.node == 1) m = sight.conditional_mean;
                  });
  });
  const std::vector<Index>& first = Node(0).columns;
  std::vector<Index> later;
  for (size_t k = 1; k < setting_.layout.centre; ++k) {
    later.insert(later.end(), Node(k).columns.begin(), Node(k).columns.end());
  }
  const MatrixXd s11 = estimates_.covariance(first, first);
  const MatrixXd c = s11.inverse() * estimates_.covariance(first, later);
  const MatrixXd of_m = c.transpose() * s11 * c;
  const MatrixXd factor = of_m.completeOrthogonalDecomposition().solve(c.transpose() * s11);
  const Eigen::RowVectorXd shift = estimates_.mean(later).transpose();
  const Eigen::RowVectorXd mean = estimates_.mean(first).transpose();
  const MatrixXd guess = ((m.rowwise() - shift) * factor).rowwise() + mean;
  SmleAttack attack = RowsOf(guess, Columns(0), "node 2, knowing theta", "rows of node 1");
  attack.questions = 1;
  return attack;
}

// Node 1 knows the first a rows of node 2 and completes the others.
SmleAttack Attacks::Matmul() const {
  const MatrixXd first = Columns(0), second = Columns(1);
  const published::MatmulLeakage plan =
      published::PlanMatmul(first.rows(), first.cols(), second.cols());
  published::MatmulSight sight;
  RunInThreads(2, 0, [&](net::Channel& channel) {
    crypto::SystemRandom random;
    if (channel.self() == 0) {
      MultiplyAsFirst(channel, 1, plan, first, random, &sight);
    } else {
      MultiplyAsSecond(channel, 0, plan, second);
    }
  });
  std::vector<Index> places;
  for (Index r = 0; r < plan.null_columns; ++r) places.push_back(r);
  const MatrixXd found = published::CompleteSecond(sight, places, second(places, Eigen::all));
  const Index rest = first.rows() - plan.null_columns;
  return RowsOf(
      found.bottomRows(rest), second.bottomRows(rest),
      fmt::format("node 1, knowing {} rows", plan.null_columns),
      fmt::format("rows of node 2, {} constraints", ConstraintsOnSecond(sight) * second.cols()));
}

SmleAttack Attacks::Transfer() const {
  const MatrixXd first = Columns(0), second = Columns(1);
  published::TransferShape shape;
  shape.rows = first.rows();
  shape.first_columns = first.cols();
  shape.second_columns = second.cols();
  std::array<published::Matrix<UInt128>, 2> sights;
  RunInThreads(2, 0, [&](net::Channel& channel) {
    crypto::SystemRandom random;
    for (published::Matrix<UInt128>& sight : sights) {
      if (channel.self() == 0) {
        TransferAsFirst(channel, 1, shape, first, random);
      } else {
        TransferAsSecond(channel, 0, shape, second, random, &sight);
      }
    }
  });
  const published::MatchedRows matched =
      published::MatchCandidates(sights[0], sights[1], first.rows());
  return RowsOf(matched.rows, first, "node 2, after two runs",
                fmt::format("rows of node 1 among {} each", shape.candidates()));
}

}  // namespace

std::vector<SmleAttack> AttackProtocol(const std::string& protocol, const SmleRun& run,
                                       const SmleSample& sample, const SmleSetting& setting,
                                       const AttackOptions& options, Progress& progress) {
  progress.Phase("attack on " + protocol);
  const Attacks attacks(protocol, run, sample, setting, options);
  if (protocol == "pooled-moments") return {attacks.Opened()};
  if (protocol == "likelihood") {
    SilentProgress silent;
    SmleAttack attack = attacks.Moments(attacks.LikelihoodQuestions(silent));
    attack.questions = run.questions;
    return {attack};
  }
  // Nothing is told, so that the best guess is what the model implies.
  if (protocol == "sealed") return {attacks.Moments({})};
  if (protocol == "secure-matmul") return {attacks.Opened(), attacks.Matmul()};
  if (protocol == "oblivious-transfer") return {attacks.Opened(), attacks.Transfer()};
  std::vector<SmleAttack> all = {attacks.Moments(attacks.Answers())};
  if (protocol == "secure-sum") all.push_back(attacks.Neighbours());
  if (protocol == "plain-passing") all.push_back(attacks.Plain());
  if (protocol == "conditional") {
    for (SmleAttack& attack : attacks.Chain()) all.push_back(std::move(attack));
  }
  return all;
}

void AddReference(const std::string& file, const std::string& model,
                  std::vector<SmleAttack>& attacks) {
  try {
    const nlohmann::json json =
        nlohmann::json::parse(ReadFile(file, uint64_t{64} << 20, "the leakage measurements"));
    const nlohmann::json models = json.at("likelihood_oracle").at("models");
    const nlohmann::json averaging = json.at("averaging_of_uniform_masks").at("results");
    // Its rows have a standard deviation of 2.
    constexpr double kReferenceDeviation = 2;
    for (SmleAttack& attack : attacks) {
      if (attack.kind == AttackKind::kMoments && !model.empty() && attack.questions > 0 &&
          attack.attacker == kCentre) {
        const nlohmann::json& one = models.at(model);
        attack.reference_recovered = one.at("rank_over_model_family").get<double>();
        attack.reference_of = one.at("unknown_moments").get<double>();
        const nlohmann::json& error = one.at("relative_error_random_theta");
        if (error.is_number()) attack.reference_error = error.get<double>();
        attack.reference_questions = one.at("n_random_theta").get<int>();
      }
      if (attack.kind == AttackKind::kNextNode) {
        double worst = 0;
        for (const nlohmann::json& one : json.at("next_node_regression").at("results")) {
          if (one.at("theta_jitter").get<double>() > 0) continue;
          worst = std::max(worst, one.at("rmse_over_sd").get<double>());
          attack.reference_questions = one.at("evaluations").get<int>();
        }
        attack.reference_error = worst;
      }
      if (attack.kind == AttackKind::kMasks) {
        const auto distance = [&](const nlohmann::json& one) {
          return std::abs(std::log(one.at("T").get<double>() / attack.questions));
        };
        const auto nearest =
            std::min_element(averaging.begin(), averaging.end(),
                             [&](const nlohmann::json& a, const nlohmann::json& b) {
                               return distance(a) < distance(b);
                             });
        attack.reference_error = nearest->at("rmse_midrange").get<double>() / kReferenceDeviation;
        attack.reference_questions = nearest->at("T").get<int>();
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} holds no leakage measurements: {}", file, error.what()),
                "give --reference the file secure_mle_leakage.json");
  }
}

}  // namespace partita::papers
