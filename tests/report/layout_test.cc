// How pages of every kind are laid out in a real browser, at three widths and on paper: nothing is
// cut, nothing lies over anything else, nothing sticks out. The pages stay in BUILD/report_pages,
// to look at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "methods/mcmc/plots.h"
#include "methods/mle/report/report_html.h"
#include "report/document_report.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/plan_html.h"
#include "report/privacy_html.h"
#include "report/row_plot.h"
#include "stats/mcmc/diagnostics.h"
#include "sums/regression/regression_html.h"
#include "tests/paths.h"
#include "tests/report/browser.h"
#include "tests/report/sample_privacy.h"
#include "tests/report/sample_run.h"

namespace partita::report::layout_test {
namespace {

using methods::mle::MleResult;
using methods::mle::RenderReportHtml;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Pages = std::vector<NamedPage>;

// Measures the pages, and writes each beside the wrapper.
std::vector<std::string> Faults(const std::string& name, const Pages& pages) {
  const std::string folder = BinaryPath("report_pages");
  std::filesystem::create_directories(folder);
  for (const NamedPage& page : pages)
    WriteFileAtomically(folder + "/layout-" + page.name + ".html", page.html);
  return LayoutFaults(pages, folder + "/" + name + ".html");
}

RunFacts Facts(const std::string& analysis) {
  RunFacts facts = FullFacts();
  facts.history[0].analysis = analysis;
  facts.phases.push_back({"disclosure checks", 3, 4, 4, 9000, 9000, 0.002});
  return facts;
}

study::Plan PrivatePlan() {
  study::Plan plan = FullPlan();
  plan.privacy_statement = SampleStatement();
  plan.releases[0].mechanism = "discrete Gaussian";
  return plan;
}

std::string DocumentPage(study::Document document) {
  return RenderDocumentHtml(document, PrivatePlan(), FullFacts());
}

study::Document Document(const std::string& title, study::DocumentSection section) {
  study::Document document;
  document.title = title;
  document.sections.push_back(std::move(section));
  return document;
}

// Chains that are the logarithms of odds, shifted a little against one another.
stats::mcmc::Draws Draws(size_t chains, size_t parameters) {
  constexpr Eigen::Index kRows = 400;
  stats::mcmc::Draws draws;
  for (size_t c = 0; c < chains; ++c) {
    Eigen::MatrixXd& chain =
        draws.chains.emplace_back(kRows, static_cast<Eigen::Index>(parameters));
    for (Eigen::Index i = 0; i < kRows; ++i) {
      for (Eigen::Index j = 0; j < chain.cols(); ++j) {
        const auto place = (i * 197 + j * 31 + static_cast<Eigen::Index>(c) * 7) % kRows;
        const double u = (static_cast<double>(place) + 0.5) / kRows;
        chain(i, j) = (std::log(u / (1 - u)) - 2) * std::pow(10, 1 - static_cast<double>(j));
      }
    }
  }
  return draws;
}

study::DocumentSection Chains(size_t number) {
  const stats::mcmc::Draws draws = Draws(number, 3);
  methods::mcmc::ChainSummary summary;
  const auto all = stats::mcmc::Summarise(draws);
  for (const char* name : {"intercept", "age", "a_predictor_with_a_long_name.and_level"}) {
    const stats::mcmc::ParameterSummary& s = all.at(summary.parameters.size());
    summary.parameters.push_back({name, s.mean, s.sd, s.mcse_mean, s.q2_5, s.median, s.q97_5,
                                  s.rhat, s.bulk_ess, s.tail_ess});
  }
  methods::mcmc::ChainSpec spec;
  spec.model = methods::mcmc::ChainModel::kLogistic;
  spec.predictors = {"age", "a_predictor_with_a_long_name.and_level"};
  study::DocumentSection section{"Chains", {"Of the parameters."}};
  section.plots = methods::mcmc::ChainPlots(spec, summary, draws);
  for (study::DocumentPlot& plot : methods::mcmc::RankPlots(summary, draws))
    section.plots.push_back(std::move(plot));
  return section;
}

void AddOneModel(Pages& pages) {
  pages.push_back(
      {"one", RenderReportHtml(std::vector{FactorResult("main")}, SamplePlan(), Facts("main"))});
}

void AddThreeModelsWithGroups(Pages& pages) {
  pages.push_back({"three", RenderReportHtml(ThreeAnalyses(), SamplePlan(), Facts("crude"))});
}

// Reference fits have the shapes that users' models have: three factors, growth, paths.
void AddModelsOfManyShapes(Pages& pages) {
  for (const char* name : {"hs_cfa3", "poldem_sem", "growth_predictors", "path_indirect"}) {
    MleResult result = ReferenceResult(name);
    result.name = name;
    const auto json = nlohmann::json::parse(
        ReadText(FixturePath("references/sem/" + std::string(name) + ".json")));
    for (const stats::Parameter& row : result.table.rows) {
      for (const std::string& variable : {row.lhs, row.rhs}) {
        if (variable.empty() || row.op == ":=") continue;
        const bool latent = std::any_of(
            result.table.rows.begin(), result.table.rows.end(),
            [&](const stats::Parameter& r) { return r.op == "=~" && r.lhs == variable; });
        std::vector<std::string>& names = latent ? result.table.latent : result.table.observed;
        if (std::find(names.begin(), names.end(), variable) == names.end())
          names.push_back(variable);
      }
    }
    pages.push_back(
        {std::string(name), RenderReportHtml(std::vector{result}, SamplePlan(), Facts(name))});
  }
}

void AddRegressions(Pages& pages) {
  pages.push_back({"regressions", RenderReportHtml(std::vector{RegressionResult("crude"),
                                                               RegressionResult("adjusted")},
                                                   SamplePlan(), Facts("crude"))});
}

void AddPrivateModel(Pages& pages) {
  pages.push_back({"private", RenderReportHtml(std::vector{FactorResult("main")}, PrivatePlan(),
                                               Facts("main"))});
}

void AddChains(Pages& pages) {
  pages.push_back({"chains", DocumentPage(Document("Posterior", Chains(4)))});
  pages.push_back({"many-chains", DocumentPage(Document("Posterior", Chains(20)))});
}

void AddOtherMethods(Pages& pages) {
  study::DocumentSection classifier{"Test rows"};
  classifier.plots.push_back(
      {"ROC curve",
       "false positive rate",
       "true positive rate",
       {{"classifier", {0, 0.1, 0.4, 1}, {0, 0.6, 0.9, 1}}, {"chance", {0, 1}, {0, 1}}}});
  classifier.tables.push_back({"Weights", {"coefficient", "value"}, {{"bias", -0.5}}});
  pages.push_back({"classify", DocumentPage(Document("Classifier", classifier))});
  study::DocumentSection mixture{"Fitted model"};
  mixture.plots.push_back({"Weights of the components",
                           "component, largest first",
                           "weight",
                           {{"weight", {1, 2, 3}, {0.7, 0.2, 0.1}}}});
  pages.push_back({"mixture", DocumentPage(Document("Mixture", mixture))});
}

void AddSums(Pages& pages) {
  sums::regression::RegressionResult result;
  result.outcome = "systolic_blood_pressure";
  result.rows = 100000;
  result.coefficients = {
      {"(Intercept)", 101, 3, 95, 107, 1, 1.2},
      {"age", 0.5, 0.02, 0.46, 0.54, 1, 1.1},
      {"a_column_with_a_name_that_is_longer_than_most_names_are", -0.2, 0.4, -1, 0.6, 0.3, 1.4}};
  result.columns = {{"age", 18, 99}, {"systolic_blood_pressure", 60, 260}};
  result.statements = {SampleStatement()};
  result.warnings = {"A warning."};
  pages.push_back({"sums", sums::regression::RenderRegressionHtml(result, "heart-study")});
}

void AddPlansAndStatements(Pages& pages) {
  pages.push_back(
      {"plan", RenderPlanHtml(PrivatePlan(), study::DefaultNetworks(), std::string(64, 'c'))});
  pages.push_back(
      {"privacy", RenderPrivacyHtml({"Risk",
                                     "replace",
                                     SampleStatement(),
                                     {{0, 0.1, 0.11}, {0.5, 1e-3, 1.1e-3}, {1, 0, 1e-9}}})});
}

void AddBarsOfSyntheticTables(Pages& pages) {
  HtmlPage page;
  page.title = "Synthetic";
  std::vector<BarRow> rows;
  for (const char* name : {"education_of_the_head_of_the_household, occupation", "age, income"})
    rows.push_back({name, 0.4, 0.95});
  page.main = Element("div",
                      BarPlotHtml("Cramer's V of pairs", "real", "synthetic", rows) +
                          BarPlotHtml("Shares of age", "real", "synthetic", rows),
                      "plots");
  pages.push_back({"bars", RenderHtmlPage(page)});
}

TEST(Layout, NothingIsCutOrCovered) {
  ASSERT_TRUE(HasBrowser()) << "no chromium here: tools/setup installs it (packages.txt)";
  Pages pages;
  AddOneModel(pages);
  AddThreeModelsWithGroups(pages);
  AddModelsOfManyShapes(pages);
  AddRegressions(pages);
  AddPrivateModel(pages);
  AddChains(pages);
  AddOtherMethods(pages);
  AddSums(pages);
  AddPlansAndStatements(pages);
  AddBarsOfSyntheticTables(pages);
  EXPECT_THAT(Faults("layout", pages), IsEmpty());
}

// The measure is no rubber stamp.
TEST(Layout, FaultsAreSeen) {
  HtmlPage page;
  page.title = "Faulty";
  page.main =
      "<p>aaaaaaaaaaaaaaaaaaaaaaaa</p><figure><svg class=\"lines\" viewBox=\"0 0 440 60\">"
      "<text x=\"400\" y=\"20\">leaves the picture</text><text x=\"10\" y=\"40\">first</text>"
      "<text x=\"12\" y=\"42\">second</text><text x=\"200\" y=\"40\" font-size=\"4\">tiny</text>"
      "</svg><div class=\"legend\"><span>" +
      std::string(300, 'w') + "</span></div></figure><figure></figure><table><tr><td>" + "<code>" +
      std::string(200, 'x') + "</code></td></tr></table>";
  const std::vector<std::string> faults =
      Faults("layout-faults", {{"faulty", RenderHtmlPage(page)}});
  EXPECT_THAT(faults,
              Contains(HasSubstr("faulty, 400 px: outside its picture: leaves the picture")));
  EXPECT_THAT(faults, Contains(HasSubstr("one over the other: second | first")));
  EXPECT_THAT(faults, Contains(HasSubstr("faulty, 400 px: too small")));
  EXPECT_THAT(faults, Contains(HasSubstr("faulty, 400 px: the page is ")));
  EXPECT_THAT(faults, Contains(HasSubstr("faulty, paper: outside the page: xxx")));
  EXPECT_THAT(faults, Contains(HasSubstr("a figure without a picture")));
}

}  // namespace
}  // namespace partita::report::layout_test
