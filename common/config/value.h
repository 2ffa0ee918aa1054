// Values of a config as they are written (in YAML, an environment variable or a flag) and as C++
// has them. The converters are pure; INVALID_ARGUMENT says what was expected and what was found.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/byte_count.h"
#include "fmt/core.h"

namespace headrace {

struct ConfigText {
  enum class Kind { kNothing, kScalar, kList, kSection };
  Kind kind = Kind::kNothing;
  std::vector<std::string> items;  // one if a scalar
};

// "text 'ten'", "a list", "a section", "nothing".
std::string Found(const ConfigText& text);

absl::Status FromText(const ConfigText& text, bool& out);  // true, false
absl::Status FromText(const ConfigText& text, int& out);
absl::Status FromText(const ConfigText& text, int64_t& out);
absl::Status FromText(const ConfigText& text, double& out);  // finite
absl::Status FromText(const ConfigText& text, std::string& out);
absl::Status FromText(const ConfigText& text,
                      absl::Duration& out);  // "500ms", "2s", "1h30m": finite, not negative
absl::Status FromText(const ConfigText& text, ByteCount& out);  // "64MiB"
absl::Status FromText(const ConfigText& text,
                      std::vector<std::string>& out);  // a scalar is split at commas

ConfigText ToText(bool value);
ConfigText ToText(int value);
ConfigText ToText(int64_t value);
ConfigText ToText(double value);
ConfigText ToText(const std::string& value);
ConfigText ToText(absl::Duration value);
ConfigText ToText(ByteCount value);
ConfigText ToText(const std::vector<std::string>& value);

// What users call the type.
constexpr std::string_view TypeName(const bool&) { return "true or false"; }
constexpr std::string_view TypeName(const int&) { return "integer"; }
constexpr std::string_view TypeName(const int64_t&) { return "integer"; }
constexpr std::string_view TypeName(const double&) { return "number"; }
inline std::string_view TypeName(const std::string&) { return "text"; }
inline std::string_view TypeName(const absl::Duration&) { return "duration"; }
constexpr std::string_view TypeName(const ByteCount&) { return "bytes"; }
inline std::string_view TypeName(const std::vector<std::string>&) { return "list"; }

// A limit on a field's values, checked after its type: OneOf({"text", "json"}), AtLeast(1),
// Between(0, 1).
template <typename V>
struct ConfigRule {
  std::string text;  // "one of text, json"; empty: no rule
  std::function<bool(const V&)> holds;
};

ConfigRule<std::string> OneOf(std::vector<std::string> choices);

namespace config_internal {
template <typename V>
std::string Shown(const V& value) {
  return ToText(value).items[0];
}
template <typename A>
struct RangeRule {
  A least;
  A most;
  bool has_most;
  template <typename V>
    requires std::convertible_to<A, V>
  operator ConfigRule<V>() const {  // NOLINT: AtLeast(1) is a rule of an int64_t field, too
    const V low = least, high = most;
    if (!has_most) {
      return {fmt::format("at least {}", Shown(low)), [low](const V& v) { return v >= low; }};
    }
    return {fmt::format("between {} and {}", Shown(low), Shown(high)),
            [low, high](const V& v) { return v >= low && v <= high; }};
  }
};
}  // namespace config_internal

template <typename A>
config_internal::RangeRule<A> AtLeast(A least) {
  return {least, least, false};
}
template <typename A>
config_internal::RangeRule<A> Between(A least, A most) {
  return {least, most, true};
}

}  // namespace headrace
