// A bundle carries two files unchanged, under a signature that covers all of it.
#include "study/approval/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/data/expect_error.h"
#include "tests/study/edited.h"

namespace partita::study::bundle_test {
namespace {

using ::testing::HasSubstr;

const crypto::Identity& North() {
  static const crypto::Identity identity = crypto::MakeIdentity({.name = "north"});
  return identity;
}

std::string NorthFingerprint() { return crypto::Fingerprint(*North().certificate); }

// Quotes, line breaks, tabs, letters beyond ASCII: whatever files hold.
const Bundle kExample{"north", "heights", 1'790'000'000,
                      "partita = 1\ntitle = \"K\xC3\xB6rper\"\t#\n",
                      "[[party]]\nname = \"north\"\n"};

std::string Rendered() { return RenderBundle(SignBundle(kExample, North())); }

TEST(BundleTest, CarriesBothFilesUnchanged) {
  const SignedBundle read = ParseBundle(Rendered(), "b.json");
  EXPECT_EQ(read.bundle.party, kExample.party);
  EXPECT_EQ(read.bundle.study, kExample.study);
  EXPECT_EQ(read.bundle.made_at, kExample.made_at);
  EXPECT_EQ(read.bundle.study_file, kExample.study_file);
  EXPECT_EQ(read.bundle.roster, kExample.roster);
  EXPECT_NO_THROW(RequireSigned(read, NorthFingerprint()));
}

TEST(BundleTest, EveryFieldIsSigned) {
  const std::vector<std::function<void(Bundle&)>> changes = {
      [](Bundle& bundle) { bundle.study = "weights"; },
      [](Bundle& bundle) { ++bundle.made_at; },
      [](Bundle& bundle) { bundle.study_file += "#"; },
      [](Bundle& bundle) { bundle.roster += "#"; },
      // The same bytes, cut elsewhere.
      [](Bundle& bundle) {
        bundle.study_file += bundle.roster[0];
        bundle.roster.erase(0, 1);
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SignedBundle document = SignBundle(kExample, North());
    changes[i](document.bundle);
    const auto error = ThrownBy([&] { RequireSigned(document, NorthFingerprint()); });
    ASSERT_TRUE(error) << i;
    EXPECT_EQ(error->code(), ErrorCode::kRefused);
    EXPECT_THAT(error->message(), HasSubstr("it was changed after it was signed")) << i;
  }
}

TEST(BundleTest, AnotherSignerIsRefused) {
  // South's key under north's name, and north's under south's.
  const crypto::Identity south = crypto::MakeIdentity({.name = "south"});
  const SignedBundle forged = SignBundle(kExample, south);
  EXPECT_TRUE(ThrownBy([&] { RequireSigned(forged, NorthFingerprint()); }));
  EXPECT_TRUE(ThrownBy([&] { RequireSigned(forged, crypto::Fingerprint(*south.certificate)); }));
  Bundle renamed = kExample;
  renamed.party = "south";
  EXPECT_TRUE(ThrownBy([&] { RequireSigned(SignBundle(renamed, North()), NorthFingerprint()); }));
  SignedBundle unsigned_document = SignBundle(kExample, North());
  unsigned_document.signature.signature.clear();
  const auto error = ThrownBy([&] { RequireSigned(unsigned_document, NorthFingerprint()); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("is not signed"));
}

TEST(BundleTest, OnlyTheFormThatIsWrittenIsRead) {
  const std::string text = Rendered();
  const auto problem = [&](const std::string& from, const std::string& to) {
    const auto error = ThrownBy([&] { ParseBundle(Edited(text, from, to), "b.json"); });
    if (!error) return std::string("none");
    EXPECT_EQ(error->code(), ErrorCode::kBadInput);
    return error->message();
  };
  EXPECT_EQ(problem("\"partita_bundle\": 1", "\"partita_bundle\": 2"),
            "b.json: its format is not 1, the one that is read here");
  EXPECT_EQ(problem("\"party\": \"north\"", "\"party\": \"No rth\""),
            "b.json: 'party' is not the name of a party");
  EXPECT_EQ(problem("\"study\": \"heights\"", "\"study\": \"../heights\""),
            "b.json: 'study' is not the name of a study");
  EXPECT_EQ(problem("\"roster\": ", "\"rooster\": "), "b.json: it has no key 'roster'");
  EXPECT_EQ(problem("\"made_at\"", "\"more\": 1, \"made_at\""),
            "b.json: it is not in the form in which it was written");
  Bundle large = kExample;
  large.roster.assign(kMaxRosterBytes + 1, ' ');
  const auto error =
      ThrownBy([&] { ParseBundle(RenderBundle(SignBundle(large, North())), "b.json"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "b.json: 'roster' is no text that fits here");
}

}  // namespace
}  // namespace partita::study::bundle_test
