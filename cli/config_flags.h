// The flags of a role: --config, --print-config, and one flag per key of its config
// (--connect-timeout, --log.level).
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "common/config/config.h"
#include "common/status.h"

namespace headrace {

template <typename T>
class ConfigFlags {
 public:
  explicit ConfigFlags(ConfigSpec<T> spec) : spec_(std::move(spec)) {}

  void Declare(CLI::App& app) {
    app.add_option("--config", path_, "YAML file with these settings");
    app.add_flag("--print-config", print_, "print the settings in force, as YAML, and end");
    for (const ConfigKey& key : spec_.Keys()) {
      std::string dashed = key.path;
      std::replace(dashed.begin(), dashed.end(), '_', '-');
      app.add_option_function<std::string>(
             "--" + dashed,
             [this, path = key.path](const std::string& v) { flags_.emplace_back(path, v); },
             key.help)
          ->type_name(key.type)
          ->default_str(key.default_value)
          ->group("Settings (flag > environment > --config > default)");
    }
  }

  // Flag > HEADRACE_* > file > default. A setting that cannot be is a UsageError, wherever it was
  // given.
  absl::StatusOr<T> Load() const {
    absl::StatusOr<T> config = Read();
    if (!absl::IsInvalidArgument(config.status())) return config;
    return UsageError(std::string(config.status().message()));
  }

  bool print() const { return print_; }
  std::string Print(const T& config) const { return spec_.Print(config); }

 private:
  absl::StatusOr<T> Read() const {
    ConfigInput input;
    if (!path_.empty()) {
      HR_ASSIGN_OR_RETURN(input, ReadConfigFile(path_));
    }
    input.env = HeadraceEnvironment();
    input.flags = flags_;
    return spec_.Load(input);
  }

  const ConfigSpec<T> spec_;
  std::string path_;
  bool print_ = false;
  std::vector<NameValue> flags_;
};

}  // namespace headrace
