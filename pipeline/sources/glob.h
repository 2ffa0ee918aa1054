// File patterns as text, apart from any file system: braces, wildcards, ignored names. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace headrace {

// The patterns that {a,b} and {000..099} (zero-padded, either direction, {0..8..2} with a step)
// stand for; braces nest. A pair of braces without comma or range is plain text. RESOURCE_EXHAUSTED
// past a million of them.
absl::StatusOr<std::vector<std::string>> ExpandBraces(std::string_view pattern);

// True when `text` has an unescaped * ? or [.
bool HasWildcard(std::string_view text);

// True for names that listings leave out: they start with '_' or '.'.
inline bool IsIgnoredName(std::string_view name) {
  return !name.empty() && (name[0] == '_' || name[0] == '.');
}

// Whether one name of a path matches one component of a pattern (not `**`). An ignored name matches
// only a component that starts with the same letter.
bool MatchesComponent(const std::string& component, const std::string& name);

// "/a//b/./c" -> {"a", "b", "c"}. ".." is kept: what it means depends on links.
std::vector<std::string> PathComponents(std::string_view path);

// `component` without its backslashes: the name that a component without wildcard spells.
std::string Unescape(std::string_view component);

// The directory that all matches of an absolute pattern lie in, as far as the pattern fixes it:
// "/data/train" for
// "/data/train/*/x.jpg", the pattern itself when it has no wildcard.
std::string FixedDirectory(std::string_view pattern);

// The longest directory that both paths lie in or are: "/a/b" for "/a/b/c" and "/a/b".
std::string CommonDirectory(std::string_view a, std::string_view b);

}  // namespace headrace
