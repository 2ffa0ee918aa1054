#include "common/config/yaml_tree.h"

#include <yaml-cpp/yaml.h>

#include <exception>
#include <string_view>

#include "common/status.h"

namespace headrace {
namespace {

constexpr int kMaxDepth = 32;
constexpr int kMaxValues = 100'000;  // aliases of aliases would grow without end

int Line(const YAML::Mark& mark) { return mark.line + 1; }

class TreeBuilder {
 public:
  explicit TreeBuilder(const std::string& path) : path_(path) {}

  absl::StatusOr<YamlNode> Build(const YAML::Node& node, int depth) {
    YamlNode out;
    out.line = Line(node.Mark());
    if (depth > kMaxDepth) return At(out.line, "nested more than 32 levels deep");
    if (++values_ > kMaxValues) return At(out.line, "more than 100,000 values");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        out.text = {ConfigText::Kind::kScalar, {node.Scalar()}};
        return out;
      case YAML::NodeType::Sequence:
        HR_RETURN_IF_ERROR(AddItems(node, out));
        return out;
      case YAML::NodeType::Map:
        HR_RETURN_IF_ERROR(AddEntries(node, depth, out));
        return out;
      default:
        return out;
    }
  }

 private:
  absl::Status At(int line, std::string_view what) const {
    return InvalidArgument("{}:{}: {}", path_, line, what);
  }

  absl::Status AddItems(const YAML::Node& node, YamlNode& out) {
    out.text.kind = ConfigText::Kind::kList;
    for (const YAML::Node& item : node) {
      const int line = Line(item.Mark());
      if (!item.IsScalar()) return At(line, "expected text in the list, found something nested");
      if (++values_ > kMaxValues) return At(line, "more than 100,000 values");
      out.text.items.push_back(item.Scalar());
    }
    return absl::OkStatus();
  }

  absl::Status AddEntries(const YAML::Node& node, int depth, YamlNode& out) {
    out.text.kind = ConfigText::Kind::kSection;
    for (const auto& pair : node) {
      const int line = Line(pair.first.Mark());
      if (!pair.first.IsScalar()) return At(line, "a key must be a word");
      const std::string& key = pair.first.Scalar();
      for (const YamlNode::Entry& earlier : out.entries) {
        if (earlier.key != key) continue;
        return At(line, fmt::format("'{}' is given twice, first in line {}", key, earlier.line));
      }
      HR_ASSIGN_OR_RETURN(YamlNode value, Build(pair.second, depth + 1));
      out.entries.push_back({key, line, std::move(value)});
    }
    return absl::OkStatus();
  }

  const std::string& path_;
  int values_ = 0;
};

bool IsPlain(const std::string& text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  const auto alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (!alphanumeric(text.front()) && text.front() != '/') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (alphanumeric(c) || c == '_' || c == '/' || c == '.' || c == '-' || c == '+') continue;
    if (c == ':' && i + 1 < text.size()) continue;  // "host:port"; the next character is no space
    return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<YamlNode> ParseYaml(const std::string& path, const std::string& yaml) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(yaml);
    if (documents.size() > 1) {
      return InvalidArgument("{}:{}: a second document begins; one is expected", path,
                             Line(documents[1].Mark()));
    }
    YamlNode root;
    if (!documents.empty()) {
      HR_ASSIGN_OR_RETURN(root, TreeBuilder(path).Build(documents[0], 0));
    }
    if (root.text.kind == ConfigText::Kind::kNothing) root.text.kind = ConfigText::Kind::kSection;
    return root;
  } catch (const YAML::Exception& error) {
    return InvalidArgument("{}:{}: {}", path, Line(error.mark), error.msg);
  } catch (const std::exception& error) {
    return InvalidArgument("{}: {}", path, error.what());
  }
}

std::string YamlScalar(const std::string& text) {
  if (IsPlain(text)) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace headrace
