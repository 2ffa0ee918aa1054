// headrace steps: the steps that a pipeline may name, with their parameters.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "fmt/core.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/graph/text/literals.h"

namespace headrace {
namespace {

bool HasDefault(const ParamSpec& param) {
  return !param.required && param.default_value.kind_case() != v1::Value::kNone;
}

class Steps final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("step", name_, "one step, with its parameters");
    app.add_option("--output", output_, "text or json")->check(CLI::IsMember({"text", "json"}));
  }

  absl::Status Run() override {
    OpRegistry registry;
    RegisterAll_ops(registry);
    std::vector<const OpSpec*> specs = registry.All();
    if (!name_.empty()) {
      absl::StatusOr<const OpSpec*> found = registry.Find(name_);
      if (!found.ok()) return found.status();
      specs = {*found};
    }
    nlohmann::json all = nlohmann::json::array();
    for (const OpSpec* spec : specs) {
      if (name_.empty() && spec->name.starts_with("_")) continue;  // made by rewrites only
      if (output_ == "json") {
        nlohmann::json params = nlohmann::json::array();
        for (const ParamSpec& p : spec->params) {
          params.push_back({{"name", p.name},
                            {"type", Name(p.type)},
                            {"required", p.required},
                            {"default", HasDefault(p) ? nlohmann::json(YamlLiteral(p.default_value))
                                                      : nlohmann::json()},
                            {"help", p.help}});
        }
        all.push_back({{"name", spec->name}, {"help", spec->help}, {"params", params}});
        continue;
      }
      std::printf("%-22s %s\n", spec->name.c_str(), spec->help.c_str());
      if (name_.empty()) continue;
      for (const ParamSpec& p : spec->params) {
        std::printf("  %-20s %-14s %s%s\n", p.name.c_str(), std::string(Name(p.type)).c_str(),
                    p.help.c_str(),
                    p.required ? " (required)"
                    : HasDefault(p)
                        ? fmt::format(" (default {})", YamlLiteral(p.default_value)).c_str()
                        : "");
      }
    }
    if (output_ == "json") std::printf("%s\n", all.dump(2).c_str());
    return absl::OkStatus();
  }

 private:
  std::string name_;
  std::string output_ = "text";
};

}  // namespace

void Register_steps(CommandList& commands) {
  commands.Add<Steps>("steps", "The steps that a pipeline may name, with their parameters");
}

}  // namespace headrace
