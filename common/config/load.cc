// What of a config is read: YAML, then environment, then flags, then the checks.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <regex>

#include "common/config/config.h"
#include "common/config/names.h"
#include "common/config/yaml_tree.h"
#include "common/nearest.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

absl::Status At(std::string_view place, const absl::Status& status) {
  return Annotate(status, place);
}

std::string DidYouMean(const std::string& nearest) {
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

// Where else a key of this name would be right: "; 'memory' belongs in section 'cache'".
std::string BelongsElsewhere(const std::string& key, const std::vector<ConfigLeaf>& leaves) {
  for (const ConfigLeaf& leaf : leaves) {
    if (leaf.node->name != key) continue;
    if (leaf.path == key) return fmt::format("; '{}' belongs at the top level", key);
    return fmt::format("; '{}' belongs in section '{}'", key,
                       leaf.path.substr(0, leaf.path.size() - key.size() - 1));
  }
  return "";
}

class YamlReader {
 public:
  YamlReader(const std::string& path, const std::vector<ConfigLeaf>& leaves)
      : path_(path), leaves_(leaves) {}

  absl::Status Read(const ConfigNode& section, const std::string& name, const YamlNode& yaml,
                    void* owner) const {
    for (const YamlNode::Entry& entry : yaml.entries) {
      const ConfigNode* node = Child(section, entry.key);
      if (node == nullptr) return Unknown(section, name, entry);
      const std::string key = JoinedPath(name, entry.key);
      if (node->type.empty()) {
        const auto kind = entry.value.text.kind;
        if (kind == ConfigText::Kind::kNothing) continue;  // all of its keys are commented out
        if (kind != ConfigText::Kind::kSection) {
          return InvalidArgument("{}:{}: {}: expected a section, found {}", path_, entry.line, key,
                                 Found(entry.value.text));
        }
        HR_RETURN_IF_ERROR(Read(*node, key, entry.value, node->locate(owner)));
      } else {
        HR_RETURN_IF_ERROR(At(fmt::format("{}:{}: {}", path_, entry.line, key),
                              node->set(owner, entry.value.text)));
      }
    }
    return absl::OkStatus();
  }

 private:
  static const ConfigNode* Child(const ConfigNode& section, const std::string& key) {
    for (const ConfigNode& child : section.children) {
      if (child.name == key) return &child;
    }
    return nullptr;
  }

  absl::Status Unknown(const ConfigNode& section, const std::string& name,
                       const YamlNode::Entry& entry) const {
    std::vector<std::string> known;
    for (const ConfigNode& child : section.children) known.push_back(child.name);
    std::string advice = BelongsElsewhere(entry.key, leaves_);
    if (advice.empty()) advice = DidYouMean(NearestWord(entry.key, known));
    return InvalidArgument("{}:{}: unknown key '{}'{}{}", path_, entry.line, entry.key,
                           name.empty() ? "" : fmt::format(" in section '{}'", name), advice);
  }

  const std::string& path_;
  const std::vector<ConfigLeaf>& leaves_;
};

// Kubernetes sets such variables for every service of the namespace: one called headrace-worker
// gives HEADRACE_WORKER_PORT=tcp://10.0.0.1:5051 and its like.
bool IsKubernetesServiceLink(const std::string& name, const std::string& value) {
  static const std::regex* const pattern = new std::regex(
      "HEADRACE_.*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_.*)?)");
  if (std::regex_match(name, *pattern)) return true;
  return name.ends_with("_PORT") && value.find("://") != std::string::npos;
}

absl::Status ReadEnvironment(const ConfigNode& root, const ConfigInput& input,
                             const std::vector<ConfigLeaf>& leaves, void* out) {
  const std::string prefix = EnvironmentName(root.name, "");
  for (const auto& [name, value] : input.env) {
    if (!name.starts_with(prefix)) continue;
    const ConfigLeaf* found = nullptr;
    std::vector<std::string> known;
    for (const ConfigLeaf& leaf : leaves) {
      known.push_back(EnvironmentName(root.name, leaf.path));
      if (known.back() == name) found = &leaf;
    }
    if (IsKubernetesServiceLink(name, value)) continue;
    if (found == nullptr) {
      return InvalidArgument("environment: unknown variable '{}'{}", name,
                             DidYouMean(NearestWord(name, known)));
    }
    HR_RETURN_IF_ERROR(
        At(fmt::format("environment: {}", name),
           found->node->set(found->Owner(out), {ConfigText::Kind::kScalar, {value}})));
  }
  return absl::OkStatus();
}

absl::Status ReadFlags(const ConfigInput& input, const std::vector<ConfigLeaf>& leaves, void* out) {
  for (const auto& [name, value] : input.flags) {
    std::string flag = name;  // as it is typed
    std::replace(flag.begin(), flag.end(), '_', '-');
    const ConfigLeaf* found = nullptr;
    std::vector<std::string> known;
    for (const ConfigLeaf& leaf : leaves) {
      known.push_back(leaf.path);
      if (leaf.path == name) found = &leaf;
    }
    if (found == nullptr) {
      const std::string nearest = NearestWord(name, known);
      return InvalidArgument("unknown flag --{}{}", name,
                             nearest.empty() ? "" : DidYouMean("--" + nearest));
    }
    HR_RETURN_IF_ERROR(
        At(fmt::format("--{}", flag),
           found->node->set(found->Owner(out), {ConfigText::Kind::kScalar, {value}})));
  }
  return absl::OkStatus();
}

absl::Status RunChecks(const ConfigNode& section, const std::string& name, void* owner) {
  for (const auto& check : section.checks) {
    const absl::Status status = check(owner);
    if (!status.ok()) return name.empty() ? status : At(name, status);
  }
  for (const ConfigNode& child : section.children) {
    if (!child.type.empty()) continue;
    HR_RETURN_IF_ERROR(RunChecks(child, JoinedPath(name, child.name), child.locate(owner)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ConfigInput> ReadConfigFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, fmt::format("open {}", path));
  ConfigInput input;
  input.path = path;
  input.yaml.resize(kMaxFileBytes + 1);
  file.read(input.yaml.data(), static_cast<std::streamsize>(input.yaml.size()));
  if (file.bad()) return ErrnoStatus(errno, fmt::format("read {}", path));
  input.yaml.resize(static_cast<size_t>(file.gcount()));
  if (input.yaml.size() > kMaxFileBytes) {
    return InvalidArgument("{}: larger than 1 MiB: this is no config file", path);
  }
  return input;
}

std::vector<NameValue> HeadraceEnvironment() {
  std::vector<NameValue> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (!text.starts_with("HEADRACE_") || equals == std::string_view::npos) continue;
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

namespace config_internal {

absl::Status Load(const ConfigNode& root, const ConfigInput& input, void* out) {
  const std::vector<ConfigLeaf> leaves = Leaves(root);
  HR_ASSIGN_OR_RETURN(const YamlNode yaml, ParseYaml(input.path, input.yaml));
  if (yaml.text.kind != ConfigText::Kind::kSection) {
    return InvalidArgument("{}:{}: expected keys and values, found {}", input.path, yaml.line,
                           Found(yaml.text));
  }
  HR_RETURN_IF_ERROR(YamlReader(input.path, leaves).Read(root, "", yaml, out));
  if (!root.name.empty()) HR_RETURN_IF_ERROR(ReadEnvironment(root, input, leaves, out));
  HR_RETURN_IF_ERROR(ReadFlags(input, leaves, out));
  return RunChecks(root, "", out);
}

}  // namespace config_internal
}  // namespace headrace
