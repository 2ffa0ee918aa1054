#include "pipeline/sources/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "common/status.h"
#include "fmt/format.h"

namespace headrace {
namespace {

constexpr size_t kMaxPatterns = 1'000'000;
constexpr size_t kMaxPatternBytes = 64 << 10;

struct Braces {
  size_t open = 0;
  size_t close = 0;
  std::vector<std::string> alternatives;
};

bool ParseInteger(std::string_view text, int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// "000..099" or "0..8..2"; false when `inside` is no range.
bool ExpandRange(std::string_view inside, std::vector<std::string>& out) {
  const size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return false;
  std::string_view first = inside.substr(0, dots);
  std::string_view last = inside.substr(dots + 2);
  int64_t step = 1;
  if (const size_t more = last.find(".."); more != std::string_view::npos) {
    if (!ParseInteger(last.substr(more + 2), step)) return false;
    last = last.substr(0, more);
  }
  int64_t from = 0;
  int64_t to = 0;
  if (!ParseInteger(first, from) || !ParseInteger(last, to)) return false;
  if (from < 0 || to < 0 || from > INT64_MAX / 4 || to > INT64_MAX / 4) return false;
  step = std::clamp<int64_t>(std::abs(step), 1, INT64_MAX / 4);
  const bool padded = (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  const size_t width = padded ? std::max(first.size(), last.size()) : 0;
  for (int64_t i = from; from <= to ? i <= to : i >= to; i += from <= to ? step : -step) {
    out.push_back(fmt::format("{:0{}}", i, width));
    if (out.size() > kMaxPatterns) break;
  }
  return true;
}

// The first pair of braces in `text` that stands for several texts.
bool FindBraces(std::string_view text, Braces& out) {
  for (size_t open = 0; open < text.size(); ++open) {
    if (text[open] == '\\') {
      ++open;
      continue;
    }
    if (text[open] != '{') continue;
    std::vector<std::string> parts;
    size_t depth = 0;
    size_t part = open + 1;
    for (size_t i = open; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '\\') {
        ++i;
      } else if (c == '{') {
        ++depth;
      } else if (c == ',' && depth == 1) {
        parts.emplace_back(text.substr(part, i - part));
        part = i + 1;
      } else if (c == '}' && --depth == 0) {
        out.open = open;
        out.close = i;
        out.alternatives.clear();
        if (parts.empty()) {
          if (!ExpandRange(text.substr(part, i - part), out.alternatives)) break;
          return true;
        }
        parts.emplace_back(text.substr(part, i - part));
        out.alternatives = std::move(parts);
        return true;
      }
    }
  }
  return false;
}

absl::Status ExpandInto(const std::string& head, const std::string& rest,
                        std::vector<std::string>& out) {
  if (out.size() >= kMaxPatterns) {
    return ResourceExhausted("braces stand for more than {} patterns; use a wildcard instead",
                             kMaxPatterns);
  }
  Braces braces;
  if (!FindBraces(rest, braces)) {
    out.push_back(head + rest);
    return absl::OkStatus();
  }
  const std::string before = head + rest.substr(0, braces.open);
  const std::string after = rest.substr(braces.close + 1);
  for (const std::string& alternative : braces.alternatives) {
    HR_RETURN_IF_ERROR(ExpandInto(before, alternative + after, out));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandBraces(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return InvalidArgument("a file pattern of {} bytes is longer than the limit of {}",
                           pattern.size(), kMaxPatternBytes);
  }
  std::vector<std::string> out;
  HR_RETURN_IF_ERROR(ExpandInto("", std::string(pattern), out));
  return out;
}

bool HasWildcard(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '*' || text[i] == '?' || text[i] == '[') {
      return true;
    }
  }
  return false;
}

bool MatchesComponent(const std::string& component, const std::string& name) {
  if (IsIgnoredName(name) && (component.empty() || component[0] != name[0])) return false;
  return fnmatch(component.c_str(), name.c_str(), 0) == 0;
}

std::vector<std::string> PathComponents(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (!name.empty() && name != ".") out.emplace_back(name);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return out;
}

std::string Unescape(std::string_view component) {
  std::string out;
  for (size_t i = 0; i < component.size(); ++i) {
    if (component[i] == '\\' && i + 1 < component.size()) ++i;
    out += component[i];
  }
  return out;
}

std::string FixedDirectory(std::string_view pattern) {
  std::string out;
  for (const std::string& component : PathComponents(pattern)) {
    if (HasWildcard(component)) break;
    out += "/" + Unescape(component);
  }
  return out.empty() ? "/" : out;
}

std::string CommonDirectory(std::string_view a, std::string_view b) {
  const std::vector<std::string> left = PathComponents(a);
  const std::vector<std::string> right = PathComponents(b);
  std::string out;
  for (size_t i = 0; i < std::min(left.size(), right.size()) && left[i] == right[i]; ++i) {
    out += "/" + left[i];
  }
  return out.empty() ? "/" : out;
}

}  // namespace headrace
