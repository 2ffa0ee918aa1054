// A YAML document as plain values with line numbers: all that the rest of config/ knows of YAML.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/value.h"

namespace headrace {

struct YamlNode {
  struct Entry;
  int line = 0;
  ConfigText text;
  std::vector<Entry> entries;  // of a section, in order
};
struct YamlNode::Entry {
  std::string key;
  int line = 0;  // the key's
  YamlNode value;
};

// One document whose lists hold only scalars. An empty one is an empty section. Errors are
// INVALID_ARGUMENT and begin with "path:line: ": syntax, a second document, a key given twice,
// nesting over 32 levels, over 100,000 values.
absl::StatusOr<YamlNode> ParseYaml(const std::string& path, const std::string& yaml);

// A scalar as YAML writes it: quoted where it would be read as something else.
std::string YamlScalar(const std::string& text);

}  // namespace headrace
