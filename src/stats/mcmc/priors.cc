#include "stats/mcmc/priors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/trim.h"

namespace partita::stats::mcmc {
namespace {

struct Form {
  const char* name;
  PriorKind kind;
  size_t arguments;
};
constexpr Form kForms[] = {{"flat", PriorKind::kFlat, 0},
                           {"normal", PriorKind::kNormal, 2},
                           {"student_t", PriorKind::kStudentT, 3},
                           {"cauchy", PriorKind::kCauchy, 2},
                           {"exponential", PriorKind::kExponential, 1}};

[[noreturn]] void Refuse(std::string_view text) {
  throw Error(ErrorCode::kBadInput, fmt::format("'{}' is not a prior", text),
              "write flat, normal(mean, sd), student_t(df, mean, scale), cauchy(mean, scale) or "
              "exponential(rate), with scales, df and rates above 0");
}

std::vector<double> Arguments(std::string_view list, std::string_view whole) {
  std::vector<double> values;
  while (true) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = Trim(list.substr(0, comma));
    double value = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (error != std::errc() || end != item.data() + item.size() || !std::isfinite(value)) {
      Refuse(whole);
    }
    values.push_back(value);
    if (comma == list.size()) return values;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Prior ParsePrior(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  const size_t open = trimmed.find('(');
  const std::string_view name = Trim(trimmed.substr(0, open));
  std::vector<double> values;
  if (open != std::string_view::npos) {
    if (trimmed.back() != ')') Refuse(text);
    values = Arguments(trimmed.substr(open + 1, trimmed.size() - open - 2), text);
  }
  const auto* form = std::find_if(std::begin(kForms), std::end(kForms),
                                  [&](const Form& f) { return f.name == name; });
  if (form == std::end(kForms) || values.size() != form->arguments) Refuse(text);
  Prior prior;
  prior.kind = form->kind;
  switch (form->kind) {
    case PriorKind::kFlat:
      return prior;
    case PriorKind::kNormal:
    case PriorKind::kCauchy:
      prior.location = values[0];
      prior.scale = values[1];
      break;
    case PriorKind::kStudentT:
      prior.df = values[0];
      prior.location = values[1];
      prior.scale = values[2];
      break;
    case PriorKind::kExponential:
      prior.scale = 1 / values[0];
      break;
  }
  if (!(prior.scale > 0) || !(prior.df > 0) || !std::isfinite(prior.scale)) Refuse(text);
  return prior;
}

std::string PriorText(const Prior& prior) {
  switch (prior.kind) {
    case PriorKind::kFlat:
      return "flat";
    case PriorKind::kNormal:
      return fmt::format("normal({}, {})", prior.location, prior.scale);
    case PriorKind::kStudentT:
      return fmt::format("student_t({}, {}, {})", prior.df, prior.location, prior.scale);
    case PriorKind::kCauchy:
      return fmt::format("cauchy({}, {})", prior.location, prior.scale);
    case PriorKind::kExponential:
      return fmt::format("exponential({})", 1 / prior.scale);
  }
  return "";
}

double LogPrior(const Prior& prior, double value) {
  const double z = (value - prior.location) / prior.scale;
  switch (prior.kind) {
    case PriorKind::kFlat:
      return 0;
    case PriorKind::kNormal:
      return -z * z / 2;
    case PriorKind::kStudentT:
      return -(prior.df + 1) / 2 * std::log1p(z * z / prior.df);
    case PriorKind::kCauchy:
      return -std::log1p(z * z);
    case PriorKind::kExponential:
      return value - std::exp(value) / prior.scale;
  }
  return 0;
}

Eigen::VectorXd LogPrior(const std::vector<Prior>& priors, const Eigen::MatrixXd& thetas) {
  Eigen::VectorXd values = Eigen::VectorXd::Zero(thetas.cols());
  for (Eigen::Index c = 0; c < thetas.cols(); ++c) {
    for (size_t j = 0; j < priors.size(); ++j) {
      values(c) += LogPrior(priors[j], thetas(static_cast<Eigen::Index>(j), c));
    }
  }
  return values;
}

double Draw(const Prior& prior, blr::Variates& variates) {
  switch (prior.kind) {
    case PriorKind::kFlat:
      break;
    case PriorKind::kNormal:
      return prior.location + prior.scale * variates.Normal();
    case PriorKind::kStudentT:
      return prior.location + prior.scale * variates.Normal() /
                                  std::sqrt(2 * variates.Gamma(prior.df / 2) / prior.df);
    case PriorKind::kCauchy:
      return prior.location + prior.scale * std::tan(std::numbers::pi * (variates.Uniform() - 0.5));
    case PriorKind::kExponential:
      return std::log(prior.scale * variates.Exponential());
  }
  throw Error(ErrorCode::kUsage, "a flat prior has no draws",
              "give every parameter a proper prior");
}

}  // namespace partita::stats::mcmc
