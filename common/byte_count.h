// A number of bytes that no other integer is taken for: limits, sizes, rates. Written "64MiB" in
// configs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace headrace {

struct ByteCount {
  int64_t value = 0;
  constexpr auto operator<=>(const ByteCount&) const = default;
};

constexpr ByteCount KiB(int64_t n) { return {n << 10}; }
constexpr ByteCount MiB(int64_t n) { return {n << 20}; }
constexpr ByteCount GiB(int64_t n) { return {n << 30}; }

// "64MiB", "1.5 GiB", "10MB" (decimal), "512B", "4096". INVALID_ARGUMENT for anything else, for
// negative numbers, for more than 2^63-1, and for a fraction of a byte.
absl::StatusOr<ByteCount> ParseByteCount(std::string_view text);

// Exact, and ParseByteCount gives it back: "64MiB", "1536KiB", "1000B".
std::string FormatByteCount(ByteCount bytes);

// For people, three digits: "1.50 GiB", "64.0 MiB", "999 B".
std::string HumanBytes(double bytes);

}  // namespace headrace
