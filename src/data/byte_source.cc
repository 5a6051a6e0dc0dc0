#include "data/byte_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace partita::data {

namespace {

[[noreturn]] void FailToRead(const std::string& path, int error_number) {
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}: cannot read the file: {}", path, std::strerror(error_number)),
              error_number == ENOENT && std::filesystem::path(path).filename() == "data.csv"
                  ? "put the table there, or name it: --data FILE"
                  : "check the path and the permissions");
}

}  // namespace

ByteSource OpenFile(const std::filesystem::path& path) {
  std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rbe"), [](std::FILE* opened) {
    if (opened != nullptr) std::fclose(opened);
  });
  if (!file) FailToRead(path.string(), errno);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // blocks are large already
  return [file, name = path.string()](std::span<uint8_t> out) {
    errno = 0;
    size_t count = std::fread(out.data(), 1, out.size(), file.get());
    if (count < out.size() && std::ferror(file.get()) != 0) FailToRead(name, errno);
    return count;
  };
}

ByteSource FromText(std::string_view text) {
  return [text](std::span<uint8_t> out) mutable {
    size_t count = std::min(out.size(), text.size());
    std::memcpy(out.data(), text.data(), count);
    text.remove_prefix(count);
    return count;
  };
}

}  // namespace partita::data
