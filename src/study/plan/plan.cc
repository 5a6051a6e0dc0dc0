#include "study/plan/plan.h"

#include <algorithm>

#include "study/file/text.h"

namespace partita::study {
namespace {

// The canonical encoding: fields in this order, a list after its length.
void Put(ByteWriter& writer, const std::string& text) { writer.String(text); }
void Put(ByteWriter& writer, uint64_t number) { writer.U64(number); }
void Put(ByteWriter& writer, bool flag) { writer.U8(flag ? 1 : 0); }

template <typename... Fields>
void PutAll(ByteWriter& writer, const Fields&... fields) {
  (Put(writer, fields), ...);
}

void PutTexts(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.U64(texts.size());
  for (const std::string& text : texts) Put(writer, text);
}

void Put(ByteWriter& writer, const PlanParty& party) {
  Put(writer, party.name);
  PutTexts(writer, party.roles);
  Put(writer, party.contributes);
  PutTexts(writer, party.learns);
}

void Put(ByteWriter& writer, const PlanPhase& phase) {
  PutAll(writer, phase.name, phase.rounds, phase.links.size());
  for (const PlanLink& link : phase.links) {
    PutAll(writer, link.from, link.to, link.messages, link.bytes);
  }
}

void Put(ByteWriter& writer, const PlanCorrelation& correlation) {
  PutAll(writer, correlation.name, correlation.count);
}

void Put(ByteWriter& writer, const PlanRelease& release) {
  PutAll(writer, release.id, release.what, release.to, release.mechanism, release.max_count);
}

void Put(ByteWriter& writer, const PlanAnalysis& analysis) {
  PutAll(writer, analysis.name, analysis.protocol, analysis.model, analysis.rows,
         analysis.free_parameters);
}

void Put(ByteWriter& writer, const PlanCheck& check) {
  PutAll(writer, check.analysis, check.variable, check.rule, check.minimum, check.warning);
}

void Put(ByteWriter& writer, const PlanExposure& exposure) {
  PutAll(writer, exposure.of, exposure.to, exposure.opened, exposure.statistics, exposure.level);
  PutTexts(writer, exposure.exposes);
  Put(writer, exposure.bits.has_value());
  if (!exposure.bits) return;
  const PlanBits& bits = *exposure.bits;
  PutAll(writer, bits.opened, bits.table, bits.rows, bits.patterns, bits.grid, bits.passes,
         bits.meaning);
}

void Put(ByteWriter& writer, const PlanPrivacy& row) {
  PutAll(writer, row.adversary, row.adjacency, row.loss);
}

template <typename T>
void PutList(ByteWriter& writer, const std::vector<T>& list) {
  writer.U64(list.size());
  for (const T& item : list) Put(writer, item);
}

}  // namespace

PlanTotals Totals(const Plan& plan) { return Totals(std::span(plan.phases)); }

PlanTotals Totals(std::span<const PlanPhase> phases) {
  PlanTotals totals;
  for (const PlanPhase& phase : phases) {
    totals.rounds += phase.rounds;
    for (const PlanLink& link : phase.links) {
      totals.messages += link.messages;
      totals.bytes += link.bytes;
    }
  }
  return totals;
}

std::vector<std::string> LearnsSentences(const Plan& plan) {
  std::vector<std::string> sentences;
  for (const PlanParty& party : plan.parties) {
    const std::string learns =
        party.learns.empty() ? "nothing beyond this plan" : Join(party.learns, "; ");
    sentences.push_back(party.name + " (" + Join(party.roles, " and ") + ") learns: " + learns +
                        ".");
  }
  return sentences;
}

Bytes NormativeBytes(const Plan& plan) {
  ByteWriter writer;
  PutAll(writer, plan.study, plan.study_file_hash, plan.method);
  writer.U32(plan.method_version);
  PutAll(writer, plan.protocol, plan.engine);
  if (plan.threshold) writer.U32(*plan.threshold);
  Put(writer, plan.partition);
  PutList(writer, plan.parties);
  PutList(writer, plan.phases);
  PutList(writer, plan.correlations);
  PutList(writer, plan.releases);
  PutList(writer, plan.analyses);
  PutList(writer, plan.checks);
  PutList(writer, plan.exposures);
  PutList(writer, plan.privacy);
  Put(writer, plan.leakage_level);
  PutTexts(writer, plan.assumptions);
  if (!plan.preparation.empty()) PutList(writer, plan.preparation);
  return writer.Take();
}

}  // namespace partita::study
