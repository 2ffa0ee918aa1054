// A role's settings: declared once, with type and help, next to the struct that holds them. From
// the declaration come the reader of YAML, environment and flags, its errors, `--print-config` and
// the docs.
//
//   struct CacheConfig { ByteCount memory = GiB(1); };
//   struct WorkerConfig { std::string listen = "0.0.0.0:5051"; CacheConfig cache; };
//   ConfigSpec<CacheConfig> cache;
//   cache.Field("memory", &CacheConfig::memory, "bytes kept in memory");
//   ConfigSpec<WorkerConfig> spec("worker");
//   spec.Field("listen", &WorkerConfig::listen, "address:port to serve on")
//       .Section("cache", &WorkerConfig::cache, cache, "what is kept between epochs");
//   HR_ASSIGN_OR_RETURN(ConfigInput input, ReadConfigFile("configs/worker.yaml"));
//   input.env = HeadraceEnvironment();
//   HR_ASSIGN_OR_RETURN(WorkerConfig config, spec.Load(input));
//
// Precedence: flag > HEADRACE_WORKER_CACHE_MEMORY > YAML > the default that the struct has. Used by
// main, in one thread. Errors are INVALID_ARGUMENT and name the place: "configs/worker.yaml:7:
// unknown key 'lisen'; did you mean 'listen'?".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/value.h"

namespace headrace {

using NameValue = std::pair<std::string, std::string>;

struct ConfigInput {
  std::string path = {};  // how errors call the YAML
  std::string yaml = {};
  std::vector<NameValue> env = {};  // HEADRACE_* of the environment
  std::vector<NameValue> flags =
      {};  // "cache.memory" -> "2GiB"; errors call it --cache.memory; the last one wins
};

// Path and text of a file, at most 1 MiB.
absl::StatusOr<ConfigInput> ReadConfigFile(const std::string& path);

// The variables of this process whose names begin with HEADRACE_.
std::vector<NameValue> HeadraceEnvironment();

// A field or section without its type.
struct ConfigNode {
  std::string name;
  std::string help;
  std::string type;  // "duration, at least 1s"; empty: a section
  std::function<absl::Status(void*, const ConfigText&)>
      set;  // a field's: in the struct that owns it
  std::function<ConfigText(const void*)> get;
  std::vector<ConfigNode> children;    // a section's
  std::function<void*(void*)> locate;  // a section's: from the struct that owns it to its own
  std::vector<std::function<absl::Status(const void*)>> checks;
};

// One settable key, for docs and command lines.
struct ConfigKey {
  std::string path;  // cache.memory
  std::string env;   // HEADRACE_WORKER_CACHE_MEMORY
  std::string type;
  std::string default_value;  // as it would be written; lists joined by commas
  std::string help;
};

namespace config_internal {
void CheckSpec(const ConfigNode& root);  // asserts: names are snake_case, and no two keys have one
                                         // environment name
absl::Status Load(const ConfigNode& root, const ConfigInput& input, void* out);
std::string Print(const ConfigNode& root, const void* config);
std::vector<ConfigKey> Keys(const ConfigNode& root, const void* defaults);
}  // namespace config_internal

template <typename T>
class ConfigSpec {
 public:
  // The root's name begins the environment names; a section's spec needs none.
  explicit ConfigSpec(std::string name = "") { root_.name = std::move(name); }

  template <typename V>
  ConfigSpec& Field(std::string name, V T::* member, std::string help,
                    std::type_identity_t<ConfigRule<V>> rule = {}) {
    ConfigNode node;
    node.name = std::move(name);
    node.help = std::move(help);
    node.type = std::string(TypeName(V{}));
    if (!rule.text.empty()) node.type += ", " + rule.text;
    node.get = [member](const void* t) { return ToText(static_cast<const T*>(t)->*member); };
    node.set = [member, rule = std::move(rule)](void* t, const ConfigText& text) {
      V value{};
      if (absl::Status s = FromText(text, value); !s.ok()) return s;
      if (rule.holds && !rule.holds(value)) {
        return absl::InvalidArgumentError("expected " + rule.text + ", found " + Found(text));
      }
      static_cast<T*>(t)->*member = std::move(value);
      return absl::OkStatus();
    };
    root_.children.push_back(std::move(node));
    config_internal::CheckSpec(root_);
    return *this;
  }

  template <typename S>
  ConfigSpec& Section(std::string name, S T::* member, const ConfigSpec<S>& spec,
                      std::string help) {
    ConfigNode node = spec.root();
    node.name = std::move(name);
    node.help = std::move(help);
    node.locate = [member](void* t) -> void* { return &(static_cast<T*>(t)->*member); };
    root_.children.push_back(std::move(node));
    config_internal::CheckSpec(root_);
    return *this;
  }

  // The default of every field, where it is not T{}'s.
  ConfigSpec& Defaults(T defaults) {
    defaults_ = std::move(defaults);
    return *this;
  }

  // What one field alone cannot say. Runs when everything is read; the error names the fields.
  ConfigSpec& Check(std::function<absl::Status(const T&)> check) {
    root_.checks.push_back(
        [check = std::move(check)](const void* t) { return check(*static_cast<const T*>(t)); });
    return *this;
  }

  absl::StatusOr<T> Load(const ConfigInput& input) const {
    T out = defaults_;
    if (absl::Status s = config_internal::Load(root_, input, &out); !s.ok()) return s;
    return out;
  }

  // YAML with the help as comments; Load gives the same config back.
  std::string Print(const T& config) const { return config_internal::Print(root_, &config); }

  std::vector<ConfigKey> Keys() const { return config_internal::Keys(root_, &defaults_); }

  const ConfigNode& root() const { return root_; }

 private:
  ConfigNode root_;
  T defaults_{};
};

}  // namespace headrace
