// Columns to features and back, and model files: there and back, and every part of one broken.
#include "methods/mixture/columns.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "crypto/prg.h"
#include "methods/mixture/adult.h"
#include "methods/mixture/model_file.h"
#include "stats/mixture/predictive.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::methods::mixture::columns_test {
namespace {

using data::EncodingKind;
using stats::mixture::Family;

std::vector<ModelColumn> EveryKind() {
  return {{{data::Factor("f", {"a", "b", "c"}), EncodingKind::kLevels, 0, {"b", "c"}}, 0},
          {{data::Integer("w", 1, 4), EncodingKind::kWhole, 0, {}}, 1},
          {{data::Numeric("b", 0, 1), EncodingKind::kBins, 5, {}}, 0},
          {{data::Factor("i", {"no", "yes"}), EncodingKind::kIndicator, 0, {}}, 1},
          {{data::Date("u", 0, 900), EncodingKind::kUnit, 0, {}}, 0},
          {{data::Numeric("s", -5, 5), EncodingKind::kStandard, 0, {}}, 1},
          {{data::Integer("c", 0, 40), EncodingKind::kCount, 0, {}}, 0}};
}

FittedModel SomeModel() {
  const std::vector<ModelColumn> columns = EveryKind();
  crypto::Prg prg(crypto::Key(std::array<uint8_t, 32>{1}));
  stats::blr::Variates variates(prg);
  const auto state = StartState(ModelLayout(columns), 3, {}, variates);
  return {{"north", "south"}, columns, state.mean, state.log_scale, 7, 7, {}};
}

TEST(ColumnsTest, EncodingsChooseFamilies) {
  const stats::mixture::Layout layout = ModelLayout(EveryKind());
  const std::vector<Family> expected = {
      Family::kCategorical, Family::kCategorical, Family::kCategorical, Family::kBernoulli,
      Family::kBeta,        Family::kGaussian,    Family::kPoisson};
  for (size_t f = 0; f < expected.size(); ++f)
    EXPECT_EQ(layout.features[f].family, expected[f]) << f;
  EXPECT_EQ(layout.features[0].levels, 2);
  EXPECT_EQ(layout.features[1].levels, 4);
  EXPECT_EQ(layout.features[6].scale, 4);
  EXPECT_EQ(layout.features[3].party, 1);
  EXPECT_EQ(layout.num_columns, 2 + 4 + 5 + 1 + 2 + 2 + 1);
}

TEST(ColumnsTest, AdultIsTheTableOfTheExperiment) {
  const stats::mixture::Layout layout = ModelLayout(AdultColumns());
  EXPECT_EQ(layout.features.size(), 14);
  EXPECT_EQ(layout.num_columns, 148 + 4);
  EXPECT_EQ(20 * (1 + layout.num_columns), 3060);
}

// Rows that the model draws are a table of the schema, and encode.
TEST(ColumnsTest, DrawnRowsAreATable) {
  const FittedModel model = SomeModel();
  const stats::mixture::Layout layout = ModelLayout(model.columns);
  crypto::Prg prg(crypto::Key(std::array<uint8_t, 32>{2}));
  stats::blr::Variates variates(prg);
  const auto values = DrawRows(layout, DrawTheta(model.state(), variates), 500, variates);
  const data::Table table = DecodeTable(model.columns, values, prg);
  EXPECT_EQ(table.num_rows, 500);
  EXPECT_EQ(table.columns.size(), 7);
  const auto again = EncodeValues(model.columns, table);
  for (const size_t f : {0, 1, 2, 3}) EXPECT_EQ(again[f], values[f]) << f;
  EXPECT_NO_THROW(EncodeRows(model.columns, layout, table));
}

TEST(ModelFileTest, ThereAndBack) {
  FittedModel model = SomeModel();
  model.privacy = R"({"mechanism":"none"})";
  const FittedModel back = ParseModelJson(ModelJson(model));
  EXPECT_EQ(back.parties, model.parties);
  EXPECT_EQ(back.steps, 7);
  EXPECT_TRUE((back.mean == model.mean).all());
  EXPECT_TRUE((back.log_scale == model.log_scale).all());
  EXPECT_EQ(back.privacy, model.privacy);
  EXPECT_EQ(ModelJson(back), ModelJson(model));
  EXPECT_EQ(back.columns[0].encoding.pooled, (std::vector<std::string>{"b", "c"}));
}

TEST(ModelFileTest, WhatIsNoModelIsRefused) {
  const auto refuse = [](const std::string& message, const std::string& text) {
    ExpectError(ErrorCode::kBadInput, message, "", [&] { ParseModelJson(text); });
  };
  const nlohmann::json good = nlohmann::json::parse(ModelJson(SomeModel()));
  const auto with = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json changed = good;
    change(changed);
    return changed.dump();
  };
  using Json = nlohmann::json;
  refuse("the model file is not one", "");
  refuse("the model file is not one", "[]");
  refuse("the model file is not one", "{\"format\": 3}");
  refuse("another format", with([](Json& j) { j["format"] = "partita mixture 9"; }));
  ExpectError(ErrorCode::kBadInput, "a file of method marginals", "[analysis.utility]",
              [&] { ParseModelJson(with([](Json& j) { j["format"] = "partita marginals 1"; })); });
  refuse("a party that is not there", with([](Json& j) { j["columns"][0]["party"] = 2; }));
  refuse("a party that is not there", with([](Json& j) { j["columns"][0]["party"] = -1; }));
  refuse("'many' is not known", with([](Json& j) { j["columns"][0]["encoding"] = "many"; }));
  refuse("'key' is not known", with([](Json& j) { j["columns"][0]["type"] = "key"; }));
  refuse("cannot be encoded", with([](Json& j) { j["columns"][0]["encoding"] = "unit"; }));
  refuse("has 1 bins", with([](Json& j) { j["columns"][2]["bins"] = 1; }));
  refuse("no public bounds", with([](Json& j) { j["columns"][4]["lower"] = 900; }));
  refuse("one number per parameter", with([](Json& j) { j["mean"][1].erase(0); }));
  refuse("different shapes", with([](Json& j) { j["mean"].erase(0); }));
  refuse("out of range", with([](Json& j) { j["mean"][0][0] = 1e9; }));
  refuse("a scale is out of range", with([](Json& j) { j["log_scale"][0][0] = 11; }));
  refuse("no line", with([](Json& j) { j["mean"] = Json::array(); }));
  refuse("no feature", with([](Json& j) { j["columns"] = Json::array(); }));
  for (const char* key :
       {"format", "parties", "steps", "columns", "mean", "log_scale", "privacy"}) {
    refuse("the model file is not one", with([&](Json& j) { j.erase(key); }));
  }
}

}  // namespace
}  // namespace partita::methods::mixture::columns_test
