// The body of a request, strictly: a JSON object in which nothing is missing and nothing is left over.
//
// All throw kUsage, in words for whoever programs against the API.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace partita::node::web {

class Fields {
 public:
  explicit Fields(ByteView body);
  ~Fields();
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  Fields(Fields&& other) noexcept;

  std::string Text(const char* name, size_t max_bytes);
  std::optional<std::string> TextIf(const char* name, size_t max_bytes);
  int64_t Integer(const char* name, int64_t low, int64_t high);
  std::optional<int64_t> IntegerIf(const char* name, int64_t low, int64_t high);
  std::vector<std::string> Texts(const char* name, size_t most, size_t max_bytes);
  std::vector<Fields> Objects(const char* name, size_t most);
  bool Flag(const char* name);  // false if it is not there
  // Nothing else may be there.
  void End() const;

 private:
  explicit Fields(std::unique_ptr<nlohmann::json> object);

  std::unique_ptr<nlohmann::json> object_;
  size_t taken_ = 0;
};

}  // namespace partita::node::web
