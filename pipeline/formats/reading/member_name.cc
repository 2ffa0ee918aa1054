#include "pipeline/formats/reading/member_name.h"

#include "absl/strings/ascii.h"

namespace headrace {
namespace {

bool IsMeta(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

}  // namespace

std::optional<MemberName> SplitMemberName(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t start = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', start);
  if (dot == std::string_view::npos || dot == start || dot + 1 == name.size() || IsMeta(name))
    return std::nullopt;
  return MemberName{name.substr(0, dot), name.substr(dot + 1)};
}

void AssignLower(std::string_view text, std::string& out) {
  out.clear();
  for (char c : text) out += absl::ascii_tolower(static_cast<unsigned char>(c));
}

}  // namespace headrace
