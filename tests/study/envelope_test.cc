#include "study/approval/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/utc_time.h"
#include "methods/mle/section.h"
#include "tests/data/expect_error.h"
#include "tests/paths.h"
#include "tests/study/all_methods.h"
#include "tests/study/study_text.h"

namespace partita::study::envelope_test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kMethods = {"mle", "mixture"};
const std::string kEnvelope = R"(partita_envelope = 1
name = "schools"
methods = ["mle"]
protocols = ["pooled-moments"]
functions = ["cfa", "sem"]
engines = ["dealer"]
receivers = ["north"]
releases = ["moments"]
variables = ["x1", "x2", "x3", "school"]
max_results = 3
valid_until = "2030-12-31"
min_cell = 8
)";

const crypto::Identity& North() {
  static const crypto::Identity identity = crypto::MakeIdentity({.name = "north"});
  return identity;
}

Envelope Example() {
  Envelope envelope = ParseEnvelopeFile(kEnvelope, "e.toml", kMethods);
  envelope.party = "north";
  envelope.approved_at = 1'790'000'000;
  envelope.software_version = "0.1.0";
  return envelope;
}

TEST(EnvelopeTest, IsReadAsItIsWritten) {
  const Envelope envelope = ParseEnvelopeFile(kEnvelope, "e.toml", kMethods);
  EXPECT_EQ(envelope.name, "schools");
  EXPECT_EQ(envelope.functions, (std::vector<std::string>{"cfa", "sem"}));
  EXPECT_EQ(envelope.max_results, 3u);
  EXPECT_EQ(FormatUtc(envelope.valid_until), "2030-12-31T23:59:59Z");
  EXPECT_EQ(envelope.disclosure.min_cell, 8u);
  EXPECT_EQ(envelope.disclosure.min_rows, DisclosureSpec().min_rows);
}

TEST(EnvelopeTest, MistakesAreNamedWithTheirPlace) {
  const auto problem = [](const std::string& from, const std::string& to) {
    const auto error =
        ThrownBy([&] { ParseEnvelopeFile(Edited(kEnvelope, from, to), "e.toml", kMethods); });
    if (!error) return std::string("none");
    EXPECT_EQ(error->code(), ErrorCode::kBadInput);
    EXPECT_NE(error->hint(), "");
    return error->message();
  };
  EXPECT_EQ(problem("partita_envelope = 1\n", ""),
            "e.toml:1:1: the envelope needs the key 'partita_envelope'");
  EXPECT_EQ(problem("partita_envelope = 1", "partita_envelope = 3"),
            "e.toml:1:20: this version of Partita cannot read format 3");
  EXPECT_EQ(problem("[\"mle\"]", "[\"mle\", \"mixtur\"]"),
            "e.toml:3:19: 'methods' in the envelope cannot be 'mixtur'");
  EXPECT_EQ(problem("max_results", "max_result"),
            "e.toml:10:1: unknown key 'max_result' in the envelope");
  EXPECT_EQ(problem("max_results = 3\n", ""),
            "e.toml:1:1: the envelope needs the key 'max_results'");
  EXPECT_EQ(problem("max_results = 3", "max_results = 0"),
            "e.toml:10:15: 'max_results' cannot be 0");
  EXPECT_EQ(problem("max_results = 3", "max_results = -1"),
            "e.toml:10:15: 'max_results' cannot be -1");
  EXPECT_EQ(problem("[\"mle\"]", "[]"), "e.toml:3:11: 'methods' lists nothing");
  EXPECT_EQ(problem("methods = [\"mle\"]\n", ""),
            "e.toml:1:1: the envelope needs the key 'methods'");
  EXPECT_EQ(problem("\"x2\"", "\"x1\""), "e.toml:9:20: variables 'x1' is there twice");
  EXPECT_EQ(problem("2030-12-31", "2030-12-32"),
            "e.toml:11:15: 'valid_until' cannot be '2030-12-32'");
  EXPECT_EQ(problem("\"schools\"", "\"Schools\""), "e.toml:2:8: 'Schools' is no study name");
  EXPECT_THAT(problem("\"schools\"", "schools"), HasSubstr("e.toml:2"));
  // What word processors make of quotes.
  EXPECT_EQ(problem("\"schools\"", "\u201cschools\u201d"),
            "e.toml:2:8: a character outside of texts and comments that is not ASCII");
  EXPECT_THAT(problem("name =", "[\n\"x\" = 1\nname ="), HasSubstr("e.toml:2"));
}

TEST(EnvelopeTest, ReadsBackAndEveryFieldIsSigned) {
  const SignedEnvelope good = SignEnvelope(Example(), North());
  const std::string text = RenderEnvelope(good);
  const std::string fingerprint = crypto::Fingerprint(*North().certificate);
  EXPECT_TRUE(IsEnvelope(text));
  EXPECT_EQ(RenderEnvelope(ParseEnvelope(text, "e.json")), text);
  EXPECT_NO_THROW(RequireSigned(ParseEnvelope(text, "e.json"), "north", fingerprint));
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    std::string forged = text;
    forged[i] = static_cast<char>(forged[i] ^ (i % 2 == 0 ? 1 : 0x20));
    EXPECT_TRUE(ThrownBy([&] {
                  RequireSigned(ParseEnvelope(forged, "e.json"), "north", fingerprint);
                }).has_value())
        << "position " << i << ": " << forged.substr(i, 20);
  }
  EXPECT_FALSE(IsEnvelope(RenderApproval({})));
  // A name that moves from one list to the next.
  Envelope moved = Example();
  moved.functions.push_back("dealer");
  moved.engines.clear();
  EXPECT_NE(EnvelopeDigest(moved), EnvelopeDigest(Example()));
}

TEST(EnvelopeTest, HoldsForItsPartyAndTime) {
  const Envelope envelope = Example();
  const int64_t now = envelope.approved_at;
  EXPECT_NO_THROW(RequireValid(envelope, "north", now));
  ExpectError(ErrorCode::kRefused, "the envelope 'schools' of party south was made by party north",
              "own envelope", [&] { RequireValid(envelope, "south", now); });
  ExpectError(ErrorCode::kRefused,
              "the envelope 'schools' of party north expired at 2030-12-31T23:59:59Z", "new one",
              [&] { RequireValid(envelope, "north", envelope.valid_until); });
  ExpectError(ErrorCode::kRefused, "but here it is only", "clock",
              [&] { RequireValid(envelope, "north", now - kClockSkewSeconds - 1); });
}

data::Condition On(const std::string& variable) {
  data::Condition condition;
  condition.variable = variable;
  return condition;
}

// To change what an analysis says, and nothing of a study that it was copied from.
methods::mle::MleSection& OwnMle(AnalysisSpec& analysis) {
  const auto own = std::make_shared<methods::mle::MleSection>(methods::mle::MleOf(analysis));
  analysis.section = own;
  return *own;
}

class InsideTest : public ::testing::Test {
 protected:
  InsideTest() : study_(ParseStudyFile(kSmallStudy, "study.toml")) {}

  // What lies outside after a change; "nothing" if all is inside.
  std::string Outside() const {
    const auto error = ThrownBy([&] { RequireInside(study_, envelope_); });
    if (!error) return "nothing";
    EXPECT_EQ(error->code(), ErrorCode::kRefused);
    EXPECT_THAT(error->hint(), HasSubstr("Approve this study by itself"));
    const std::string start = "study.toml: outside the envelope 'schools' of party north: ";
    EXPECT_THAT(error->message(), ::testing::StartsWith(start));
    return error->message().substr(start.size());
  }

  StudyFile study_;
  Envelope envelope_ = Example();
};

TEST_F(InsideTest, AStudyThatKeepsWithin) { EXPECT_EQ(Outside(), "nothing"); }

TEST_F(InsideTest, EveryKindOfExcessIsNamed) {
  AnalysisSpec& analysis = study_.analyses[0];
  analysis.name = "main";
  using Change = std::function<void(StudyFile&)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"the method of analysis 'main' 'lca'", [](auto& s) { s.analyses[0].method = "lca"; }},
      {"the protocol of analysis 'main' 'likelihood'",
       [](auto& s) { s.analyses[0].protocol = "likelihood"; }},
      {"the function of analysis 'main' 'growth'",
       [](auto& s) { OwnMle(s.analyses[0]).function = "growth"; }},
      {"the release of analysis 'main' 'estimates'",
       [](auto& s) {
         s.analyses[0].releases = {{"moments", "", {}}, {"estimates", "", {}}};
       }},
      {"the receiver of a release of analysis 'main' 'all'",
       [](auto& s) {
         s.analyses[0].releases = {{"moments", "all", {}}};
       }},
      {"the release of analysis 'main' 'robust'",
       [](auto& s) { OwnMle(s.analyses[0]).robust = true; }},
      {"the group of analysis 'main' 'income'",
       [](auto& s) { OwnMle(s.analyses[0]).group = "income"; }},
      {"the variable in the subset of analysis 'main' 'income'",
       [](auto& s) { s.analyses[0].subset = {On("income")}; }},
      {"the engine 'replicated'", [](auto& s) { s.engine.name = "replicated"; }},
      {"the receiver 'south'",
       [](auto& s) { s.parties[0].receiver = false, s.parties[1].receiver = true; }},
      {"the variable 'income'", [](auto& s) { s.dictionary.columns[2].name = "income"; }},
      {"the column of 'x1' 'income'",
       [](auto& s) { s.dictionary.columns[0].time_column = "income"; }},
      {"the column of 'x1' 'income'",
       [](auto& s) { s.dictionary.columns[0].event_column = "income"; }},
      {"the source of 'd' 'income'",
       [](auto& s) {
         s.derived.emplace_back();
         s.derived[0].name = "d", s.derived[0].from = "income";
       }},
      {"the variable in the population's subset 'income'",
       [](auto& s) { s.population.subset = {On("income")}; }},
      {"the weights 'income'", [](auto& s) { s.design.weights = "income"; }},
      {"the cluster 'income'", [](auto& s) { s.design.cluster = "income"; }},
  };
  const StudyFile original = study_;
  for (const auto& [expected, change] : cases) {
    study_ = original;
    change(study_);
    EXPECT_EQ(Outside(), expected);
  }
}

// Groups may be derived; what counts is what they are derived from.
TEST_F(InsideTest, DerivedVariablesCountAsTheirSource) {
  study_.derived.emplace_back();
  study_.derived[0].name = "x1-groups";
  study_.derived[0].from = "x1";
  OwnMle(study_.analyses[0]).group = "x1-groups";
  EXPECT_EQ(Outside(), "nothing");
  study_.derived[0].from = "income";
  EXPECT_EQ(Outside(), "the source of 'x1-groups' 'income'");
}

TEST_F(InsideTest, EveryAnalysisCounts) {
  study_.analyses.push_back(study_.analyses[0]);
  study_.analyses[1].name = "second";
  OwnMle(study_.analyses[1]).function = "growth";
  EXPECT_EQ(Outside(), "the function of analysis 'second' 'growth'");
}

// An example of every method, and what an envelope must list of it.
struct AdmittedStudy {
  std::string example, method, protocol;
  std::vector<std::string> functions, releases;
};

const std::vector<AdmittedStudy>& AdmittedStudies() {
  static const std::vector<AdmittedStudy> studies = {
      {"three_factor/horizontal", "mle", "pooled-moments", {"cfa"}, {"moments"}},
      {"synthetic_registry", "mixture", "dpvi", {}, {"model"}},
      {"private_classifier", "classify", "dp-sgd", {}, {"classifier", "intervals", "test-counts"}},
      {"registry_survival", "mcmc", "decisions", {"weibull"}, {"decisions", "without-privacy"}}};
  return studies;
}

StudyFile LoadAdmitted(const AdmittedStudy& admitted) {
  return LoadStudyFile(SourcePath("examples/" + admitted.example + "/study.toml"));
}

Envelope EnvelopeFor(const AdmittedStudy& admitted) {
  const StudyFile study = LoadAdmitted(admitted);
  Envelope envelope = Example();
  envelope.methods = {admitted.method};
  envelope.protocols = {admitted.protocol};
  envelope.functions = admitted.functions;
  envelope.engines = {study.engine.name};
  envelope.receivers = {study.parties[0].name, "all"};
  envelope.releases = admitted.releases;
  envelope.variables.clear();
  for (const data::ColumnSchema& column : study.dictionary.columns) {
    for (const std::string& name : {column.name, column.time_column, column.event_column})
      envelope.variables.push_back(name);
  }
  return envelope;
}

TEST(EnvelopeTest, AdmitsStudiesOfEveryMethod) {
  for (const AdmittedStudy& admitted : AdmittedStudies()) {
    SCOPED_TRACE(admitted.method);
    const auto error =
        ThrownBy([&] { RequireInside(LoadAdmitted(admitted), EnvelopeFor(admitted)); });
    EXPECT_FALSE(error) << error->message();
  }
}

TEST(EnvelopeTest, EveryListLimitsEveryMethod) {
  using List = std::vector<std::string>;
  for (const AdmittedStudy& admitted : AdmittedStudies()) {
    SCOPED_TRACE(admitted.method);
    const StudyFile study = LoadAdmitted(admitted);
    for (List Envelope::*list :
         {&Envelope::methods, &Envelope::protocols, &Envelope::functions, &Envelope::engines,
          &Envelope::receivers, &Envelope::releases, &Envelope::variables}) {
      const List allowed = EnvelopeFor(admitted).*list;
      for (size_t i = 0; i < allowed.size(); ++i) {
        if (allowed[i].empty()) continue;
        // Only the receiver is told the moments.
        if (admitted.method == "mle" && allowed[i] == "all") continue;
        Envelope narrow = EnvelopeFor(admitted);
        (narrow.*list)[i] = "another";
        const auto error = ThrownBy([&] { RequireInside(study, narrow); });
        ASSERT_TRUE(error) << allowed[i];
        EXPECT_THAT(error->message(), HasSubstr("'" + allowed[i] + "'"));
      }
    }
  }
}

TEST(EnvelopeTest, FunctionsMayBeNone) {
  const std::string none = Edited(kEnvelope, "[\"cfa\", \"sem\"]", "[]");
  EXPECT_TRUE(ParseEnvelopeFile(none, "e.toml", kMethods).functions.empty());
  const StudyFile study = ParseStudyFile(kSmallStudy, "study.toml");
  Envelope envelope = Example();
  envelope.functions.clear();
  ExpectError(ErrorCode::kRefused, "the function of analysis 'main' 'cfa'", "wider envelope",
              [&] { RequireInside(study, envelope); });
}

}  // namespace
}  // namespace partita::study::envelope_test
