#include "cli/privacy/privacy_mechanism.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/text_table.h"
#include "privacy/rounded_text.h"

namespace partita::cli {
namespace {

struct KindInfo {
  MechanismKind kind;
  std::string_view name;
  std::string_view noise_key;
  std::vector<std::string_view> keys;  // beside noise, steps and rate
  std::string_view words;              // "Gaussian noise", with the noise's own parameter following
};

const std::vector<KindInfo>& Kinds() {
  static const std::vector<KindInfo> kinds = {
      {MechanismKind::kGaussian, "gaussian", "sigma", {"sensitivity"}, "Gaussian noise"},
      {MechanismKind::kLaplace, "laplace", "scale", {"sensitivity"}, "Laplace noise"},
      {MechanismKind::kDiscreteGaussian,
       "discrete-gaussian",
       "sigma",
       {"sensitivity"},
       "discrete Gaussian noise"},
      {MechanismKind::kDiscreteGaussianSum,
       "discrete-gaussian-sum",
       "sigma",
       {"sensitivity", "shares"},
       "discrete Gaussian noise"},
      {MechanismKind::kDiscreteLaplace,
       "discrete-laplace",
       "scale",
       {"sensitivity"},
       "discrete Laplace noise"},
      {MechanismKind::kRandomisedResponse, "randomised-response", "", {"each-epsilon"}, ""},
      {MechanismKind::kApproximate, "approximate", "", {"each-epsilon", "each-delta"}, ""},
      {MechanismKind::kPmf, "pmf", "", {"file"}, ""}};
  return kinds;
}

const KindInfo& InfoOf(MechanismKind kind) {
  for (const KindInfo& info : Kinds()) {
    if (info.kind == kind) return info;
  }
  throw Error(ErrorCode::kInternal, "unknown mechanism");
}

const KindInfo& InfoOf(const MechanismText& text) {
  for (const KindInfo& info : Kinds()) {
    if (info.name == text.kind) return info;
  }
  throw Error(ErrorCode::kUsage, fmt::format("{}there is no mechanism '{}'", text.where, text.kind),
              fmt::format("known are {}", fmt::join(MechanismKinds(), ", ")));
}

std::string Example(std::string_view key) {
  if (key == "sigma") return "the standard deviation of the noise, for example 2";
  if (key == "scale") return "the scale of the noise, for example 1.5";
  if (key == "shares") return "how many parties add a share, for example 3";
  if (key == "each-epsilon") return "the epsilon of one use, for example 0.1";
  if (key == "each-delta") return "the delta of one use, for example 1e-7";
  if (key == "file") return "a TOML file with p = [...] and q = [...]";
  return "see --help";
}

// The values of one mechanism, asked for by key; what nobody asked for is an error.
class Values {
 public:
  Values(const MechanismText& text, const KindInfo& info) : text_(text), info_(info) {
    for (const auto& [key, value] : text.values) {
      const bool known = key == "steps" || key == "rate" || key == info.noise_key ||
                         std::find(info.keys.begin(), info.keys.end(), key) != info.keys.end();
      if (!known) {
        throw Error(
            ErrorCode::kUsage, fmt::format("{}{} has no '{}'", text.where, info.name, key),
            fmt::format("it takes {}{}steps and rate",
                        info.noise_key.empty() ? "" : std::string(info.noise_key) + ", ",
                        info.keys.empty() ? "" : fmt::format("{}, ", fmt::join(info.keys, ", "))));
      }
    }
  }

  std::optional<std::string> Find(std::string_view key) const {
    const auto found = text_.values.find(std::string(key));
    return found == text_.values.end() ? std::nullopt : std::optional(found->second);
  }

  std::string Required(std::string_view key) const {
    if (const auto value = Find(key)) return *value;
    throw Error(ErrorCode::kUsage, fmt::format("{}{} needs '{}'", text_.where, info_.name, key),
                std::string(key) + " is " + Example(key));
  }

  double Number(std::string_view key) const { return ParseNumber(Name(key), Required(key)); }
  double Number(std::string_view key, double otherwise) const {
    const auto value = Find(key);
    return value ? ParseNumber(Name(key), *value) : otherwise;
  }
  double Positive(std::string_view key, const std::string& text) const {
    const double value = ParseNumber(Name(key), text);
    if (value > 0) return value;
    throw Error(ErrorCode::kUsage, fmt::format("{} must be positive, not {}", Name(key), text),
                "without noise, or where one row changes nothing, there is nothing to account");
  }
  uint64_t Count(std::string_view key, uint64_t otherwise) const {
    const auto value = Find(key);
    return value ? ParseCount(Name(key), *value) : otherwise;
  }

 private:
  std::string Name(std::string_view key) const { return text_.where + std::string(key); }

  const MechanismText& text_;
  const KindInfo& info_;
};

uint64_t WholeSensitivity(const MechanismSpec& spec) {
  if (spec.sensitivity != std::floor(spec.sensitivity) || spec.sensitivity < 1 ||
      spec.sensitivity > 0x1p45) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the sensitivity of {} must be a whole number from 1 to 2^45, not {}",
                            InfoOf(spec.kind).name, spec.sensitivity),
                "give it in units of the grid");
  }
  return static_cast<uint64_t>(spec.sensitivity);
}

privacy::Mechanism MakePmf(const MechanismSpec& spec, privacy::Adjacency adjacency) {
  const std::string name = "pair of laws of " + spec.file;
  if (spec.rate == 1) return privacy::PmfMechanism(spec.with, spec.without, name);
  if (adjacency == privacy::Adjacency::kReplace) {
    throw Error(ErrorCode::kUsage, "a sampled pair of laws has no replacement adjacency here",
                "use --adjacency add-remove, or sample in the laws themselves");
  }
  return privacy::SampledPmfMechanism(spec.with, spec.without, spec.rate, name);
}

privacy::Mechanism MakeMechanism(const MechanismSpec& spec, privacy::Adjacency adjacency) {
  const privacy::SamplingSpec sampling{adjacency, spec.rate};
  switch (spec.kind) {
    case MechanismKind::kGaussian:
      return privacy::GaussianMechanism(spec.noise / spec.sensitivity, sampling);
    case MechanismKind::kLaplace:
      return privacy::LaplaceMechanism(spec.noise / spec.sensitivity, sampling);
    case MechanismKind::kDiscreteGaussian:
      return privacy::DiscreteGaussianMechanism(spec.noise, WholeSensitivity(spec), sampling);
    case MechanismKind::kDiscreteGaussianSum:
      return privacy::DiscreteGaussianSumMechanism(spec.noise, spec.shares, WholeSensitivity(spec),
                                                   sampling);
    case MechanismKind::kDiscreteLaplace:
      return privacy::DiscreteLaplaceMechanism(spec.noise, WholeSensitivity(spec), sampling);
    case MechanismKind::kRandomisedResponse:
      return privacy::RandomisedResponse(spec.each.epsilon, sampling);
    case MechanismKind::kApproximate:
      if (spec.rate < 1) {
        throw Error(ErrorCode::kUsage, "a guarantee alone is not amplified here by sampling",
                    "under add-remove, rate q makes of (epsilon, delta): (log(1 + q (e^epsilon - "
                    "1)), q delta); give that with rate 1");
      }
      return privacy::ApproximateDpMechanism(spec.each);
    case MechanismKind::kPmf:
      return MakePmf(spec, adjacency);
  }
  throw Error(ErrorCode::kInternal, "unknown mechanism");
}

constexpr int kDigits = 6;

// What somebody gave, or on the safe side of it: noise down, everything that it hides up.
std::string Noise(double value) { return privacy::GivenText(value, kDigits, false); }
std::string AtMost(double value) { return privacy::GivenText(value, kDigits, true); }

std::string DescribeNoise(const MechanismSpec& spec, privacy::Adjacency adjacency) {
  const KindInfo& info = InfoOf(spec.kind);
  const char* norm = spec.kind == MechanismKind::kGaussian  ? " (L2 norm)"
                     : spec.kind == MechanismKind::kLaplace ? " (L1 norm)"
                                                            : "";
  const std::string parameter = spec.kind == MechanismKind::kGaussian
                                    ? "of standard deviation " + Noise(spec.noise)
                                    : fmt::format("of {} {}", info.noise_key, Noise(spec.noise));
  const std::string moved =
      adjacency == privacy::Adjacency::kReplace
          ? fmt::format(
                "one row moves by {} at most when it is exchanged for another (twice "
                "the sensitivity)",
                AtMost(2 * spec.sensitivity))
          : fmt::format("one row moves by {} at most by being there", AtMost(spec.sensitivity));
  const std::string noise =
      spec.kind == MechanismKind::kDiscreteGaussianSum
          ? fmt::format("the sum of {} shares of {} {} each", spec.shares, info.words, parameter)
          : fmt::format("{} {}", info.words, parameter);
  return fmt::format("{} on a result that {}{}", noise, moved, norm);
}

std::string DescribeLaw(const MechanismSpec& spec, privacy::Adjacency adjacency) {
  switch (spec.kind) {
    case MechanismKind::kRandomisedResponse:
      return fmt::format("a bit that is reported truthfully with probability {:.6g} (epsilon {})",
                         1 / (1 + std::exp(-spec.each.epsilon)), AtMost(spec.each.epsilon));
    case MechanismKind::kApproximate:
      return fmt::format("any mechanism with the guarantee ({}, {})", AtMost(spec.each.epsilon),
                         AtMost(spec.each.delta));
    case MechanismKind::kPmf:
      return fmt::format("an output with one of the two laws in {} ({} outputs)", spec.file,
                         spec.with.size());
    default:
      return DescribeNoise(spec, adjacency);
  }
}

}  // namespace

MechanismText SplitMechanism(const std::string& text) {
  MechanismText mechanism;
  mechanism.where = fmt::format("mechanism '{}': ", text);
  std::istringstream words(text);
  words >> mechanism.kind;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{}'{}' is not of the form key=value", mechanism.where, word),
                  "write for example \"gaussian sigma=2 rate=0.01 steps=500\"");
    }
    if (!mechanism.values.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{}'{}' is given twice", mechanism.where, word.substr(0, equals)),
                  "give every key once");
    }
  }
  if (mechanism.kind.empty()) {
    throw Error(ErrorCode::kUsage, "a mechanism is empty",
                "write for example \"gaussian sigma=2 rate=0.01 steps=500\"");
  }
  return mechanism;
}

double ParseNumber(const std::string& key, const std::string& text) {
  const auto number = [&](std::string_view part) {
    double value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || end != part.data() + part.size() || error != std::errc()) {
      throw Error(ErrorCode::kUsage, fmt::format("{}: cannot read the number '{}'", key, text),
                  "write it like 0.01, 1e-5 or 100/30162");
    }
    return value;
  };
  const size_t slash = text.find('/');
  const double value = slash == std::string::npos
                           ? number(text)
                           : number(std::string_view(text).substr(0, slash)) /
                                 number(std::string_view(text).substr(slash + 1));
  if (!std::isfinite(value)) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: '{}' is not a finite number", key, text),
                "write it like 0.01, 1e-5 or 100/30162");
  }
  return value;
}

uint64_t ParseCount(const std::string& key, const std::string& text) {
  const double value = ParseNumber(key, text);
  if (value != std::floor(value) || value < 1 || value > static_cast<double>(privacy::kMaxCount)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} must be a whole number from 1 to 2^32, not {}", key, text),
                "write it like 500 or 1e6");
  }
  return static_cast<uint64_t>(value);
}

MechanismSpec ReadMechanism(const MechanismText& text, bool noise_wanted) {
  const KindInfo& info = InfoOf(text);
  const Values values(text, info);
  MechanismSpec spec;
  spec.kind = info.kind;
  spec.where = text.where;
  if (!info.noise_key.empty() && !noise_wanted) {
    spec.noise = values.Positive(info.noise_key, values.Required(info.noise_key));
  }
  if (noise_wanted && values.Find(info.noise_key)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{}{} is what is looked for", text.where, info.noise_key),
                "leave it out, or ask `partita privacy eps` what it costs");
  }
  spec.sensitivity = values.Positive("sensitivity", values.Find("sensitivity").value_or("1"));
  spec.rate = privacy::RequireSamplingRate(values.Number("rate", 1));
  spec.steps = values.Count("steps", 1);
  const auto takes = [&](std::string_view key) {
    return std::find(info.keys.begin(), info.keys.end(), key) != info.keys.end();
  };
  if (takes("shares")) {
    values.Required("shares");
    const uint64_t shares = values.Count("shares", 1);
    if (shares > 1'000'000) {
      throw Error(ErrorCode::kUsage, text.where + "shares must be at most 1e6", Example("shares"));
    }
    spec.shares = static_cast<uint32_t>(shares);
  }
  if (takes("each-epsilon")) spec.each.epsilon = values.Number("each-epsilon");
  if (takes("each-delta")) spec.each.delta = values.Number("each-delta");
  if (takes("file")) {
    spec.file = values.Required("file");
    LoadPmfPair(spec.file, spec.with, spec.without);
  }
  return spec;
}

privacy::Event MakeEvent(const MechanismSpec& spec, privacy::Adjacency adjacency) {
  try {
    return {MakeMechanism(spec, adjacency), spec.steps};
  } catch (const Error& error) {
    if (spec.where.empty()) throw;
    throw Error(error.code(), spec.where + error.message(), error.hint());
  }
}

std::string_view NoiseKey(MechanismKind kind) { return InfoOf(kind).noise_key; }

bool HasNoise(std::string_view kind) {
  for (const KindInfo& info : Kinds()) {
    if (info.name == kind) return !info.noise_key.empty();
  }
  return true;
}

std::string DescribeMechanism(const MechanismSpec& spec, privacy::Adjacency adjacency) {
  std::string text = DescribeLaw(spec, adjacency);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (spec.rate < 1) {
    text += fmt::format(
        ", on batches into which every row comes independently with probability "
        "{} (Poisson sampling)",
        AtMost(spec.rate));
  }
  if (spec.steps > 1) text += fmt::format(", {} times", FormatCount(spec.steps));
  return text + ".";
}

std::vector<std::string> MechanismKinds() {
  std::vector<std::string> names;
  for (const KindInfo& info : Kinds()) names.emplace_back(info.name);
  return names;
}

std::vector<std::string> MechanismKeys() {
  return {"sigma",      "scale", "sensitivity", "shares", "each-epsilon",
          "each-delta", "file",  "rate",        "steps"};
}

}  // namespace partita::cli
