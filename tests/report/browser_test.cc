// The pages in a real browser, opened as files: the plots show the numbers, nothing is refused,
// nothing of a hostile study runs, and paper gets all of it. What was rendered stays in
// BUILD/report_pages, to look at.
#include "tests/report/browser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "base/files.h"
#include "methods/mle/report/plot_data.h"
#include "methods/mle/report/report_html.h"
#include "report/plan_html.h"
#include "report/privacy_html.h"
#include "tests/paths.h"
#include "tests/report/sample_privacy.h"
#include "tests/report/sample_run.h"

namespace partita::report::browser_test {
namespace {

using methods::mle::MleResult;
using methods::mle::RenderReportHtml;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Folder() {
  const std::string folder = BinaryPath("report_pages");
  std::filesystem::create_directories(folder);
  return folder;
}

std::string WritePage(const std::string& name, const std::string& html) {
  const std::string file = Folder() + "/" + name + ".html";
  WriteFileAtomically(file, html);
  return file;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// All first groups of the matches.
std::vector<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

std::vector<double> Numbers(const std::string& text, const std::string& pattern) {
  std::vector<double> numbers;
  for (const std::string& match : Matches(text, pattern)) numbers.push_back(std::stod(match));
  return numbers;
}

// The parts of a document that begin with `start` and end before the next one or `end`.
std::vector<std::string> Parts(const std::string& text, const std::string& start,
                               const std::string& end) {
  std::vector<std::string> parts;
  for (size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    parts.push_back(text.substr(at, text.find(end, at) - at));
  }
  return parts;
}

std::string Figure(const std::string& document, const std::string& attributes) {
  const std::vector<std::string> figures = Parts(document, "<figure " + attributes, "</figure>");
  return figures.size() == 1 ? figures[0] : "";
}

// The elements of the groups that a plot gave this class, one after the other.
std::string Marks(const std::string& picture, const std::string& name) {
  std::string marks;
  for (const std::string& part : Parts(picture, "class=\"" + name + "\"", "</g>")) {
    marks += part.substr(part.find('>'));
  }
  return marks;
}

// From values to pixels, as the tick labels of the axis say.
struct Axis {
  double origin = 0, scale = 0;
  double Pixel(double value) const { return origin + scale * value; }
};

Axis ReadAxis(const std::string& picture) {
  // Until the next group with a name; with facets there are groups inside.
  const size_t start = std::min(picture.find("x-axis tick label"), picture.size());
  const std::string ticks = picture.substr(start, picture.find("<g aria-label", start) - start);
  std::vector<double> pixels = Numbers(ticks, R"(<text[^>]*translate\(([-0-9.e]+))"), values;
  for (std::string label : Matches(ticks, ">([^<>]+)</text>")) {
    values.push_back(std::stod(std::regex_replace(label, std::regex("\u2212"), "-")));
  }
  if (values.size() != pixels.size() || values.size() < 2) {
    ADD_FAILURE() << "no axis in " << picture.substr(0, 300);
    return {};
  }
  Axis axis;
  axis.scale = (pixels.back() - pixels.front()) / (values.back() - values.front());
  axis.origin = pixels.front() - axis.scale * values.front();
  return axis;
}

void ExpectAt(const Axis& axis, std::vector<double> values, std::vector<double> pixels,
              const std::string& what) {
  ASSERT_EQ(values.size(), pixels.size()) << what;
  std::sort(values.begin(), values.end());
  std::sort(pixels.begin(), pixels.end());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(pixels[i], axis.Pixel(values[i]), 0.01) << what << " " << values[i];
  }
}

std::vector<double> Column(const json& rows, const char* key) {
  std::vector<double> values;
  for (const json& row : rows) values.push_back(row[key]);
  return values;
}

// Points and both ends of the intervals are where their numbers are, on the axis of this picture.
void ExpectIntervals(const std::string& picture, const json& rows, const std::string& what) {
  const Axis axis = ReadAxis(picture);
  const std::string points = Marks(picture, "estimate"), lines = Marks(picture, "interval");
  std::vector<double> at = Numbers(points, " cx=\"([-0-9.e]+)\"");
  // Marks of several series are shapes.
  if (at.empty()) at = Numbers(points, R"(translate\(([-0-9.e]+))");
  ExpectAt(axis, Column(rows, "est"), at, what);
  ExpectAt(axis, Column(rows, "lower"), Numbers(lines, " x1=\"([-0-9.e]+)\""), what);
  ExpectAt(axis, Column(rows, "upper"), Numbers(lines, " x2=\"([-0-9.e]+)\""), what);
}

// One picture for a section in standard deviations, else one for every label.
void ExpectSections(const std::string& figure, const json& data) {
  EXPECT_EQ(Count(figure, "class=\"plot-title\""), data["sections"].size());
  for (const json& section : data["sections"]) {
    const std::string title = section["title"];
    const bool own = section["scale"] == "own";
    const size_t start =
        figure.find("class=\"plot-title\">" + title + (own ? "<" : ", standardised<"));
    ASSERT_NE(start, std::string::npos) << title;
    const std::string block =
        figure.substr(start, figure.find("class=\"plot-title\"", start + 1) - start);
    if (!own) {
      ExpectIntervals(block, section["rows"], title);
      for (const json& row : section["rows"]) EXPECT_THAT(block, HasSubstr(row["label"]));
      continue;
    }
    std::map<std::string, json> by_label;
    for (const json& row : section["rows"]) by_label[row["label"]].push_back(row);
    EXPECT_EQ(Count(block, "class=\"panel\""), by_label.size()) << title;
    for (const auto& [label, rows] : by_label) {
      const std::vector<std::string> panels =
          Parts(block, "class=\"panel-title\">" + label + "<", "</svg>");
      ASSERT_EQ(panels.size(), 1U) << label;
      ExpectIntervals(panels[0], rows, label);
    }
  }
}

struct Box {
  double left, top, right, bottom;
};

// Boxes around the variables of a diagram: rectangles and ellipses.
std::vector<Box> Boxes(const std::string& picture) {
  std::vector<Box> boxes;
  const std::regex rect(R"re(<rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)")re");
  const std::regex ellipse(R"re(<ellipse cx="([^"]+)" cy="([^"]+)" rx="([^"]+)" ry="([^"]+)")re");
  for (std::sregex_iterator it(picture.begin(), picture.end(), rect), end; it != end; ++it) {
    const double x = std::stod((*it)[1]), y = std::stod((*it)[2]);
    boxes.push_back({x, y, x + std::stod((*it)[3]), y + std::stod((*it)[4])});
  }
  for (std::sregex_iterator it(picture.begin(), picture.end(), ellipse), end; it != end; ++it) {
    const double x = std::stod((*it)[1]), y = std::stod((*it)[2]);
    const double rx = std::stod((*it)[3]), ry = std::stod((*it)[4]);
    boxes.push_back({x - rx, y - ry, x + rx, y + ry});
  }
  return boxes;
}

void ExpectDiagram(const std::string& figure, const json& graph) {
  size_t latent = 0, covariances = 0;
  for (const json& node : graph["nodes"]) {
    latent += node["latent"] ? 1 : 0;
    EXPECT_THAT(figure, HasSubstr(">" + node["name"].get<std::string>() + "</text>"));
  }
  for (const json& edge : graph["edges"]) covariances += edge["kind"] == "covariance" ? 1 : 0;
  EXPECT_EQ(Count(figure, "class=\"node latent\""), latent);
  EXPECT_EQ(Count(figure, "class=\"node observed\""), graph["nodes"].size() - latent);
  EXPECT_EQ(Count(figure, "class=\"covariance\""), covariances);
  EXPECT_EQ(Count(figure, "class=\"path\""), graph["edges"].size() - covariances);
  std::vector<double> labels = Numbers(figure, "class=\"value [a-z-]+\"[^>]*>([-0-9.e]+)<");
  std::vector<double> estimates = Column(graph["edges"], "est");
  ASSERT_EQ(labels.size(), estimates.size());
  std::sort(labels.begin(), labels.end());
  std::sort(estimates.begin(), estimates.end());
  for (size_t i = 0; i < labels.size(); ++i) {
    EXPECT_NEAR(labels[i], estimates[i], 0.0051 * std::abs(estimates[i]));
  }
  const std::vector<Box> boxes = Boxes(figure);
  EXPECT_EQ(boxes.size(), graph["nodes"].size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool apart = boxes[i].left >= boxes[j].right || boxes[j].left >= boxes[i].right ||
                         boxes[i].top >= boxes[j].bottom || boxes[j].top >= boxes[i].bottom;
      EXPECT_TRUE(apart) << "variables " << i << " and " << j << " overlap";
    }
  }
}

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(HasBrowser()) << "no chromium here: tools/setup installs it (packages.txt)";
  }
  // The document after its scripts ran, without a word on the console.
  static std::string Open(const std::string& file) {
    const BrowserRun run = DumpDocument(file);
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(run.console, IsEmpty());
    return run.out;
  }
};

RunFacts Facts(const std::string& analysis) {
  RunFacts facts = FullFacts();
  facts.history[0].analysis = analysis;
  return facts;
}

void ExpectTimeLine(const std::string& figure) {
  const Axis axis = ReadAxis(figure);
  const std::string bars = Marks(figure, "phase");
  ExpectAt(axis, {0, 250}, Numbers(bars, " x=\"([-0-9.e]+)\""), "start in milliseconds");
  const std::vector<double> widths = Numbers(bars, " width=\"([-0-9.e]+)\"");
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_NEAR(widths[0], 250 * axis.scale, 0.01);
  EXPECT_NEAR(widths[1], 500 * axis.scale, 0.01);
  EXPECT_THAT(figure, HasSubstr("2.5 kB sent, 1.2 MB received"));
}

TEST_F(BrowserTest, DrawsOneAnalysis) {
  const std::vector<MleResult> results = {FactorResult("main")};
  const std::string document =
      Open(WritePage("one", RenderReportHtml(results, SamplePlan(), Facts("main"))));
  const json data = json::parse(methods::mle::PlotData(results, Facts("main")));
  EXPECT_THAT(document, HasSubstr("data-drawn=\"yes\""));
  const json& analysis = data["analyses"][0];
  ExpectSections(Figure(document, "data-plot=\"estimates\" data-analysis=\"0\""), analysis);
  ExpectDiagram(Figure(document, "data-plot=\"diagram\" data-analysis=\"0\" data-group=\"0\""),
                analysis["graphs"][0]);
  const std::string history = Figure(document, "data-plot=\"history\" data-analysis=\"0\"");
  EXPECT_EQ(Count(Marks(history, "step"), "<circle"), 2 * analysis["history"].size());
  ExpectTimeLine(Figure(document, "data-plot=\"traffic\""));
}

TEST_F(BrowserTest, DrawsThreeAnalysesAndGroups) {
  const std::vector<MleResult> results = ThreeAnalyses();
  const std::string document =
      Open(WritePage("three", RenderReportHtml(results, SamplePlan(), Facts("crude"))));
  const json data = json::parse(methods::mle::PlotData(results, Facts("crude")));
  ExpectSections(Figure(document, "data-plot=\"comparison\""), data["comparison"]);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string number = "data-analysis=\"" + std::to_string(i) + "\"";
    ExpectSections(Figure(document, "data-plot=\"estimates\" " + number), data["analyses"][i]);
    for (size_t group = 0; group < results[i].group_n.size(); ++group) {
      ExpectDiagram(Figure(document, "data-plot=\"diagram\" " + number + " data-group=\"" +
                                         std::to_string(group) + "\""),
                    data["analyses"][i]["graphs"][group]);
    }
  }
}

TEST_F(BrowserTest, RunsNothingOfAHostileStudy) {
  const std::string evil =
      "</script><script>document.title='taken'</script><img src=x "
      "onerror=\"document.title='taken'\">";
  std::vector<MleResult> results = {FactorResult(evil, {evil, "b"}), FactorResult(evil + "2")};
  for (MleResult& result : results) {
    result.table.observed[0] = result.table.latent[0] = evil;
    for (stats::Parameter& row : result.table.rows) {
      if (row.lhs == "verbal") row.lhs = evil;
      if (row.rhs == "x1") row.rhs = evil;
    }
  }
  study::Plan plan = SamplePlan();
  plan.title = evil;
  RunFacts facts = FullFacts();
  facts.party = facts.phases[0].phase = evil;
  const std::string document = Open(WritePage("hostile", RenderReportHtml(results, plan, facts)));
  EXPECT_THAT(document, HasSubstr("data-drawn=\"yes\""));
  EXPECT_THAT(document, Not(HasSubstr("<img")));
  EXPECT_THAT(document, Not(HasSubstr("<title>taken")));
  EXPECT_EQ(Count(document, "<script"), 2U);
}

// What the other tests see as silence is not deafness: a script that got into the page anyway is
// refused, and that is heard.
TEST_F(BrowserTest, RefusesForeignScripts) {
  std::string html = RenderReportHtml(std::vector{FactorResult("main")}, SamplePlan(), FullFacts());
  const size_t end = html.rfind("</body>");
  html.insert(end, "<script>document.title='taken'</script>");
  const BrowserRun run = DumpDocument(WritePage("foreign_script", html));
  EXPECT_THAT(run.out, Not(HasSubstr("<title>taken")));
  EXPECT_THAT(run.console, Not(IsEmpty()));
}

TEST_F(BrowserTest, ShowsThePlan) {
  const std::string document =
      Open(WritePage("plan", RenderPlanHtml(SamplePlan(), study::DefaultNetworks(), "c0ffee")));
  EXPECT_THAT(document, HasSubstr("c0ffee"));
}

TEST_F(BrowserTest, DrawsTradeOffs) {
  const std::string document = Open(WritePage(
      "privacy", RenderPrivacyHtml({"Risk",
                                    "replace",
                                    SampleStatement(),
                                    {{0, 0.1, 0.11}, {0.5, 1e-3, 1.1e-3}, {1, 0, 1e-9}}})));
  EXPECT_THAT(document, HasSubstr("data-drawn=\"yes\""));
  const std::string figure = Figure(document, "data-plot=\"trade-off\" data-row=\"0\"");
  ExpectAt(ReadAxis(figure), {0.05}, Numbers(Marks(figure, "five-percent"), R"(cx="([-0-9.e]+))"),
           "the point at 5 %");
  EXPECT_THAT(figure, HasSubstr("misses at least 80 % at 5 % false alarms"));
  for (const char* line : {"diagonal", "guarantee", "reached"})
    EXPECT_EQ(Count(Marks(figure, line), "<path"), 1U) << line;
  const std::string profile = Figure(document, "data-plot=\"profile\"");
  EXPECT_EQ(Count(Marks(profile, "profile"), "<path"), 1U);
  study::Plan plan = FullPlan();
  plan.privacy_statement = SampleStatement();
  const std::string shown = Open(WritePage("private-plan", RenderPlanHtml(plan, {})));
  EXPECT_THAT(shown, HasSubstr("data-drawn=\"yes\""));
  EXPECT_EQ(Count(shown, "class=\"guarantee\""), 2U);
}

TEST_F(BrowserTest, PrintsAllOfIt) {
  const std::string file =
      WritePage("print", RenderReportHtml(ThreeAnalyses(), SamplePlan(), Facts("crude")));
  const std::string pdf = Folder() + "/print.pdf";
  std::filesystem::remove(pdf);
  EXPECT_EQ(PrintPdf(file, pdf).status, 0);
  ASSERT_TRUE(ReadText(pdf).starts_with("%PDF-"));
  const std::vector<size_t> sizes = PdfPageSizes(pdf);
  EXPECT_GE(sizes.size(), 5U);
  EXPECT_LE(sizes.size(), 25U);
  // A blank page has less than a hundred bytes of content.
  for (size_t size : sizes) EXPECT_GT(size, 300U);
}

TEST_F(BrowserTest, CanBeLookedAt) {
  const std::string file =
      WritePage("picture", RenderReportHtml(ThreeAnalyses(), SamplePlan(), Facts("crude")));
  const std::string png = Folder() + "/picture.png";
  std::filesystem::remove(png);
  EXPECT_EQ(TakePicture(file, png).status, 0);
  EXPECT_TRUE(ReadText(png).starts_with("\x89PNG"));
}

}  // namespace
}  // namespace partita::report::browser_test
