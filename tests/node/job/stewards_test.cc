// Rosters that name stewards: read strictly, covered by the digest, and nothing changes for those that
// do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "net/roster.h"
#include "study/plan/hashes.h"

namespace partita::node::stewards_test {
namespace {

using ::testing::HasSubstr;

const std::string kA(64, 'a'), kB(64, 'b'), kC(64, 'c'), kD(64, 'd');

net::Roster TwoParties() {
  return {{"north", "north.example.org:7400", kA}, {"south", "south.example.org:7400", kB}};
}

std::string Refusal(const net::Roster& roster) {
  try {
    net::ParseRoster(net::FormatRoster(roster), "roster.toml");
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(StewardsTest, RostersComeBackWithAndWithoutStewards) {
  net::Roster roster = TwoParties();
  EXPECT_EQ(net::ParseRoster(net::FormatRoster(roster), "roster.toml"), roster);
  EXPECT_FALSE(net::NamesStewards(roster));
  EXPECT_THAT(net::FormatRoster(roster), ::testing::Not(HasSubstr("steward")));
  roster[1].steward = kC;
  EXPECT_EQ(net::ParseRoster(net::FormatRoster(roster), "roster.toml"), roster);
  EXPECT_TRUE(net::NamesStewards(roster));
  // The own key may approve, too.
  roster[0].steward = kA;
  EXPECT_EQ(net::ParseRoster(net::FormatRoster(roster), "roster.toml"), roster);
}

TEST(StewardsTest, AKeySpeaksForOneParty) {
  net::Roster roster = TwoParties();
  roster[0].steward = roster[1].steward = kC;
  EXPECT_THAT(Refusal(roster), HasSubstr("the steward 'cccccccccccccccc...' was given before"));
  roster[1].steward = kA;
  EXPECT_THAT(Refusal(roster), HasSubstr("the steward 'aaaaaaaaaaaaaaaa...' was given before"));
  roster[1].steward = "";
  roster[0].steward = kB;
  EXPECT_THAT(Refusal(roster), HasSubstr("the fingerprint 'bbbbbbbbbbbbbbbb...' was given before"));
  roster[0].steward = "12";
  EXPECT_THAT(Refusal(roster), HasSubstr("the steward of party north is not 64"));
}

study::StudyIdentity Identity() {
  study::StudyIdentity identity;
  identity.wire_version = 7;
  identity.method = "mle";
  identity.method_version = 3;
  identity.study_text = "partita = 1\n";
  for (const net::RosterEntry& entry : TwoParties()) {
    study::PartyIdentity party;
    party.name = entry.name;
    party.schema.fill(5);
    party.fingerprint = entry.fingerprint;
    identity.parties.push_back(party);
  }
  return identity;
}

// Field by field as it was before rosters named stewards.
TEST(StewardsTest, WithoutStewardsTheDigestIsAsItWas) {
  const study::StudyIdentity identity = Identity();
  ByteWriter writer;
  writer.String("partita study file");
  writer.U32(identity.wire_version);
  writer.String(identity.method);
  writer.U32(identity.method_version);
  writer.String(identity.study_text);
  writer.U64(identity.parties.size());
  for (const study::PartyIdentity& party : identity.parties) {
    writer.String(party.name);
    writer.Blob(party.schema);
    writer.String(party.fingerprint);
  }
  EXPECT_EQ(study::AgreementHash(identity), crypto::Sha256Of(writer.bytes()));
}

TEST(StewardsTest, TheDigestCoversEveryStewardAndWhoseItIs) {
  std::vector<crypto::Digest> seen = {study::AgreementHash(Identity())};
  const std::vector<std::pair<std::string, std::string>> all = {
      {kC, ""}, {"", kC}, {kC, kD}, {kD, kC}, {kD, ""}};
  for (const auto& [north, south] : all) {
    study::StudyIdentity identity = Identity();
    identity.parties[0].steward = north;
    identity.parties[1].steward = south;
    const crypto::Digest digest = study::AgreementHash(identity);
    for (const crypto::Digest& other : seen) EXPECT_NE(digest, other);
    seen.push_back(digest);
  }
}

}  // namespace
}  // namespace partita::node::stewards_test
