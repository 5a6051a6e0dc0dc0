// [[analysis]] with method = "mixture": what it means, and every mistake with its place and a
// remedy.
#include "methods/mixture/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/file/sections.h"
#include "tests/study/all_methods.h"
#include "tests/study/mistake.h"
#include "tests/study/study_text.h"

namespace partita::methods::mixture::mixture_section_test {
namespace {

using data::EncodingKind;
using study::Edited;
using study::Mistake;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kBase = R"(partita = 1
name = "registry"
[[party]]
name = "north"
roles = ["holder"]
columns = ["income", "visits"]
[[party]]
name = "south"
roles = ["holder"]
columns = ["sex", "country"]
[[party]]
name = "centre"
roles = ["receiver"]
[[party]]
name = "helper"
roles = ["dealer"]
[[rows]]
name = "all"
count = 500
[table]
key = "id"
[[variable]]
name = "income"
type = "numeric"
lower = 0
upper = 100
[[variable]]
name = "visits"
type = "integer"
lower = 0
upper = 30
[[variable]]
name = "sex"
type = "factor"
levels = ["female", "male"]
[[variable]]
name = "country"
type = "factor"
levels = ["Chile", "Peru", "Tuvalu", "Nauru"]
[engine]
name = "dealer"
[[analysis]]
method = "mle"
protocol = "pooled-moments"
function = "cfa"
model = "f =~ income + visits"
release = ["moments"]
[design]
site = "ignore"
missing = "refuse"
)";

// Line numbers matter: tests quote them.
const std::string kSection = R"([[analysis]]
columns = ["visits", "sex", {variable = "income", family = "categorical", bins = 12}, {variable = "country", rare = ["Tuvalu", "Nauru"]}]
components = 5
iterations = 2000
schedule = "paper"
formulation = "paper"
learning_rate = 0.02
checkpoint_every = 50
synthetic_rows = 1000
synthetic_sets = 3
[analysis.batch]
mode = "poisson"
size = 20
[analysis.privacy]
clip = 0.5
noise_multiplier = 2.042
delta = 1e-5
adjacency = "replace"
noise_from = "centre"
)";

MixtureSpec Parse(const std::string& section, const std::string& base = kBase) {
  const study::StudyFile study = study::ParseStudyFile(base, "base.toml");
  const toml::table tree = study::ParseToml(section, "s.toml");
  const std::string name = "s.toml";  // outlives the readers
  const study::TableReader root(name, tree, "the study file", {"analysis"});
  return ReadMixture(root.Tables("analysis", MixtureReader().keys).front(), study);
}

TEST(MixtureSectionTest, ReadsEveryKey) {
  const MixtureSpec spec = Parse(kSection);
  ASSERT_EQ(spec.columns.size(), 4u);
  EXPECT_EQ(spec.columns[0].column.name, "visits");
  EXPECT_EQ(spec.columns[0].kind, EncodingKind::kWhole);
  EXPECT_EQ(spec.columns[1].kind, EncodingKind::kLevels);
  EXPECT_EQ(spec.columns[2].kind, EncodingKind::kBins);
  EXPECT_EQ(spec.columns[2].bins, 12u);
  EXPECT_THAT(spec.columns[3].pooled, ElementsAre("Tuvalu", "Nauru"));
  EXPECT_EQ(spec.components, 5u);
  EXPECT_EQ(spec.iterations, 2000u);
  EXPECT_TRUE(spec.paper_schedule);
  EXPECT_TRUE(spec.paper_formulation);
  EXPECT_EQ(spec.learning_rate, 0.02);
  EXPECT_EQ(spec.checkpoint_every, 50u);
  EXPECT_EQ(spec.reserve, 2u);  // one for every 1000
  EXPECT_EQ(Parse(std::string(kSection).replace(std::string(kSection).find("checkpoint_every"), 0,
                                                "reserve = 0\n"))
                .reserve,
            0u);
  EXPECT_EQ(spec.batch, MixtureBatch::kPoisson);
  EXPECT_EQ(spec.batch_size, 20u);
  EXPECT_EQ(spec.privacy.clip, 0.5);
  EXPECT_EQ(spec.privacy.noise_multiplier, 2.042);
  EXPECT_FALSE(spec.privacy.epsilon);
  EXPECT_EQ(spec.privacy.delta, 1e-5);
  EXPECT_EQ(spec.privacy.noise_from, "centre");
  EXPECT_EQ(spec.synthetic_rows, 1000u);
  EXPECT_EQ(spec.synthetic_sets, 3u);
}

TEST(MixtureSectionTest, HasDefaults) {
  const MixtureSpec spec = Parse(R"([[analysis]]
components = 5
iterations = 10
[analysis.batch]
mode = "full"
[analysis.privacy]
epsilon = 2
delta = 1e-6
adjacency = "replace"
)");
  ASSERT_EQ(spec.columns.size(), 4u);  // all of the dictionary
  EXPECT_EQ(spec.columns[0].column.name, "income");
  EXPECT_EQ(spec.columns[0].kind, EncodingKind::kUnit);
  EXPECT_EQ(spec.batch_size, 500u);
  EXPECT_FALSE(spec.paper_schedule);
  EXPECT_FALSE(spec.paper_formulation);
  EXPECT_EQ(spec.learning_rate, 0.01);
  EXPECT_EQ(spec.checkpoint_every, 100u);
  EXPECT_EQ(spec.reserve, spec.iterations / 1000);
  EXPECT_EQ(spec.privacy.clip, 1);
  EXPECT_EQ(spec.privacy.epsilon, 2);
  EXPECT_EQ(spec.privacy.against, MixtureAgainst::kOutside);
  EXPECT_EQ(spec.privacy.noise_from, "");
  EXPECT_EQ(spec.synthetic_rows, 0u);
}

TEST(MixtureSectionTest, EveryFamily) {
  const auto kind = [](const std::string& entry) {
    return Parse(Edited(kSection, "{variable = \"income\", family = \"categorical\", bins = 12}",
                        entry))
        .columns[2]
        .kind;
  };
  EXPECT_EQ(kind("{variable = \"income\", family = \"beta\"}"), EncodingKind::kUnit);
  EXPECT_EQ(kind("{variable = \"income\", family = \"gaussian\"}"), EncodingKind::kStandard);
  EXPECT_EQ(kind("{variable = \"income\", bins = 4}"), EncodingKind::kBins);
  const auto visits = [](const std::string& entry) {
    return Parse(Edited(kSection, "\"visits\"", entry)).columns[0].kind;
  };
  EXPECT_EQ(visits("{variable = \"visits\", family = \"poisson\"}"), EncodingKind::kCount);
  EXPECT_EQ(visits("{variable = \"visits\", family = \"categorical\"}"), EncodingKind::kWhole);
  EXPECT_EQ(Parse(Edited(kSection, "\"sex\"", "{variable = \"sex\", family = \"bernoulli\"}"))
                .columns[1]
                .kind,
            EncodingKind::kIndicator);
}

// Passes through all rows: 500 rows in batches of at most 60 are nine batches.
TEST(MixtureSectionTest, EpochsAreIterations) {
  const auto iterations = [](const std::string& epochs, const std::string& batch) {
    return Parse(Edited(Edited(kSection, "iterations = 2000", "epochs = " + epochs),
                        "mode = \"poisson\"\nsize = 20", batch))
        .iterations;
  };
  EXPECT_EQ(iterations("4", "mode = \"disjoint\"\nsize = 60"), 36u);
  EXPECT_EQ(iterations("0.5", "mode = \"poisson\"\nsize = 20"), 13u);
  EXPECT_EQ(iterations("7", "mode = \"full\""), 7u);
}

const std::string kUtility = R"([analysis.utility]
test_rows = 100
seed = 7
targets = [{variable = "sex", level = "male"}]
)";

// Whatever counts rows counts those that are trained on.
TEST(MixtureSectionTest, RowsSetAside) {
  const MixtureSpec spec = Parse(kSection + kUtility);
  EXPECT_EQ(spec.utility.test_rows, 100u);
  EXPECT_EQ(spec.utility.seed, 7u);
  ASSERT_EQ(spec.utility.targets.size(), 1u);
  EXPECT_EQ(spec.utility.targets[0].variable, "sex");
  EXPECT_EQ(spec.utility.targets[0].level, "male");
  EXPECT_EQ(Parse(kSection).utility.test_rows, 0u);
  const std::string batch = "mode = \"poisson\"\nsize = 20";
  EXPECT_EQ(Parse(Edited(kSection, batch, "mode = \"full\"") + kUtility).batch_size, 400u);
  const std::string epochs = Edited(kSection, "iterations = 2000", "epochs = 2");
  EXPECT_EQ(Parse(epochs).iterations, 50u);
  EXPECT_EQ(Parse(epochs + kUtility).iterations, 40u);
}

// In [[analysis]]'s keys, and in the study around them.
void ExpectMistake(const std::string& section, const Mistake& mistake) {
  ExpectMistake([](const std::string& text) { Parse(text, kBase); }, "s.toml", section, mistake);
}
void ExpectMistakeAround(const std::string& section, const std::string& base,
                         const Mistake& mistake) {
  ExpectMistake([&](const std::string& text) { Parse(section, text); }, "s.toml", base, mistake);
}

TEST(MixtureSectionTest, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string income = "{variable = \"income\", family = \"categorical\", bins = 12}";
  const std::string batch = "[analysis.batch]\nmode = \"poisson\"\nsize = 20\n";
  const std::string privacy = kSection.substr(kSection.find("[analysis.privacy]"));
  const std::vector<Mistake> mistakes = {
      {"components = 5", "component = 5", "3:1", "unknown key 'component'", "components"},
      {"components = 5\n", "", "1:1", "needs the key 'components'", "components = 20"},
      {"components = 5", "components = 0", "3:14", "from 1 to 1000", "20 is usual"},
      {"components = 5", "components = 501", "3:14", "501 components for 500 rows", "at most"},
      {"components = 5", "components = 2.5", "3:14", "whole number", ""},
      {"\"visits\"", "\"visit\"", "2:12", "visit", "did you mean 'visits'"},
      {"\"sex\"", "\"visits\"", "2:22", "twice", ""},
      {income, "\"income\", 5", "2:", "list", ""},
      {kSection.substr(13, kSection.find('\n', 13) - 13), "columns = []", "2:11", "is empty",
       "leave the key out"},
      {"variable = \"income\"", "variabel = \"income\"", "2:", "variabel", "variable"},
      {"family = \"categorical\"", "family = \"normal\"", "2:", "no family 'normal'", "gaussian"},
      {"family = \"categorical\"", "family = \"bernoulli\"", "2:", "of type numeric",
       "categorical, beta, gaussian"},
      {"family = \"categorical\"", "family = \"poisson\"", "2:", "no family 'poisson'", "beta"},
      {", bins = 12", "", "2:", "needs bins", "bins = 10"},
      {"bins = 12", "bins = 1", "2:", "from 2 to 1000", ""},
      {"family = \"categorical\", bins", "family = \"beta\", bins", "2:", "'bins' is for",
       "remove it"},
      {"\"visits\"", "{variable = \"visits\", bins = 40}", "2:", "visits", ""},
      {"\"sex\"", "{variable = \"sex\", bins = 2}", "2:", "'bins' is for", "remove it"},
      {"\"sex\"", "{variable = \"sex\", family = \"beta\"}", "2:", "of type factor", "bernoulli"},
      {"\"sex\"", "{variable = \"sex\", family = \"bernoulli\", rare = [\"male\"]}",
       "2:", "'rare' is for levels", "remove it"},
      {"\"Tuvalu\"", "\"Tuvaly\"", "2:", "Tuvaly", "did you mean 'Tuvalu'"},
      {"\"Nauru\"", "\"Tuvalu\"", "2:", "twice", ""},
      {"[\"Tuvalu\", \"Nauru\"]", "[\"Chile\", \"Peru\", \"Tuvalu\", \"Nauru\"]",
       "2:", "has one level", "pool fewer"},
      {"iterations = 2000\n", "", "1:1", "'iterations' or 'epochs'", "epochs = 20"},
      {"iterations = 2000", "iterations = 2000\nepochs = 2", "5:10", "say the same twice",
       "one of them"},
      {"iterations = 2000", "iterations = 0", "4:14", "from 1 to", ""},
      {"iterations = 2000", "epochs = 0", "4:10", "from 0.001", ""},
      {"iterations = 2000", "epochs = 1000000", "4:10", "are 25000000 iterations", "at most"},
      {"schedule = \"paper\"", "schedule = \"papers\"", "5:12", "cannot be 'papers'", "paper"},
      {"formulation = \"paper\"", "formulation = \"fast\"", "6:15", "cannot be 'fast'", "default"},
      {"learning_rate = 0.02", "learning_rate = 0", "7:17", "from 1e-05 to 1", "0.01 is usual"},
      {"checkpoint_every = 50", "checkpoint_every = 0", "8:20", "from 1", "are lost"},
      {"checkpoint_every = 50", "checkpoint_every = 50\nreserve = 2001", "9:11", "from 0 to 2000",
       "each time"},
      {"synthetic_rows = 1000", "synthetic_rows = 0", "9:18", "from 1", "how many rows"},
      {"synthetic_rows = 1000\n", "", "9:18", "without 'synthetic_rows'", "synthetic_rows ="},
      {"synthetic_sets = 3", "synthetic_sets = 101", "10:18", "from 1 to 100", "anew"},
      {batch, "", "1:1", "needs the key 'batch'", "[analysis.batch]"},
      {"mode = \"poisson\"", "mode = \"random\"", "12:8", "cannot be 'random'", "poisson"},
      {"mode = \"poisson\"\n", "", "11:1", "needs the key 'mode'", "poisson"},
      {"mode = \"poisson\"", "mode = \"full\"", "13:8", "has no size", "remove 'size'"},
      {"size = 20\n", "", "11:1", "needs the key 'size'", "size = 100"},
      {"size = 20", "size = 501", "13:8", "from 1 to 500", ""},
      {privacy, "", "1:1", "needs the key 'privacy'", "[analysis.privacy]"},
      {"clip = 0.5", "clip = 0", "15:8", "from 0.015625 to 64", "clip = 1"},
      {"noise_multiplier = 2.042\n", "", "14:1", "'noise_multiplier' or 'epsilon'", "one of them"},
      {"noise_multiplier = 2.042", "noise_multiplier = 2\nepsilon = 1", "17:11",
       "say the same twice", "one of them"},
      {"noise_multiplier = 2.042", "noise_multiplier = 0", "16:20", "from 0.1", "units of 'clip'"},
      {"noise_multiplier = 2.042", "epsilon = 0", "16:11", "from 0.01", "around 1"},
      {"noise_multiplier = 2.042", "noise_multiplier = 2\nagainst = \"parties\"", "17:11",
       "'against' without 'epsilon'", "against everybody"},
      {"noise_multiplier = 2.042", "epsilon = 1\nagainst = \"dealer\"", "17:11",
       "cannot be 'dealer'", "outside"},
      {"delta = 1e-5\n", "", "14:1", "needs the key 'delta'", "delta = 1e-5"},
      {"delta = 1e-5", "delta = 0.5", "17:9", "from 1e-08 to 0.01", "number of rows"},
      {"adjacency = \"replace\"\n", "", "14:1", "needs the key 'adjacency'", "replace"},
      {"adjacency = \"replace\"", "adjacency = \"add-remove\"", "18:13", "which the study declares",
       "\"replace\""},
      {"noise_from = \"centre\"", "noise_from = \"helper\"", "19:14", "the dealer 'helper'",
       "party that computes"},
      {"noise_from = \"centre\"", "noise_from = \"north\"", "19:14", "would know all of the noise",
       "without columns"},
      {"noise_from = \"centre\"", "noise_from = \"center\"", "19:14", "center", "centre"},
  };
  for (const Mistake& mistake : mistakes) {
    ExpectMistake(Edited(kSection, mistake.from, mistake.to), mistake);
  }
}

TEST(MixtureSectionTest, MistakesOfRowsSetAside) {
  const std::string both =
      "{variable = \"sex\", level = \"male\"}, {variable = \"country\", level = \"Peru\"}";
  const std::vector<Mistake> mistakes = {
      {"seed = 7", "sed = 7", "22:1", "unknown key 'sed'", "seed"},
      {"seed = 7\n", "", "20:1", "needs the key 'seed'", "seed = 1"},
      {"seed = 7", "seed = -1", "22:8", "from 0", "public"},
      {"test_rows = 100\n", "", "20:1", "needs the key 'test_rows'", "test_rows = 100"},
      {"test_rows = 100", "test_rows = 0", "21:13", "from 1 to 499", "a fifth"},
      {"test_rows = 100", "test_rows = 500", "21:13", "from 1 to 499", "a fifth"},
      {"test_rows = 100", "test_rows = 496", "3:14", "5 components for 4 rows", "at most"},
      {"size = 20", "size = 401", "13:8", "from 1 to 400", ""},
      {"variable = \"sex\"", "variable = \"visits\"", "23:", "no levels", "a factor"},
      {"variable = \"sex\"", "variable = \"sec\"", "23:", "sec", "did you mean 'sex'"},
      {"level = \"male\"", "level = \"mal\"", "23:", "mal", "male"},
      {"{variable = \"sex\", level = \"male\"}", both, "23:", "'south' has two targets",
       "one target of each holder"},
      {", {variable = \"country\", rare = [\"Tuvalu\", \"Nauru\"]}", "",
       "23:", "no other column of the model to predict 'sex'", "rows never leave"},
  };
  for (const Mistake& mistake : mistakes)
    ExpectMistake(Edited(kSection + kUtility, mistake.from, mistake.to), mistake);
}

// What the rest of the study must be; the place is the analysis.
TEST(MixtureSectionTest, RowsAndPartiesMustFit) {
  const std::string plain = Edited(kSection, "formulation = \"paper\"\n", "");
  const std::vector<Mistake> mistakes = {
      {"missing = \"refuse\"", "missing = \"complete\"", "1:1", "no missing cells", "[design]"},
      {"site = \"ignore\"", "site = \"fixed\"", "1:1", "sites", "[design]"},
      {"[engine]", "[population]\nsubset = [{variable = \"visits\", at_least = 3}]\n[engine]",
       "1:1", "takes all rows", "leave out the subset"},
      {"[engine]", "[population]\nmax_rows_per_person = 2\n[engine]", "1:1", "single rows",
       "one row for each person"},
  };
  for (const Mistake& mistake : mistakes) {
    ExpectMistakeAround(plain, Edited(kBase, mistake.from, mistake.to), mistake);
  }
  const std::string helper = "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  ExpectMistakeAround(plain,
                      Edited(Edited(kBase, helper, ""), "name = \"dealer\"", "name = \"shamir\""),
                      {"", "engine shamir", "1:1", "runs on the engines dealer, replicated and ot",
                       "choose one of them"});
  const std::string columns = plain.substr(13, plain.find('\n', 13) - 13);
  ExpectMistake(Edited(plain, columns, "columns = [\"income\", \"visits\"]"),
                {"", "one holder", "1:1", "one party holds all of these", "another party"});
  const std::string three = Edited(kBase, "roles = [\"receiver\"]",
                                   "roles = [\"receiver\", \"holder\"]\ncolumns = [\"country\"]");
  ExpectMistakeAround(Edited(kSection, "\nnoise_from = \"centre\"", ""),
                      Edited(three, "[\"sex\", \"country\"]", "[\"sex\"]"),
                      {"", "three holders", "1:1", "here are 3", "leave out formulation"});
}

}  // namespace
}  // namespace partita::methods::mixture::mixture_section_test
