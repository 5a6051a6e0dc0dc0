#include "run/method/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/suggest.h"
#include "mpc/shamir_schedule.h"
#include "run/method/stripes.h"

namespace partita::run {
namespace {

void OrderParties(Study& study) {
  for (const study::Party& party : study.file.parties) {
    if (!party.dealer) study.parties.push_back(party);
  }
  study.num_computing = study.parties.size();
  for (const study::Party& party : study.file.parties) {
    if (party.dealer) study.parties.push_back(party);
  }
  for (size_t i = 0; i < study.parties.size(); ++i) {
    if (study.parties[i].receiver) study.receiver = i;
  }
  const bool replicated = study.file.engine.name == "replicated";
  if (replicated && study.num_computing != 3) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format(
            "{}: engine 'replicated' runs with exactly three computing parties, this study has {}",
            study.file.file_name, study.num_computing),
        "use engine 'dealer', which takes any number of parties and one dealer");
  }
  if (study.file.engine.name == "ot" && study.num_computing != 2) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: engine 'ot' runs with exactly two computing parties, this study has {}",
                    study.file.file_name, study.num_computing),
        "use engine 'dealer', which takes any number of parties and one dealer");
  }
  if (study.file.engine.name == "shamir") mpc::shamir::CheckNumParties(study.num_computing);
  if (study.num_computing < 2) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: a study needs at least two computing parties", study.file.file_name),
        "add a [[party]] with the role \"holder\", or one that only receives the result");
  }
}

// Products are made of one party's cells.
void RequireProductsWithinParties(const Study& study) {
  const auto place = [&](const std::string& name) {
    const std::vector<std::string>& names = study.partition.variables;
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  for (const data::DerivedVariable& derived : study.file.derived) {
    if (derived.kind != data::TransformKind::kProduct) continue;
    const size_t from = place(derived.from), with = place(derived.with);
    for (const data::Segment& segment : study.partition.segments) {
      for (const data::SegmentPart& part : segment.parts) {
        const auto holds = [&](size_t v) {
          return std::find(part.variables.begin(), part.variables.end(), v) != part.variables.end();
        };
        if (holds(from) == holds(with)) continue;
        throw Error(ErrorCode::kBadInput,
                    fmt::format("{}: the derived variable '{}' is the product of '{}' and '{}', "
                                "which two parties hold for the rows of block '{}'",
                                study.file.file_name, derived.name, derived.from, derived.with,
                                study.partition.blocks[segment.block].name),
                    "products across parties are not computed: derive products of variables that "
                    "one party holds, or leave this one out");
      }
    }
  }
}

}  // namespace

data::SumQuery Study::SumsOf(size_t /*party*/) const {
  throw Error(ErrorCode::kRefused,
              fmt::format("method '{}' takes rows, and only sums come from the database",
                          file.analyses.front().method),
              "freeze the rows instead: leave out 'mode' in the source file");
}

std::unique_ptr<MethodRows> Study::TakeSums(size_t /*party*/, const data::SumAnswer& /*answer*/,
                                            OwnRows& /*counts*/) const {
  throw Error(ErrorCode::kInternal, "sums of a method that takes rows");
}

data::TableCheckOptions Study::TableChecks() const {
  data::TableCheckOptions options;
  options.csv.separator = file.table.separator;
  options.csv.decimal = file.table.decimal;
  options.allow_missing = file.design.missing != study::MissingPolicy::kRefuse;
  return options;
}

void PrepareParties(study::StudyFile file, Study& study) {
  study.file = std::move(file);
  OrderParties(study);
  try {
    study.partition = study::StudyPartition(study.file, study.parties);
  } catch (const Error& error) {
    throw Error(error.code(), study.file.file_name + ": " + error.message(), error.hint());
  }
  RequireProductsWithinParties(study);
  study.row_columns = {study.file.table.key, study.file.table.block};
  study.shared_blocks = match::SharedBlocks(study.partition);
}

int IntegerBits(const Study& study) { return study.file.engine.name == "shamir" ? 127 : 128; }

std::string SourceVariable(const Study& study, const std::string& name) {
  for (const data::DerivedVariable& derived : study.file.derived) {
    if (derived.name == name) return derived.from;
  }
  return name;
}

std::vector<std::string> PartyNames(const Study& study) {
  std::vector<std::string> names;
  for (const study::Party& party : study.parties) names.push_back(party.name);
  return names;
}

std::vector<std::string> OnlineNames(const Study& study) {
  std::vector<std::string> names = PartyNames(study);
  if (study.file.engine.stored_correlations) names.resize(study.num_computing);
  return names;
}

size_t PartyByName(const Study& study, const std::string& name) {
  const std::vector<std::string> names = PartyNames(study);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("study '{}' has no party '{}'", study.file.name, name),
                data::SuggestionHint(name, names));
  }
  return static_cast<size_t>(found - names.begin());
}

std::string RowsText(const Study& study, const std::vector<data::Condition>& subset,
                     const std::string& that) {
  std::vector<data::Condition> conditions = study.file.population.subset;
  conditions.insert(conditions.end(), subset.begin(), subset.end());
  std::string text = conditions.empty()
                         ? "over all rows"
                         : "over the rows where " + study::ConditionsText(conditions);
  if (!that.empty()) text += (conditions.empty() ? " " : " and ") + that;
  return text;
}

RowRange StripeOf(size_t num_rows, size_t stripe, size_t stripes) {
  const auto at = [&](size_t s) {
    return static_cast<size_t>(static_cast<UInt128>(num_rows) * s / stripes);
  };
  return {at(stripe), at(stripe + 1) - at(stripe)};
}

std::optional<std::string> Study::WhyNoStripes() const { return "method '" + Method().name + "'"; }

std::unique_ptr<MethodRows> Study::StripeRows(size_t /*party*/, const MethodRows& /*rows*/,
                                              size_t /*stripe*/) const {
  throw Error(ErrorCode::kInternal, "a method without stripes is asked for one");
}

std::vector<mpc::Shared> Study::RunStripe(mpc::Engine& /*engine*/, size_t /*stripe*/,
                                          const MethodRows* /*rows*/) const {
  throw Error(ErrorCode::kInternal, "a method without stripes is asked for one");
}

Bytes Study::EncodeStripe(const MethodRows& /*stripe*/) const {
  throw Error(ErrorCode::kInternal, "a method without stripes is asked for one");
}

std::unique_ptr<MethodRows> Study::DecodeStripe(size_t /*party*/, size_t /*stripe*/,
                                                ByteView /*bytes*/) const {
  throw Error(ErrorCode::kInternal, "a method without stripes is asked for one");
}

void Refuse(const Study& study, const study::Position& position, const std::string& what,
            const std::string& hint) {
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("{}:{}:{}: {}", study.file.file_name, position.line, position.column, what),
      hint);
}

}  // namespace partita::run
