#include "node/web/fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace partita::node::web {
namespace {

constexpr int kMostLevels = 4;  // of objects and arrays in each other

[[noreturn]] void FailFields(const std::string& what) {
  throw Error(ErrorCode::kUsage, "the request cannot be read: " + what,
              "Reload the page, which may be older than the node; programs look at openapi.json.");
}

const nlohmann::json& ListAt(const nlohmann::json& object, const char* name, size_t most) {
  const auto found = object.find(name);
  if (found == object.end()) FailFields(fmt::format("'{}' is missing", name));
  if (!found->is_array()) FailFields(fmt::format("'{}' is no list", name));
  if (found->size() > most) FailFields(fmt::format("'{}' has more than {} entries", name, most));
  return *found;
}

}  // namespace

Fields::Fields(ByteView body) {
  const auto not_deep = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kMostLevels) FailFields("it is too deep");
    return true;
  };
  object_ = std::make_unique<nlohmann::json>(
      nlohmann::json::parse(body.begin(), body.end(), not_deep, false));
  if (!object_->is_object()) FailFields("it is no JSON object");
}

Fields::Fields(std::unique_ptr<nlohmann::json> object) : object_(std::move(object)) {
  if (!object_->is_object()) FailFields("it has something else where an object should be");
}

Fields::~Fields() = default;
Fields::Fields(Fields&& other) noexcept = default;

std::optional<std::string> Fields::TextIf(const char* name, size_t max_bytes) {
  const auto found = object_->find(name);
  if (found == object_->end()) return std::nullopt;
  taken_ += 1;
  if (!found->is_string()) FailFields(fmt::format("'{}' is no text", name));
  std::string text = found->get<std::string>();
  if (text.size() > max_bytes)
    FailFields(fmt::format("'{}' has more than {} bytes", name, max_bytes));
  return text;
}

std::string Fields::Text(const char* name, size_t max_bytes) {
  std::optional<std::string> text = TextIf(name, max_bytes);
  if (!text) FailFields(fmt::format("'{}' is missing", name));
  return std::move(*text);
}

std::optional<int64_t> Fields::IntegerIf(const char* name, int64_t low, int64_t high) {
  const auto found = object_->find(name);
  if (found == object_->end()) return std::nullopt;
  taken_ += 1;
  // Above the largest signed number there is another kind.
  if (!found->is_number_integer() ||
      (found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX))
    FailFields(fmt::format("'{}' is no whole number", name));
  const auto number = found->get<int64_t>();
  if (number < low || number > high)
    FailFields(fmt::format("'{}' is not between {} and {}", name, low, high));
  return number;
}

int64_t Fields::Integer(const char* name, int64_t low, int64_t high) {
  const std::optional<int64_t> number = IntegerIf(name, low, high);
  if (!number) FailFields(fmt::format("'{}' is missing", name));
  return *number;
}

std::vector<std::string> Fields::Texts(const char* name, size_t most, size_t max_bytes) {
  std::vector<std::string> texts;
  for (const nlohmann::json& item : ListAt(*object_, name, most)) {
    if (!item.is_string()) FailFields(fmt::format("'{}' has something else than texts", name));
    texts.push_back(item.get<std::string>());
    if (texts.back().size() > max_bytes)
      FailFields(fmt::format("'{}' has a text of more than {} bytes", name, max_bytes));
  }
  taken_ += 1;
  return texts;
}

std::vector<Fields> Fields::Objects(const char* name, size_t most) {
  std::vector<Fields> objects;
  for (const nlohmann::json& item : ListAt(*object_, name, most))
    objects.push_back(Fields(std::make_unique<nlohmann::json>(item)));
  taken_ += 1;
  return objects;
}

bool Fields::Flag(const char* name) {
  const auto found = object_->find(name);
  if (found == object_->end()) return false;
  taken_ += 1;
  if (!found->is_boolean()) FailFields(fmt::format("'{}' is neither true nor false", name));
  return found->get<bool>();
}

void Fields::End() const {
  if (object_->size() != taken_) FailFields("there are fields that are not known");
}

}  // namespace partita::node::web
