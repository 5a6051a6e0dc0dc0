#include "study/plan/plan.h"

#include <algorithm>

#include "study/file/text.h"

namespace partita::study {
namespace {

void WriteTexts(const std::vector<std::string>& texts, ByteWriter& writer) {
  writer.U64(texts.size());
  for (const std::string& text : texts) writer.String(text);
}

void WriteParties(const Plan& plan, ByteWriter& writer) {
  writer.U64(plan.parties.size());
  for (const PlanParty& party : plan.parties) {
    writer.String(party.name);
    WriteTexts(party.roles, writer);
    writer.String(party.contributes);
    WriteTexts(party.learns, writer);
  }
}

void WritePhases(const std::vector<PlanPhase>& phases, ByteWriter& writer) {
  writer.U64(phases.size());
  for (const PlanPhase& phase : phases) {
    writer.String(phase.name);
    writer.U64(phase.rounds);
    writer.U64(phase.links.size());
    for (const PlanLink& link : phase.links) {
      writer.String(link.from);
      writer.String(link.to);
      writer.U64(link.messages);
      writer.U64(link.bytes);
    }
  }
}

void WriteReleases(const Plan& plan, ByteWriter& writer) {
  writer.U64(plan.correlations.size());
  for (const PlanCorrelation& correlation : plan.correlations) {
    writer.String(correlation.name);
    writer.U64(correlation.count);
  }
  writer.U64(plan.releases.size());
  for (const PlanRelease& release : plan.releases) {
    writer.String(release.id);
    writer.String(release.what);
    writer.String(release.to);
    writer.String(release.mechanism);
    writer.U64(release.max_count);
  }
}

void WriteBits(const PlanBits& bits, ByteWriter& writer) {
  writer.U64(bits.opened);
  writer.U64(bits.table);
  writer.U64(bits.rows);
  writer.String(bits.patterns);
  writer.String(bits.grid);
  writer.U8(bits.passes ? 1 : 0);
  writer.String(bits.meaning);
}

void WriteContract(const Plan& plan, ByteWriter& writer) {
  writer.U64(plan.analyses.size());
  for (const PlanAnalysis& analysis : plan.analyses) {
    writer.String(analysis.name);
    writer.String(analysis.protocol);
    writer.String(analysis.model);
    writer.String(analysis.rows);
    writer.U64(analysis.free_parameters);
  }
  writer.U64(plan.checks.size());
  for (const PlanCheck& check : plan.checks) {
    writer.String(check.analysis);
    writer.String(check.variable);
    writer.String(check.rule);
    writer.U64(check.minimum);
    writer.U8(check.warning ? 1 : 0);
  }
  writer.U64(plan.exposures.size());
  for (const PlanExposure& exposure : plan.exposures) {
    writer.String(exposure.of);
    writer.String(exposure.to);
    writer.U64(exposure.opened);
    writer.U64(exposure.statistics);
    writer.String(exposure.level);
    WriteTexts(exposure.exposes, writer);
    writer.U8(exposure.bits ? 1 : 0);
    if (exposure.bits) WriteBits(*exposure.bits, writer);
  }
  writer.U64(plan.privacy.size());
  for (const PlanPrivacy& row : plan.privacy) {
    writer.String(row.adversary);
    writer.String(row.adjacency);
    writer.String(row.loss);
  }
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
  writer.String(plan.study);
  writer.String(plan.study_file_hash);
  writer.String(plan.method);
  writer.U32(plan.method_version);
  writer.String(plan.protocol);
  writer.String(plan.engine);
  if (plan.threshold) writer.U32(*plan.threshold);
  writer.String(plan.partition);
  WriteParties(plan, writer);
  WritePhases(plan.phases, writer);
  WriteReleases(plan, writer);
  WriteContract(plan, writer);
  writer.String(plan.leakage_level);
  WriteTexts(plan.assumptions, writer);
  if (!plan.preparation.empty()) WritePhases(plan.preparation, writer);
  return writer.Take();
}

}  // namespace partita::study
