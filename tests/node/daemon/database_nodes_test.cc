// Three real nodes, one with its state in PostgreSQL: database_nodes.sh, over a server of this test's own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/paths.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::node::database_nodes_test {
namespace {

TEST(DatabaseNodesTest, OneStudyFromProposalToResult) {
  sums::PostgresServer& server = sums::SharedServer();
  const std::string database = server.MakeDatabase();
  const std::string command =
      fmt::format("bash '{}' '{}' '{}' '{}' '{}'",
                  SourcePath("tests/node/daemon/database_nodes.sh"), SourcePath(), BinaryPath(),
                  server.Connection(database), server.Connection(database, "postgres"));
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace partita::node::database_nodes_test
