// What of a config is written: the effective YAML with comments, and the list of keys for docs.
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config/config.h"
#include "common/config/names.h"
#include "common/config/yaml_tree.h"

namespace headrace {
namespace config_internal {
namespace {

constexpr size_t kCommentColumns = 100;

void PrintComment(const std::string& indent, const std::string& text, std::string& out) {
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += fmt::format("{}#{}\n", indent, line);
    line.clear();
  };
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (indent.size() + 1 + line.size() + 1 + word.size() > kCommentColumns) flush();
    line += ' ';
    line.append(word.data(), word.size());
  }
  flush();
}

void PrintField(const ConfigNode& node, const ConfigText& text, const std::string& indent,
                std::string& out) {
  if (text.kind != ConfigText::Kind::kList) {
    out += fmt::format("{}{}: {}\n", indent, node.name, YamlScalar(text.items[0]));
    return;
  }
  if (text.items.empty()) {
    out += fmt::format("{}{}: []\n", indent, node.name);
    return;
  }
  out += fmt::format("{}{}:\n", indent, node.name);
  for (const std::string& item : text.items) {
    out += fmt::format("{}  - {}\n", indent, YamlScalar(item));
  }
}

void PrintSection(const ConfigNode& section, void* owner, const std::string& indent,
                  std::string& out) {
  bool first = true;
  for (const ConfigNode& child : section.children) {
    if (!first) out += '\n';
    first = false;
    if (!child.type.empty()) {
      PrintComment(indent, fmt::format("{} ({})", child.help, child.type), out);
      PrintField(child, child.get(owner), indent, out);
      continue;
    }
    PrintComment(indent, child.help, out);
    out += fmt::format("{}{}:\n", indent, child.name);
    PrintSection(child, child.locate(owner), indent + "  ", out);
  }
}

}  // namespace

std::string Print(const ConfigNode& root, const void* config) {
  std::string out;
  // locate() only computes an address; what it points at is not changed here.
  PrintSection(root, const_cast<void*>(config), "", out);
  return out;
}

std::vector<ConfigKey> Keys(const ConfigNode& root, const void* defaults) {
  std::vector<ConfigKey> keys;
  for (const ConfigLeaf& leaf : Leaves(root)) {
    const ConfigText text = leaf.node->get(leaf.Owner(const_cast<void*>(defaults)));
    keys.push_back({leaf.path, EnvironmentName(root.name, leaf.path), leaf.node->type,
                    absl::StrJoin(text.items, ","), leaf.node->help});
  }
  return keys;
}

}  // namespace config_internal
}  // namespace headrace
