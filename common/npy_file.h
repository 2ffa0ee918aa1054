// Arrays that another program wrote with numpy.save: what tests compare with (tests/golden/).
// Little-endian, C order, format version 1. Not linked into any binary.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/status.h"

namespace headrace {

struct NpyArray {
  std::string dtype;  // as numpy writes it: "<f4", "|u1", "<i8"
  std::vector<int64_t> shape;
  std::string bytes;

  // T must be what dtype says.
  template <typename T>
  std::vector<T> as() const {
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
};

// The text between the quotes or brackets that follow `key` in the header.
inline std::string NpyHeaderValue(std::string_view header, std::string_view key, char open,
                                  char close) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return "";
  const size_t from = header.find(open, at + key.size());
  const size_t to = header.find(close, from + 1);
  if (from == std::string_view::npos || to == std::string_view::npos) return "";
  return std::string(header.substr(from + 1, to - from - 1));
}

inline absl::StatusOr<NpyArray> ReadNpy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("{}: cannot be opened", path);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
  if (all.size() < 10 || std::string_view(all).substr(0, 8) != kMagic)
    return DataLoss("{}: no npy file of version 1", path);
  const size_t length = static_cast<uint8_t>(all[8]) + (size_t{static_cast<uint8_t>(all[9])} << 8);
  const std::string_view header = std::string_view(all).substr(10, length);
  NpyArray out;
  out.dtype = NpyHeaderValue(header, "'descr':", '\'', '\'');
  const std::string shape = NpyHeaderValue(header, "'shape':", '(', ')');
  for (const char* p = shape.c_str(); *p != 0;) {
    char* end = nullptr;
    const long long side = std::strtoll(p, &end, 10);
    if (end != p) out.shape.push_back(side);
    p = end != p ? end : p + 1;
  }
  if (out.dtype.empty() || header.find("'fortran_order': False") == std::string_view::npos)
    return DataLoss("{}: the npy header is not one of ours", path);
  out.bytes = all.substr(10 + length);
  return out;
}

// `name`.npy of tests/golden/data.
inline absl::StatusOr<NpyArray> ReadGolden(const std::string& name) {
  const char* source = std::getenv("HEADRACE_SOURCE_DIR");
  const std::filesystem::path root(source != nullptr ? source : ".");
  return ReadNpy((root / "tests/golden/data" / (name + ".npy")).string());
}

}  // namespace headrace
