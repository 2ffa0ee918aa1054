#include "common/config/names.h"

#include <algorithm>
#include <cassert>

namespace headrace {
namespace {

void AddLeaves(const ConfigNode& section, const std::string& prefix,
               std::vector<const ConfigNode*>& sections, std::vector<ConfigLeaf>& out) {
  for (const ConfigNode& child : section.children) {
    const std::string path = JoinedPath(prefix, child.name);
    if (!child.type.empty()) {
      out.push_back({path, &child, sections});
      continue;
    }
    sections.push_back(&child);
    AddLeaves(child, path, sections, out);
    sections.pop_back();
  }
}

bool IsSnakeCase(std::string_view name) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::vector<ConfigLeaf> Leaves(const ConfigNode& root) {
  std::vector<ConfigLeaf> out;
  std::vector<const ConfigNode*> sections;
  AddLeaves(root, "", sections, out);
  return out;
}

std::string JoinedPath(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

std::string EnvironmentName(std::string_view root, std::string_view path) {
  std::string out = fmt::format("HEADRACE_{}_{}", root, path);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '.') c = '_';
  }
  return out;
}

namespace config_internal {

void CheckSpec(const ConfigNode& root) {
  std::vector<std::string> names;
  for (const ConfigLeaf& leaf : Leaves(root)) names.push_back(EnvironmentName("", leaf.path));
  std::sort(names.begin(), names.end());
  const bool unique = std::adjacent_find(names.begin(), names.end()) == names.end();
  assert(unique && "two keys of a config spec have one environment name");
  const bool snake_case = std::all_of(root.children.begin(), root.children.end(),
                                      [](const ConfigNode& n) { return IsSnakeCase(n.name); });
  assert(snake_case && "a key of a config spec is not in snake_case");
  (void)unique;
  (void)snake_case;
}

}  // namespace config_internal
}  // namespace headrace
