// What `partita study new` writes: every file is a study with a plan, as it stands.
#include <gtest/gtest.h>

#include "methods/all.h"
#include "methods/mle/section.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "tests/study/edited.h"

namespace partita::templates_test {
namespace {

TEST(TemplatesTest, EveryMethodHasSomeThatArePlanned) {
  for (const auto& method : methods::AllMethods()) {
    const std::vector<study::StudyTemplate> templates = method.templates();
    EXPECT_FALSE(templates.empty()) << method.section.method;
    for (const study::StudyTemplate& start : templates) {
      SCOPED_TRACE(method.section.method + (start.is_private ? " private " : " ") +
                   std::string(data::PartitionKindName(start.partition)));
      const auto study = methods::PrepareStudy(methods::ParseStudyFile(start.text, "study.toml"));
      EXPECT_EQ(study->Method().name, method.section.method);
      EXPECT_EQ(study->partition.kind, start.partition);
      EXPECT_EQ(study->IsPrivate(), start.is_private);
      const study::Plan plan = run::BuildPlan(*study);
      EXPECT_EQ(plan.privacy_statement.has_value(), start.is_private);
      // Nobody begins with a study that would be refused as useless.
      EXPECT_EQ(study->Utility().useless, "");
    }
  }
}

// The first template of a method, with these keys no longer comments.
study::StudyFile Uncommented(const std::string& method, const std::vector<std::string>& keys) {
  std::string text = methods::MethodByName(method).templates().front().text;
  for (const std::string& key : keys) text = study::Edited(text, "# " + key, key);
  study::StudyFile file = methods::ParseStudyFile(text, "study.toml");
  methods::PrepareStudy(file);
  return file;
}

TEST(TemplatesTest, CommentedKeysAreRight) {
  const study::StudyFile file =
      Uncommented("mle", {"unit", "missing_codes", "fraction_bits", "std_lv", "meanstructure",
                          "fixed_x", "separator", "decimal"});
  EXPECT_EQ(file.table.separator, ';');
  EXPECT_EQ(file.table.decimal, ',');
  EXPECT_EQ(methods::mle::MleOf(file.analyses[0]).meanstructure, true);
  Uncommented("mixture", {"checkpoint_every", "reserve", "clip"});
  Uncommented("classify", {"missing_codes", "clip_norm", "interval_share"});
  Uncommented("glm", {"steps", "confidence"});
  Uncommented("survival", {"cell", "confidence"});
  Uncommented("meta", {"protocol", "estimator", "interval", "min_sites", "confidence"});
  Uncommented("marginals", {"synthetic_sets"});
  Uncommented("mcmc", {"missing_codes", "thin", "speculation"});
}

}  // namespace
}  // namespace partita::templates_test
