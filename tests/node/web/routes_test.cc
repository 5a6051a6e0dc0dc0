// The table of routes: openapi.json says the same, and nothing else has an address.
#include "node/web/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "node/web/fields.h"
#include "tests/node/web/web_host.h"

namespace partita::node::web::routes_test {
namespace {

using ::testing::HasSubstr;

std::string RolesText(Roles roles) {
  if (roles == kAnyone) return "anyone";
  std::string text;
  for (const Role role : {Role::kSteward, Role::kAnalyst, Role::kOperator, Role::kAuditor}) {
    if ((roles & RoleBit(role)) != 0) text += (text.empty() ? "" : " ") + RoleName(role);
  }
  return text;
}

std::string NamesOf(const TestJson& operation, const std::string& where) {
  std::string names;
  if (!operation.contains("parameters")) return names;
  for (const TestJson& parameter : operation.at("parameters")) {
    if (parameter.value("in", "") == where)
      names += (names.empty() ? "" : " ") + parameter.at("name").get<std::string>();
  }
  return names;
}

// Every operation of the document, "POST /path", with roles, query and whether it has a body.
TEST(OpenApiTest, SaysWhatTheRouterHas) {
  std::map<std::string, std::string> said, routed;
  for (const auto& [path, operations] : Api().document().at("paths").items()) {
    for (const auto& [verb, operation] : operations.items()) {
      std::string method = verb, roles;
      for (char& letter : method) letter = static_cast<char>(std::toupper(letter));
      for (const TestJson& role : operation.at("x-roles"))
        roles += (roles.empty() ? "" : " ") + role.get<std::string>();
      said[method + " " + path] = roles + "; " + NamesOf(operation, "query") + "; " +
                                  (operation.contains("requestBody") ? "body" : "no body");
    }
  }
  for (const Route& route : Routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.path);
    EXPECT_EQ(routed.count(name), 0U) << name;
    routed[name] = RolesText(route.roles) + "; " + std::string(route.query) + "; " +
                   (route.body_bytes > 0 ? "body" : "no body");
  }
  // What is no route: files of the program.
  for (const char* page : {"/", "/licences.txt", "/api/v1/openapi.json"})
    routed["GET " + std::string(page)] = "anyone; ; no body";
  for (const auto& entry : routed) EXPECT_EQ(said[entry.first], entry.second) << entry.first;
  for (const auto& entry : said) EXPECT_EQ(entry.second, routed[entry.first]) << entry.first;
}

// Whatever needs a session and changes something asks for its token; POSTs that make something take a key.
TEST(OpenApiTest, NamesTokenAndErrorsOfEveryOperation) {
  for (const auto& [path, operations] : Api().document().at("paths").items()) {
    for (const auto& [verb, operation] : operations.items()) {
      const bool for_anyone = operation.at("x-roles").at(0) == "anyone";
      bool has_token = false;
      for (const TestJson& parameter : operation.value("parameters", TestJson::array()))
        has_token = has_token || parameter.value("$ref", "") == "#/components/parameters/Csrf";
      EXPECT_EQ(has_token, !for_anyone && verb != "get") << verb << " " << path;
      const bool names_errors = operation.at("responses").contains("default");
      EXPECT_TRUE(names_errors || !path.starts_with("/api/")) << verb << " " << path;
    }
  }
}

TEST(RoutesTest, PartsArePlain) {
  const auto found = [](const std::string& path) {
    bool is_there = false;
    const auto match = FindRoute("GET", path, is_there);
    return match ? std::string(match->route->path) : is_there ? "another method" : "nothing";
  };
  const std::string id(64, 'a');
  EXPECT_EQ(found("/api/v1/studies/" + id), "/api/v1/studies/{study}");
  EXPECT_EQ(found("/api/v1/studies/" + id + "/events"), "/api/v1/studies/{study}/events");
  EXPECT_EQ(found("/api/v1/studies/check"), "another method");
  for (const std::string& path :
       {std::string(""), std::string("/"), std::string("//"), std::string("/api/v1/studies/"),
        "/api/v1/studies/" + id + "/", "/api/v1/studies/" + std::string(63, 'a'),
        "/api/v1/studies/" + std::string(64, 'A'), std::string("/api/v1/studies/../node"),
        "/api/v1/studies/" + id + "/../../node", std::string("/api/v1/accounts/a%2fb/password"),
        std::string("api/v1/node"), std::string("/api/v1/node/"), std::string("/api/v1//node"),
        std::string("/API/v1/node")})
    EXPECT_EQ(found(path), "nothing") << path;
}

TEST(RoutesTest, QueriesAreStrict) {
  using Query = std::map<std::string, std::string>;
  EXPECT_EQ(ReadQuery("", "after wait"), Query());
  EXPECT_EQ(ReadQuery("after=1f&wait=5", "after wait"), (Query{{"after", "1f"}, {"wait", "5"}}));
  EXPECT_EQ(ReadQuery("after=", "after"), (Query{{"after", ""}}));
  for (const char* bad : {"after=1&after=2", "other=1", "aft=1", "after=a%20b", "after=a b", "=1",
                          "after wait=1", "&", "after=1&&wait=2", "after=a=b"})
    EXPECT_FALSE(ReadQuery(bad, "after wait").has_value()) << bad;
}

std::string ProblemWith(const std::string& body) {
  try {
    Fields fields(AsBytes(body));
    fields.Text("text", 5);
    fields.Integer("number", 1, 9);
    fields.Flag("flag");
    fields.End();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    return error.message();
  }
  return "";
}

TEST(FieldsTest, AreStrict) {
  EXPECT_EQ(ProblemWith(R"({"text":"a","number":9,"flag":true})"), "");
  EXPECT_EQ(ProblemWith(R"({"number":1,"text":""})"), "");
  EXPECT_THAT(ProblemWith(R"({"text":"a","number":9,"more":1})"), HasSubstr("not known"));
  EXPECT_THAT(ProblemWith(R"({"text":"abcdef","number":9})"), HasSubstr("more than 5"));
  for (const char* number : {"0", "10", "-1", "18446744073709551615"})
    EXPECT_THAT(ProblemWith(R"({"text":"a","number":)" + std::string(number) + "}"),
                ::testing::AnyOf(HasSubstr("between"), HasSubstr("whole number")));
  for (const char* number : {"1.5", "\"1\"", "null", "[1]", "1e0"})
    EXPECT_THAT(ProblemWith(R"({"text":"a","number":)" + std::string(number) + "}"),
                HasSubstr("whole number"));
  EXPECT_THAT(ProblemWith(R"({"text":"a","number":1,"flag":1})"), HasSubstr("true nor false"));
  for (const char* none : {"", "1", "[]", "\"x\"", "{", "{\"text\":\"\xff\"}", "nan"})
    EXPECT_THAT(ProblemWith(none), HasSubstr("no JSON object")) << none;
  EXPECT_THAT(ProblemWith("{\"text\":" + std::string(100'000, '[')), HasSubstr("too deep"));
}

TEST(RemoteTest, AddressesOfThisMachine) {
  EXPECT_EQ(NetworkOf("192.0.2.1"), NetworkOf("::ffff:192.0.2.1"));
  EXPECT_NE(NetworkOf("192.0.2.1"), NetworkOf("192.0.2.2"));
  EXPECT_EQ(NetworkOf("2001:db8::1"), NetworkOf("2001:db8::ffff:2"));
  EXPECT_NE(NetworkOf("2001:db8::1"), NetworkOf("2001:db8:0:1::1"));
  EXPECT_EQ(NetworkOf("fe80::1%eth0"), NetworkOf("fe80::2"));
  EXPECT_EQ(AddressOfRemote("127.0.0.1:5000"), "127.0.0.1");
  EXPECT_EQ(AddressOfRemote("::1:5000"), "::1");
  EXPECT_EQ(AddressOfRemote("[::1]:5000"), "::1");
  for (const char* here : {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(IsLoopback(here)) << here;
  for (const char* there : {"", "10.0.0.1", "1.127.0.1", "::2", "::ffff:10.0.0.1", "2001:db8::1"})
    EXPECT_FALSE(IsLoopback(there)) << there;
}

}  // namespace
}  // namespace partita::node::web::routes_test
