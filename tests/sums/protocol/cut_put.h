// Puts whose connection is cut at one byte after the other.
#pragma once

#include <set>

#include "tests/sums/protocol/cutting_proxy.h"
#include "tests/sums/protocol/postgres_server.h"
#include "tests/sums/protocol/shares.h"

namespace partita::sums {

// Cuts at every `step`-th byte of a put, in both directions, once with a client that gives up and
// once with one that connects again; returns the number of cuts. Expects that what was reported as
// stored is there, and that nothing is there twice or in part.
inline int CutPutEverywhere(PostgresServer& server, const std::string& database, uint64_t step) {
  using Way = CuttingProxy::Way;
  CuttingProxy proxy(server.socket(), server.folder());
  PostgresSpool witness(server.Settings(database), {}, 1);
  PostgresSettings settings = server.Settings(database);
  settings.connection += " port=6543";
  uint32_t client = 1000;
  const auto make_batch = [&client] {
    client += 3;
    return std::vector<StoredShare>{Share(client, 1), Share(client + 1, 1), Share(client + 2, 1)};
  };
  int cuts = 0;
  for (const Way way : {Way::kToServer, Way::kToClient}) {
    uint64_t begin = 0;
    uint64_t end = 0;
    {
      PostgresSpool measured(settings, {}, 1);
      begin = proxy.bytes(way);
      measured.Put(make_batch());
      end = proxy.bytes(way);
    }
    for (uint64_t at = begin; at < end; at += step) {
      for (const bool reconnects : {false, true}) {
        const std::vector<StoredShare> batch = make_batch();
        settings.reconnect_for = std::chrono::seconds(reconnects ? 60 : 0);
        proxy.CutNext(way, at);
        std::vector<PutResult> results;
        PostgresSpool spool(settings, {}, 1);
        try {
          results = spool.Put(batch);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kUnreachable) << error.what();
          EXPECT_FALSE(reconnects) << error.what();
        }
        EXPECT_TRUE(proxy.cut()) << at;
        ++cuts;
        // Put again over a whole connection: is it there?
        const std::vector<PutResult> again = witness.Put(batch);
        EXPECT_EQ(std::set<PutResult>(again.begin(), again.end()).size(), 1U) << at;
        if (!results.empty()) {
          EXPECT_EQ(again.front(), PutResult::kIdentical) << at;
          EXPECT_EQ(std::set<PutResult>(results.begin(), results.end()).size(), 1U);
          EXPECT_TRUE(results.front() == PutResult::kStored ||
                      results.front() == PutResult::kIdentical);
        }
      }
    }
  }
  return cuts;
}

}  // namespace partita::sums
