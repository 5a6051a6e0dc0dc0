#include "methods/marginals/section_promise.h"

#include <fmt/format.h>

#include "methods/marginals/section_parts.h"
#include "run/method/study.h"
#include "study/file/text.h"

namespace partita::methods::marginals {
namespace {

using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;

double Within(const TableReader& reader, std::string_view key, double low, double high,
              const std::string& example) {
  const auto number = reader.OptionalNumber(key);
  if (!number) reader.FailMissing(key, example);
  if (!(number->value >= low && number->value <= high)) {
    reader.Fail(number->position, fmt::format("'{}' must be from {:g} to {:g}", key, low, high),
                "for example: " + example);
  }
  return number->value;
}

// Where the number of rows is public all blocks declare it; where it is not, none does.
void RequireCounts(const TableReader& analysis, const StudyFile& study, const Spec& spec) {
  const bool is_public = spec.adjacency == privacy::Adjacency::kReplace;
  for (const study::RowBlock& block : study.blocks) {
    if (block.count.has_value() == is_public) continue;
    analysis.Fail(
        analysis.position(),
        is_public
            ? fmt::format("method \"{}\" with adjacency = \"replace\" takes the number of rows as "
                          "public, and block {} has none",
                          MethodOf(spec), Quote(block.name))
            : fmt::format(
                  "adjacency = \"add-remove\" protects the number of rows, which block {} declares",
                  Quote(block.name)),
        is_public ? "write count = ... in its [[rows]]; or, of rows that each holder has whole, "
                    "adjacency = "
                    "\"add-remove\""
                  : "write adjacency = \"replace\", or leave out the count of every block: each is "
                    "whole at one "
                    "holder then");
  }
}

void ReadExpectedRows(const TableReader& analysis, const StudyFile& study, Spec& spec) {
  const bool hidden = spec.adjacency == privacy::Adjacency::kAddRemove;
  constexpr const char* kWhatFor =
      "a round guess, made without the data, that the forecast of noise is for; the real number "
      "opens with noise";
  if (hidden && !analysis.Has("expected_rows"))
    analysis.FailMissing("expected_rows", "expected_rows = 5000");
  if (!hidden && analysis.Has("expected_rows")) {
    analysis.Fail(analysis.PositionOf("expected_rows"),
                  "'expected_rows' where every block declares its number", "remove it");
  }
  const auto most = static_cast<int64_t>(run::kMaxUndeclaredRows * study.blocks.size());
  spec.expected_rows =
      static_cast<uint64_t>(WholeOr(analysis, "expected_rows", 1, most, 0, kWhatFor));
}

}  // namespace

const char* MethodOf(const Spec& spec) {
  if (spec.curves) return kSurvivalName;
  return spec.describes ? kDescribeName : kMethodName;
}

void RequireRows(const TableReader& analysis, const StudyFile& study, const Spec& spec) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    analysis.Fail(analysis.position(),
                  fmt::format("method \"{}\"{} {}", MethodOf(spec),
                              spec.draws_rows() ? "" : " with [analysis.privacy]", what),
                  hint);
  };
  if (!study.population.subset.empty()) {
    refuse("takes all rows, and [population] has a subset",
           "leave out the subset, and agree on tables of those rows");
  }
  const study::DesignSpec& design = study.design;
  if ((design.missing != study::MissingPolicy::kRefuse &&
       design.missing != study::MissingPolicy::kComplete) ||
      design.site != study::SiteEffect::kIgnore ||
      design.weights_kind != study::WeightsKind::kNone || !design.cluster.empty()) {
    refuse(
        "knows no imputation, sites, weights or clusters",
        "write site = \"ignore\" and missing = \"complete\" in [design]: missing cells are a level "
        "of their own");
  }
  if (design.missing == study::MissingPolicy::kRefuse &&
      design.faulty_rows != study::FaultyRowsRule::kFill) {
    refuse(
        "counts every row in every table, so that none can be left out for a cell",
        "write missing = \"complete\" in [design]: missing cells are a level of their own; or, of "
        "tables that hardly have any, missing = \"refuse\" with faulty_rows = \"fill\"");
  }
  if (study.engine.stored_correlations) {
    refuse("runs without stored correlations", "remove them from [engine]");
  }
}

void ReadPromise(const TableReader& analysis, const StudyFile& study, Spec& spec) {
  const auto reader = analysis.OptionalTable(
      "privacy", {"epsilon", "delta", "adjacency", "against"}, "[analysis.privacy]");
  if (!reader) {
    analysis.FailMissing("privacy", "[analysis.privacy] with epsilon, delta and adjacency");
  }
  spec.epsilon = Within(*reader, "epsilon", 0.01, 10, "epsilon = 1");
  spec.delta = Within(*reader, "delta", 1e-9, 0.01, "delta = 1e-5");
  const LocatedText adjacency = reader->Text("adjacency", "adjacency = \"replace\"");
  if (reader->Choice(adjacency, "adjacency", {"replace", "add-remove"}) == "add-remove")
    spec.adjacency = privacy::Adjacency::kAddRemove;
  if (const auto against = reader->OptionalText("against")) {
    const std::string whom = reader->Choice(*against, "against", {"parties", "outside"});
    spec.against = whom == "outside" ? Against::kOutside : Against::kParties;
  }
  RequireCounts(analysis, study, spec);
  ReadExpectedRows(analysis, study, spec);
}

}  // namespace partita::methods::marginals
