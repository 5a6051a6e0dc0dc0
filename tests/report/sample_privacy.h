// A privacy statement as a private study would make it, with small made-up curves.
#pragma once

#include "privacy/statement.h"

namespace partita::report {

inline privacy::PrivacyLoss SampleLoss(double epsilon, double beta) {
  privacy::PrivacyLoss loss;
  loss.epsilon_lower = epsilon * 0.999;
  loss.epsilon_upper = epsilon;
  loss.delta = 1e-6;
  loss.beta_at_5_percent = beta;
  loss.trade_off = {
      {0, 0.99, 1}, {0.05, beta, beta + 0.05}, {0.5, beta / 4, beta / 4 + 0.05}, {1, 0, 0}};
  return loss;
}

inline privacy::Statement SampleStatement() {
  using privacy::Adjacency;
  privacy::Adversary north, south, nodes;
  north.kind = south.kind = privacy::AdversaryKind::kParty;
  north.party = "north";
  south.party = "south";
  nodes.kind = privacy::AdversaryKind::kComputeNodes;
  nodes.size = 2;
  privacy::PrivacyLoss infinite;
  infinite.infinite = true;
  privacy::Statement statement;
  statement.mechanism = "Noise of scale 3.";
  statement.rows = {{{}, Adjacency::kReplace, SampleLoss(1.23449, 0.8), "all noise"},
                    {north, Adjacency::kReplace, SampleLoss(2, 0.7), "most noise"},
                    {south, Adjacency::kReplace, SampleLoss(1.23449, 0.8), "all noise"},
                    {nodes, Adjacency::kReplace, infinite, "they hold all shares"}};
  statement.caveats = {"Only if it rains."};
  return statement;
}

}  // namespace partita::report
