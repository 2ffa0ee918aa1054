#include "common/byte_count.h"

#include <array>
#include <charconv>
#include <cmath>

#include "common/status.h"

namespace headrace {
namespace {

struct Unit {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<Unit, 13> kUnits = {{{"", 1},
                                          {"B", 1},
                                          {"KiB", int64_t{1} << 10},
                                          {"MiB", int64_t{1} << 20},
                                          {"GiB", int64_t{1} << 30},
                                          {"TiB", int64_t{1} << 40},
                                          {"PiB", int64_t{1} << 50},
                                          {"kB", 1'000},
                                          {"KB", 1'000},
                                          {"MB", 1'000'000},
                                          {"GB", 1'000'000'000},
                                          {"TB", 1'000'000'000'000},
                                          {"PB", 1'000'000'000'000'000}}};
constexpr std::array<std::string_view, 6> kBinaryNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

absl::Status Wrong(std::string_view text) {
  return InvalidArgument("expected a number of bytes such as 64MiB, found '{}'", text);
}

}  // namespace

absl::StatusOr<ByteCount> ParseByteCount(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  std::string_view unit_name = digits == std::string_view::npos ? "" : text.substr(digits);
  while (!unit_name.empty() && unit_name.front() == ' ') unit_name.remove_prefix(1);
  const Unit* unit = nullptr;
  for (const Unit& candidate : kUnits) {
    if (candidate.name == unit_name) unit = &candidate;
  }
  if (unit == nullptr || number.empty()) return Wrong(text);

  const char* const end = number.data() + number.size();
  int64_t whole = 0;
  const auto [after, error] = std::from_chars(number.data(), end, whole);
  if (error == std::errc() && after == end) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(whole, unit->bytes, &bytes)) {
      return InvalidArgument("'{}' is more than 2^63 - 1 bytes", text);
    }
    return ByteCount{bytes};
  }
  double fraction = 0;
  const auto [after_fraction, fraction_error] = std::from_chars(number.data(), end, fraction);
  if (fraction_error != std::errc() || after_fraction != end) return Wrong(text);
  const double bytes = fraction * static_cast<double>(unit->bytes);
  if (bytes >= 0x1p53) return InvalidArgument("'{}': write so many bytes without a fraction", text);
  if (bytes != std::floor(bytes))
    return InvalidArgument("'{}' is not a whole number of bytes", text);
  return ByteCount{static_cast<int64_t>(bytes)};
}

std::string FormatByteCount(ByteCount bytes) {
  int64_t value = bytes.value;
  size_t unit = 0;
  while (value != 0 && value % 1024 == 0 && unit + 1 < kBinaryNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", value, kBinaryNames[unit]);
}

std::string HumanBytes(double bytes) {
  size_t unit = 0;
  // 999.5 would print as "1000": the next unit's turn.
  while (std::abs(bytes) >= (unit == 0 ? 1024.0 : 999.5) && unit + 1 < kBinaryNames.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  const double size = std::abs(bytes);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", bytes, decimals, kBinaryNames[unit]);
}

}  // namespace headrace
