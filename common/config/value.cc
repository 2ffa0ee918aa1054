#include "common/config/value.h"

#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status.h"

namespace headrace {
namespace {

absl::Status Expected(std::string_view what, const ConfigText& text) {
  return InvalidArgument("expected {}, found {}", what, Found(text));
}

bool IsScalar(const ConfigText& text) { return text.kind == ConfigText::Kind::kScalar; }

ConfigText Scalar(std::string text) { return {ConfigText::Kind::kScalar, {std::move(text)}}; }

}  // namespace

std::string Found(const ConfigText& text) {
  constexpr size_t kShownBytes = 60;
  switch (text.kind) {
    case ConfigText::Kind::kNothing:
      return "nothing";
    case ConfigText::Kind::kScalar:
      return fmt::format("'{}'", text.items[0].substr(0, kShownBytes));
    case ConfigText::Kind::kList:
      return "a list";
    case ConfigText::Kind::kSection:
      return "a section";
  }
  return "?";
}

absl::Status FromText(const ConfigText& text, bool& out) {
  if (!IsScalar(text) || (text.items[0] != "true" && text.items[0] != "false")) {
    return Expected("true or false", text);
  }
  out = text.items[0] == "true";
  return absl::OkStatus();
}

absl::Status FromText(const ConfigText& text, int& out) {
  int64_t wide = 0;
  HR_RETURN_IF_ERROR(FromText(text, wide));
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    return Expected("an integer of 32 bits", text);
  }
  out = static_cast<int>(wide);
  return absl::OkStatus();
}

absl::Status FromText(const ConfigText& text, int64_t& out) {
  int64_t value = 0;
  if (!IsScalar(text) || !absl::SimpleAtoi(text.items[0], &value)) {
    return Expected("an integer", text);
  }
  out = value;
  return absl::OkStatus();
}

absl::Status FromText(const ConfigText& text, double& out) {
  double value = 0;
  if (!IsScalar(text) || !absl::SimpleAtod(text.items[0], &value) || !std::isfinite(value)) {
    return Expected("a number", text);
  }
  out = value;
  return absl::OkStatus();
}

absl::Status FromText(const ConfigText& text, std::string& out) {
  if (!IsScalar(text)) return Expected("text", text);
  out = text.items[0];
  return absl::OkStatus();
}

absl::Status FromText(const ConfigText& text, absl::Duration& out) {
  absl::Duration value;
  if (!IsScalar(text) || !absl::ParseDuration(text.items[0], &value) ||
      value < absl::ZeroDuration() || value == absl::InfiniteDuration()) {
    return Expected("a duration such as 500ms, 2s or 1h30m", text);
  }
  out = value;
  return absl::OkStatus();
}

absl::Status FromText(const ConfigText& text, ByteCount& out) {
  if (!IsScalar(text)) return Expected("a number of bytes such as 64MiB", text);
  HR_ASSIGN_OR_RETURN(out, ParseByteCount(text.items[0]));
  return absl::OkStatus();
}

absl::Status FromText(const ConfigText& text, std::vector<std::string>& out) {
  if (text.kind == ConfigText::Kind::kList) {
    out = text.items;
    return absl::OkStatus();
  }
  if (!IsScalar(text)) return Expected("a list", text);
  out.clear();
  for (absl::string_view part : absl::StrSplit(text.items[0], ',', absl::SkipWhitespace())) {
    out.emplace_back(absl::StripAsciiWhitespace(part));
  }
  return absl::OkStatus();
}

ConfigText ToText(bool value) { return Scalar(value ? "true" : "false"); }
ConfigText ToText(int value) { return Scalar(fmt::format("{}", value)); }
ConfigText ToText(int64_t value) { return Scalar(fmt::format("{}", value)); }
ConfigText ToText(double value) { return Scalar(fmt::format("{}", value)); }
ConfigText ToText(const std::string& value) { return Scalar(value); }
ConfigText ToText(absl::Duration value) { return Scalar(absl::FormatDuration(value)); }
ConfigText ToText(ByteCount value) { return Scalar(FormatByteCount(value)); }
ConfigText ToText(const std::vector<std::string>& value) {
  return {ConfigText::Kind::kList, value};
}

ConfigRule<std::string> OneOf(std::vector<std::string> choices) {
  std::string text = "one of " + absl::StrJoin(choices, ", ");
  return {std::move(text), [choices = std::move(choices)](const std::string& value) {
            for (const std::string& choice : choices) {
              if (choice == value) return true;
            }
            return false;
          }};
}

}  // namespace headrace
