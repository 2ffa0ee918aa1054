// dump_records FORMAT TARGET_BYTES FILE...: one line per record of each file: the field sizes and
// their CRC-32 (zlib's), in hex, joined by spaces. For independent_readers_test.py; no part of what
// ships.
#include <zlib.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "common/status.h"
#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/file_system.h"

namespace headrace {
namespace {

int Dump(std::string_view format_name, uint64_t target, const std::string& path) {
  const auto files = NewLocalFileSystem();
  const auto format = testing_formats::NewFormat(format_name);
  const auto read = testing_formats::ReadFiles(*format, *files, path, target);
  std::printf("file %s\n", path.c_str());
  for (const auto& row : read.rows) {
    for (const std::string& cell : row.cells) {
      const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(cell.data()), cell.size());
      std::printf("%zx:%08lx ", cell.size(), crc);
    }
    std::printf("\n");
  }
  std::fputs(read.Messages().c_str(), stderr);
  return read.error.ok() && read.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  uint64_t target = 0;
  const std::string_view number = argv[2];
  std::from_chars(number.data(), number.data() + number.size(), target);
  int failed = 0;
  for (int i = 3; i < argc; ++i) failed |= headrace::Dump(argv[1], target, argv[i]);
  return failed;
}
