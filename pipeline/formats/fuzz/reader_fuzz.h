// What the fuzz targets of readers share: made-up files read whole and in pieces must agree, and
// never harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"

namespace headrace {

// The first byte of the input chooses the sizes of splits and blocks. Where its top bit is set,
// `repair` makes the checksums of the rest right: fuzzing would hardly find one by chance.
inline void FuzzReader(std::string_view format_name, const std::string& path, const uint8_t* data,
                       size_t size, void (*repair)(std::string&) = nullptr,
                       testing_formats::Params params = {}) {
  if (size == 0) return;
  const uint64_t target = 1 + data[0];
  const ReadLimits limits{
      .max_rows = 1 + data[0] % 7u, .max_bytes = 4096, .max_record_bytes = 1 << 16};
  MemoryFileSystem files;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (repair != nullptr && data[0] >= 0x80) repair(bytes);
  files.Put(path, bytes);
  const auto format = testing_formats::NewFormat(format_name, params);
  // ReadFiles checks that record indices have neither gaps nor doubles, and aborts if so.
  const auto whole = testing_formats::ReadFiles(*format, files, path, UINT64_MAX / 4, limits);
  const auto pieces = testing_formats::ReadFiles(*format, files, path, target, limits);
  const bool sound = whole.error.ok() && whole.failures.empty() && pieces.failures.empty();
  if (sound && whole.Column() != pieces.Column()) std::abort();
}

}  // namespace headrace
