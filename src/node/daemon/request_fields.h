// Requests as JSON objects, read strictly: kUsage for a field that is missing, of another type, or not known.
// With nlohmann/json: for .cc files.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hex.h"

namespace partita::node {

// JSON of others: discarded if it is none, or has more than `levels` levels. A parser needs no stack for
// levels, but what copies and writes values does.
template <class JsonType>
JsonType ParseShallow(const std::string& text, int levels) {
  bool is_deep = false;
  JsonType value = JsonType::parse(
      text,
      [&](int depth, typename JsonType::parse_event_t, JsonType&) {
        is_deep = is_deep || depth > levels;
        return !is_deep;
      },
      false);
  if (is_deep) return JsonType(nlohmann::json::value_t::discarded);
  return value;
}

class RequestFields {
 public:
  static constexpr int kMostLevels = 8;

  // who: which process was asked, for messages.
  RequestFields(const std::string& text, std::string who)
      : RequestFields(ParseShallow<nlohmann::json>(text, kMostLevels), std::move(who)) {
    what_ = Text("do");
  }
  RequestFields(nlohmann::json object, std::string who)
      : object_(std::move(object)), who_(std::move(who)) {
    if (!object_.is_object()) Fail("an object of JSON is missing");
  }

  const std::string& what() const { return what_; }
  bool Has(const char* field) const { return object_.contains(field); }
  std::string Text(const char* field) {
    taken_ += 1;
    if (!object_.contains(field) || !object_[field].is_string())
      Fail(fmt::format("the text '{}' is missing", field));
    return object_[field].get<std::string>();
  }
  // Before it is taken.
  std::string Peek(const char* field) {
    std::string text = Text(field);
    taken_ -= 1;
    return text;
  }
  int64_t Number(const char* field) {
    taken_ += 1;
    if (!object_.contains(field) || !object_[field].is_number_integer())
      Fail(fmt::format("the number '{}' is missing", field));
    return object_[field].get<int64_t>();
  }
  bool Flag(const char* field) {
    taken_ += 1;
    if (!object_.contains(field) || !object_[field].is_boolean())
      Fail(fmt::format("the yes or no '{}' is missing", field));
    return object_[field].get<bool>();
  }
  // An object in the object.
  RequestFields Object(const char* field) {
    taken_ += 1;
    return {object_.contains(field) ? object_[field] : nlohmann::json(), who_};
  }
  std::vector<RequestFields> Objects(const char* field) {
    taken_ += 1;
    if (!object_.contains(field) || !object_[field].is_array())
      Fail(fmt::format("the list '{}' is missing", field));
    std::vector<RequestFields> all;
    for (const nlohmann::json& entry : object_[field]) all.push_back({entry, who_});
    return all;
  }
  // All fields, which are texts.
  std::map<std::string, std::string> Texts() {
    std::map<std::string, std::string> texts;
    for (const auto& [name, value] : object_.items()) texts[name] = Text(name.c_str());
    return texts;
  }
  Bytes Raw(const char* field) { return FromHex(Text(field)); }
  template <class Array>
  Array Fixed(const char* field) {
    Array array{};
    if (!FromHex(Text(field), array)) Fail(fmt::format("'{}' has another length", field));
    return array;
  }
  // Nothing may be there that was not asked for.
  void End() const {
    if (object_.size() != taken_) Fail("there are fields that are not known");
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(
        ErrorCode::kUsage, fmt::format("the {} does not understand the request: {}", who_, what),
        fmt::format("Use the same version of Partita for the command and for the {}.", who_));
  }

  nlohmann::json object_;
  std::string who_, what_;
  size_t taken_ = 0;
};

}  // namespace partita::node
