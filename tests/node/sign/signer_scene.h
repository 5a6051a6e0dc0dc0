// A site of the world with its steward's folder and signer, and a daemon that passes on what it is told to.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "node/sign/signer.h"
#include "tests/node/job/job_world.h"

namespace partita::node::signer_scene {

using job_world::PrintOf;
using job_world::Site;
using job_world::World;
using ::testing::HasSubstr;
using TestJson = nlohmann::ordered_json;

inline constexpr char kPhrase[] = "several words of a steward";

// Code and message of the error that `act` throws; "none" if it throws none.
inline std::string ErrorOf(const std::function<void()>& act) {
  try {
    act();
    return "none";
  } catch (const Error& error) {
    return std::string(ErrorCodeName(error.code())) + ": " + error.message();
  }
}

// Refused, with these words.
inline void ExpectRefused(const std::string& error, const std::string& words) {
  EXPECT_THAT(error, HasSubstr(words));
  EXPECT_FALSE(error.starts_with("none"));
}

class SignerScene : public ::testing::Test {
 protected:
  SignerScene() {
    // The world's steward is the one whose key lies under the passphrase.
    SignerConfig config;
    config.site = "south";
    config.ended = south.settings.ended;
    config.parties = south.settings.parties;
    south.steward =
        SignerFolder::Make(home, config, *south.node.certificate, *south.jobs.certificate, kPhrase);
    WriteFileAtomically(south.settings.stewards.string(),
                        crypto::FormatCertificate(*south.steward.certificate));
    list = Bytes();
    World::WriteList(south, world.ListOf("south"));
    const std::string text = ReadFile(south.settings.parties, 1 << 20, "the list");
    list.assign(text.begin(), text.end());
    world.Check();
    Commit();
  }

  void Commit() {
    const JobReport report = World::Do(south, JobKind::kCommit, 0).reports.back();
    draft = report.draft;
    statement = report.statement;
  }
  TestJson Documents() const {
    const Study& study = south.study;
    TestJson offers = TestJson::object();
    for (const auto& [party, offer] : study.offers) offers[party] = ToHex(offer);
    return {{"study", ToHex(study.id)},
            {"proposer", study.proposer},
            {"nonce", ToHex(study.nonce)},
            {"expires", study.expires},
            {"file", study.file},
            {"roster", study.roster},
            {"own_offer", ToHex(study.own_offer)},
            {"offers", offers},
            {"statement", ToHex(statement)},
            {"draft", draft},
            {"first", first}};
  }
  TestJson Request(const std::string& what) const {
    return {{"do", what}, {"documents", Documents()}, {"list", ToHex(list)}};
  }
  // One that ends the study, which it names.
  TestJson EndRequest(const std::string& what) const {
    TestJson request = {{"do", what}, {"documents", Documents()}, {"study", ToHex(south.study.id)}};
    if (what == "reject") {
      request["list"] = ToHex(list);
      request["reason"] = "no ethics reference";
    }
    request["passphrase"] = kPhrase;
    return request;
  }
  ReadOrder Order() {
    ReadOrder order;
    order.study = south.study;
    order.list = world.ListOf("south");
    order.node_certificate = crypto::EncodeCertificate(*south.node.certificate);
    order.steward = PrintOf(south.steward);
    return order;
  }
  TestJson Ask(const TestJson& request) { return TestJson::parse(signer->Answer(request.dump())); }
  TestJson Show() { return Ask(Request("study")); }
  TestJson ApproveRequest() {
    TestJson request = Request("approve");
    request["code"] = Show().at("code");
    request["passphrase"] = kPhrase;
    return request;
  }
  std::string Refusal(const TestJson& request) {
    return ErrorOf([&] { Ask(request); });
  }
  std::unique_ptr<Signer> NewSigner() {
    return std::make_unique<Signer>(
        SignerParts{SignerFolder(home), ReadForSteward, [this] { return now; }});
  }

  World world;
  Site& south = world.at("south");
  std::filesystem::path home = world.folder() / "south-steward";
  int64_t now = NowUtc();
  std::unique_ptr<Signer> signer = NewSigner();
  Bytes list, statement;
  std::string draft, first;
};

}  // namespace partita::node::signer_scene
