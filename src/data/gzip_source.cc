#include "data/gzip_source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace partita::data {
namespace {

[[noreturn]] void Fail(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kBadInput, fmt::format("{}: cannot read the file: {}", path, why),
              "check the path, the permissions, and that the file is complete");
}

}  // namespace

ByteSource OpenGzipFile(const std::filesystem::path& path) {
  errno = 0;
  std::shared_ptr<gzFile_s> file(gzopen(path.c_str(), "rbe"), [](gzFile opened) {
    if (opened != nullptr) gzclose_r(opened);
  });
  if (!file) Fail(path.string(), errno != 0 ? std::strerror(errno) : "out of memory");
  return [file, name = path.string()](std::span<uint8_t> out) {
    size_t done = 0;
    while (done < out.size()) {
      const auto wanted = static_cast<unsigned>(std::min<size_t>(out.size() - done, INT_MAX));
      const int count = gzread(file.get(), out.data() + done, wanted);
      int code = Z_OK;
      const char* why = gzerror(file.get(), &code);
      // A file that ends within its last block gives what it has, and then Z_BUF_ERROR.
      if (count < 0 || (code != Z_OK && code != Z_STREAM_END)) Fail(name, why);
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return done;
  };
}

}  // namespace partita::data
