#include "cli/terminal/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/files.h"

namespace partita::cli {

namespace fs = std::filesystem;

void RequireNewFile(const fs::path& file, bool force) {
  std::error_code error;
  if (!force && fs::exists(fs::symlink_status(file, error))) {
    throw Error(ErrorCode::kUsage, file.string() + " exists already",
                "move it away, name another file, or say --force");
  }
  const fs::path folder = fs::absolute(file).parent_path();
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorCode::kUsage, fmt::format("cannot write to {}: {}", folder.string(), problem),
                "name a file in another folder");
  };
  fs::create_directories(folder, error);
  if (error) refuse(error.message());
  if (::access(folder.c_str(), W_OK) != 0) refuse(std::strerror(errno));
}

CLI::Option* AddNewFile(CLI::App& command, Invocation& invocation, const std::string& name,
                        std::string& file, const std::string& what) {
  if (command.get_option_no_throw("--force") == nullptr) AddForce(command, invocation);
  CLI::Option* option = command.add_option(name, file, what)->type_name("NEWFILE");
  invocation.new_files.push_back(option);
  return option;
}

void AddForce(CLI::App& command, Invocation& invocation) {
  command.add_flag("--force", invocation.output.force, "Overwrite files that exist");
}

void WriteOutput(const OutputOptions& output, const fs::path& file, std::string_view content,
                 mode_t mode, std::string_view what) {
  if (output.force && !fs::is_directory(fs::symlink_status(file))) fs::remove(file);
  WriteNewFile(file, content, mode, what);
}

}  // namespace partita::cli
