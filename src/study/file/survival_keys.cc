#include "study/file/survival_keys.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/design.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr double kLeastConfidence = 0.5, kMostConfidence = 0.9999;
void ReadGroups(const TableReader& reader, const LocatedText& text, const data::Formula& formula,
                const StudyFile& study, CurveFormula& curves) {
  size_t groups = 1;
  std::vector<data::GroupFactor> factors;
  for (const data::FormulaTerm& term : formula.terms) {
    const data::FormulaAtom& atom = term.front();
    if (term.size() > 1 || atom.function != data::FormulaAtom::Function::kNone) {
      reader.Fail(text.position, "curves are of the levels of factors, not of an expression",
                  "name factors: a + b has a curve for each combination; others are made by "
                  "[[derived]] with transform = \"cut\"");
    }
    data::GroupFactor factor = FactorOfFormula(reader, text, atom.name, study);
    RequireLevels(reader, text.position, "group", factor.schema);
    for (const data::GroupFactor& other : factors) {
      if (other.source != factor.source) continue;
      reader.Fail(text.position,
                  fmt::format("{} and {} are of one variable", other.schema.name, atom.name),
                  "name one of the two");
    }
    groups *= factor.schema.levels.size();
    if (groups > kMostGroups) {
      reader.Fail(text.position, fmt::format("there are {} groups", groups),
                  fmt::format("join levels; {} are the most", kMostGroups));
    }
    factors.push_back(std::move(factor));
  }
  if (!factors.empty()) curves.groups = data::GroupsOfFactors(std::move(factors));
}

// Of a stratum of two rows the sums over strata, less what is known of the others, say who left first.
void RefuseStrata(const TableReader& reader, const LocatedText& text,
                  const data::Formula& formula) {
  if (formula.strata.empty()) return;
  reader.Fail(text.position, "curves and their log-rank test have no strata",
              "name factors as groups: ~ arm + sex has a curve for each combination; a Cox model "
              "(model = \"cox\") takes strata(..)");
}

}  // namespace

data::GroupFactor FactorOfFormula(const TableReader& reader, const LocatedText& text,
                                  const std::string& name, const StudyFile& study) {
  const data::Schema factors = data::WithDerivedFactors(study.dictionary, study.derived);
  const data::ColumnSchema& schema =
      FindVariable(reader, {name, text.position}, "formula", factors);
  data::GroupFactor factor{schema, schema.name};
  for (const data::DerivedVariable& derived : study.derived) {
    if (derived.name == schema.name) factor.source = derived.from;
  }
  return factor;
}

CurveFormula ReadCurveFormula(const TableReader& reader, const StudyFile& study) {
  CurveFormula curves;
  const LocatedText text = reader.Text("formula", "formula = \"Surv(days, died) ~ arm\"");
  data::Formula formula;
  try {
    formula = data::ParseSurvivalFormula(text.value);
  } catch (const Error& error) {
    FailWith(reader, text.position, error);
  }
  curves.text = text.value;
  curves.outcome = SurvivalOutcome(reader, text.position, formula.outcome, study);
  if (!formula.offsets.empty() || !formula.intercept) {
    reader.Fail(text.position, "curves have no offsets and no intercept",
                "write Surv(time, event) ~ group, or ~ 1 for one curve");
  }
  if (!formula.outcome.entry.empty()) {
    reader.Fail(
        text.position, "curves have no times of entry here",
        "write Surv(time, event); a Cox model (model = \"cox\") takes Surv(entry, time, event)");
  }
  ReadGroups(reader, text, formula, study, curves);
  RefuseStrata(reader, text, formula);
  return curves;
}

const data::ColumnSchema& SurvivalOutcome(const TableReader& reader, Position position,
                                          const data::FormulaAtom& atom, const StudyFile& study) {
  std::string known;
  for (const data::ColumnSchema& column : study.dictionary.columns) {
    if (column.type != data::ColumnType::kSurvival) continue;
    if (column.time_column == atom.name && column.event_column == atom.with) return column;
    known += fmt::format("{}Surv({}, {})", known.empty() ? "" : " or ", column.time_column,
                         column.event_column);
  }
  reader.Fail(
      position, fmt::format("{} is no survival variable of the dictionary", atom.text),
      known.empty()
          ? fmt::format("declare it in the dictionary, in the place of the variables '{}' "
                        "and '{}': a [[variable]] with name, type = \"{}\", time = "
                        "\"{}\", event = \"{}\", lower and upper",
                        atom.name, atom.with, data::ColumnTypeName(data::ColumnType::kSurvival),
                        atom.name, atom.with)
          : "write " + known);
}

data::TimeGrid ReadTimeGrid(const TableReader& reader, const data::ColumnSchema& outcome) {
  const auto width = reader.OptionalNumber("cell");
  const Position position = width ? width->position : reader.position();
  if (width && !(width->value > 0)) {
    reader.Fail(position, fmt::format("cells of time are {:g} wide", width->value),
                "write, for example: cell = 7");
  }
  try {
    return data::GridOf(outcome, width ? width->value : 1);
  } catch (const Error& error) {
    FailWith(reader, position, error);
  }
}

std::vector<size_t> ReadReportTimes(const TableReader& reader, const data::ColumnSchema& outcome,
                                    const data::TimeGrid& grid) {
  std::vector<size_t> report;
  const auto times = reader.OptionalValues("report", false);
  if (!times) return report;
  for (const Located<double>& time : *times) {
    const auto cell = grid.EndingAt(time.value);
    if (!cell || time.value > outcome.upper) {
      reader.Fail(time.position,
                  fmt::format("{:g} is not the end of a cell of time within the bounds of {}",
                              time.value, Quote(outcome.name)),
                  fmt::format("cells end at {:g}, {:g}, ..; the last one within the bounds at {:g}",
                              grid.End(0), grid.End(1), grid.End(grid.Of(outcome.upper))));
    }
    if (!report.empty() && *cell <= report.back())
      reader.Fail(time.position, "report times increase", "sort them, and name each once");
    report.push_back(*cell);
  }
  if (report.size() > kMostReports) {
    reader.Fail(reader.PositionOf("report"),
                fmt::format("there are {} report times", report.size()),
                fmt::format("ask for at most {}", kMostReports));
  }
  return report;
}

double ReadConfidence(const TableReader& reader) {
  const auto confidence = reader.OptionalNumber("confidence");
  if (!confidence) return 0.95;
  if (!(confidence->value >= kLeastConfidence && confidence->value <= kMostConfidence)) {
    reader.Fail(confidence->position, fmt::format("the confidence is {}", confidence->value),
                "write, for example: confidence = 0.95");
  }
  return confidence->value;
}

void RefuseModelKeys(const TableReader& reader) {
  for (const char* key :
       {"ties", "most_ties", "steps", "ph_test", "concordance", "covariance", "errors"}) {
    if (!reader.Has(key)) continue;
    reader.Fail(reader.PositionOf(key), fmt::format("curves have no {}", key),
                "leave it out, or write model = \"cox\"");
  }
}

}  // namespace partita::study
