// Where tests find the real files by other writers. Not linked into any binary.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headrace {

// $HEADRACE_SHARED_DATA, else <source dir>/../shared/data (HEADRACE_SOURCE_DIR is set by ctest,
// else the working directory); "" when that is not there. A test that gets "" must GTEST_SKIP()
// with the reason, and a sibling test on files it makes itself must cover the same promise.
inline std::string SharedData() {
  std::filesystem::path path;
  if (const char* given = std::getenv("HEADRACE_SHARED_DATA")) {
    path = given;
  } else {
    const char* source = std::getenv("HEADRACE_SOURCE_DIR");
    path = std::filesystem::path(source != nullptr ? source : ".") / ".." / "shared" / "data";
  }
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return "";
  return std::filesystem::canonical(path, error).string();
}

}  // namespace headrace
