// What commands show and do of a node's answers when the node was broken into.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "node/daemon/control_socket.h"
#include "tests/cli/process.h"

namespace partita::node::lying_node_test {
namespace {

using partita::testing::Partita;
using partita::testing::ProcessResult;
using ::testing::HasSubstr;
using ::testing::Not;
using TestJson = nlohmann::ordered_json;

const std::string kNumber(64, 'a');

// A node that says this of every study.
struct LyingNodeTest : ::testing::Test {
  TestJson said = {{"study", kNumber},
                   {"proposer", "north"},
                   {"state", "failed"},
                   {"is_over", true},
                   {"parties", TestJson::array({"north", "south"})},
                   {"unchecked", TestJson::array()},
                   {"approved", TestJson::array()},
                   {"by_policy", TestJson::array()},
                   {"signers", TestJson::array()},
                   {"signed_here", TestJson::array()},
                   {"progress", TestJson::array()},
                   {"who", "south"},
                   {"reason", "a run failed"},
                   {"expires", "2026-12-01T00:00:00Z"},
                   {"charged", false},
                   {"file", "partita = 1\n"},
                   {"documents", {{"study", kNumber}, {"file", "partita = 1\n"}}},
                   {"problem", ""}};
  std::string path =
      (std::filesystem::path(::testing::TempDir()) / ("lying" + std::to_string(::getpid())))
          .string();
  ControlSocket socket{path, [this](const std::string&, uid_t) { return said.dump(); },
                       [](uid_t) {}};
};

TEST_F(LyingNodeTest, ItsWordsDoNotReachTheTerminal) {
  said["problem"] = "no such column\n\x1b[2J\x1b]0;title\x07 caf\xC3\xA9\nZeile \xC3\xBC\n";
  const ProcessResult shown = Partita({"study", "follow", kNumber, "--at", path});
  EXPECT_NE(shown.exit_code, 0);
  EXPECT_THAT(shown.err, HasSubstr("at this site: no such column\n?[2J?]0;title? caf??\nZeile "
                                   "\xC3\xBC"));
  EXPECT_THAT(shown.err, Not(HasSubstr("\x1b")));
}

// Else it would choose which study a withdrawal ends. Nothing was asked of a signer, and no passphrase read.
TEST_F(LyingNodeTest, AnotherStudyThanTheOneAskedForIsRefused) {
  const auto refused = [&] {
    const ProcessResult shown = Partita({"node", "withdraw", kNumber, "--at", path, "--reason", "x",
                                         "--sign", path + "-none", "--passphrase-fd", "0"});
    EXPECT_NE(shown.exit_code, 0);
    EXPECT_THAT(shown.err, HasSubstr("gave another study than the one it was asked for"));
  };
  const TestJson good = said;
  said["documents"]["study"] = std::string(64, 'b');
  refused();
  said = good;
  said["documents"]["file"] = "partita = 2\n";
  refused();
  said = good;
  said["study"] = std::string(64, 'b');
  refused();
}

}  // namespace
}  // namespace partita::node::lying_node_test
