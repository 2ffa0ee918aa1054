#include <vector>

#include "common/status.h"
#include "pipeline/graph/text/literals.h"
#include "pipeline/graph/text/printers.h"
#include "pipeline/graph/yaml/percent.h"

namespace headrace {
namespace {

constexpr size_t kWidth = 100;

struct Line {
  std::string key;
  std::string value;
};

std::string Flow(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) out += (out.empty() ? "" : ", ") + line.key + ": " + line.value;
  return "{" + out + "}";
}

// "`head`: {a: 1, b: 2}", or one line for each where that would be too long.
std::string Map(const std::string& head, const std::string& indent,
                const std::vector<Line>& lines) {
  const std::string flow = fmt::format("{}: {}\n", head, Flow(lines));
  if (flow.size() <= kWidth || lines.empty()) return flow;
  std::string out = head + ":\n";
  for (const Line& line : lines) out += fmt::format("{}{}: {}\n", indent, line.key, line.value);
  return out;
}

absl::StatusOr<std::vector<Line>> Lines(const v1::ValueMap& params) {
  std::vector<Line> out;
  for (const v1::NamedValue& entry : params.entries()) {
    if (entry.name().empty()) return InvalidArgument("a parameter has no name");
    out.push_back({YamlText(entry.name()), YamlLiteral(entry.value())});
  }
  return out;
}

absl::StatusOr<std::string> SourceYaml(const v1::Source& source) {
  std::vector<Line> lines;
  v1::Value files;
  for (const std::string& file : source.files()) files.mutable_list()->add_items()->set_text(file);
  if (source.files_size() == 1) lines.push_back({"files", YamlText(source.files(0))});
  if (source.files_size() > 1) lines.push_back({"files", YamlLiteral(files)});
  if (!source.format().empty()) lines.push_back({"format", YamlText(source.format())});
  HR_ASSIGN_OR_RETURN(const std::vector<Line> params, Lines(source.params()));
  for (const Line& line : params) {
    if (line.key == "files" || line.key == "format") {
      return InvalidArgument("the source has a parameter named '{}'", line.key);
    }
    lines.push_back(line);
  }
  return Map("source", "  ", lines);
}

// True when the step is its map_param and nothing else, and that can't be taken for parameters by
// name.
bool IsShort(const v1::ValueMap& params, const OpSpec& spec) {
  if (params.entries_size() != 1) return false;
  for (const v1::NamedValue& entry : params.entries(0).value().map().entries()) {
    if (entry.name() == spec.map_param && entry.value().kind_case() == v1::Value::kMap)
      return false;
  }
  return true;
}

absl::StatusOr<std::string> StepYaml(const v1::Step& step, const OpSpec& spec) {
  const std::string head = "  - " + YamlText(step.op());
  const v1::ValueMap& params = step.params();
  if (params.entries_size() == 0) return head + "\n";
  const v1::NamedValue& first = params.entries(0);
  const bool alone = params.entries_size() == 1;
  if (!spec.map_param.empty()) {
    bool has_map = false;
    for (const v1::NamedValue& entry : params.entries()) {
      has_map = has_map ||
                (entry.name() == spec.map_param && entry.value().kind_case() == v1::Value::kMap);
    }
    if (!has_map) {
      return InvalidArgument("step '{}' can't be written in YAML without a map '{}'", step.op(),
                             spec.map_param);
    }
    const v1::ValueMap& shown = IsShort(params, spec) ? first.value().map() : params;
    HR_ASSIGN_OR_RETURN(const std::vector<Line> lines, Lines(shown));
    return Map(head, "      ", lines);
  }
  const auto kind = first.value().kind_case();
  const bool fits =
      kind != v1::Value::kMap && kind != v1::Value::kNone && kind != v1::Value::KIND_NOT_SET;
  if (alone && fits && first.name() == spec.bare_param) {
    return fmt::format("{}: {}\n", head, YamlLiteral(first.value()));
  }
  HR_ASSIGN_OR_RETURN(const std::vector<Line> lines, Lines(params));
  return Map(head, "      ", lines);
}

std::string ErrorsYaml(const v1::ErrorPolicy& errors) {
  if (errors.on_error() == v1::ON_ERROR_UNSPECIFIED) return "";
  if (errors.on_error() == v1::ON_ERROR_FAIL) return "on_error: fail\n";
  std::string out = "on_error: skip\n";
  const std::string count = std::to_string(errors.max_errors());
  const std::string percent = PercentFromFraction(errors.max_error_fraction());
  const bool has_fraction = errors.max_error_fraction() > 0;
  if (errors.max_errors() > 0 && has_fraction) {
    out += fmt::format("max_errors: [{}, {}]\n", count, percent);
  } else if (errors.max_errors() > 0 || has_fraction) {
    out += fmt::format("max_errors: {}\n", has_fraction ? percent : count);
  }
  return out;
}

std::string OptimizeYaml(const v1::PipelineDef& def) {
  if (def.disabled_passes_size() == 0) return "";
  if (def.disabled_passes_size() == 1 && def.disabled_passes(0) == "all")
    return "optimize: false\n";
  std::vector<Line> lines;
  for (const std::string& pass : def.disabled_passes()) lines.push_back({YamlText(pass), "false"});
  return Map("optimize", "  ", lines);
}

}  // namespace

absl::StatusOr<std::string> PrintYaml(const v1::PipelineDef& def, const OpRegistry& ops) {
  std::string out;
  if (!def.name().empty()) out += fmt::format("name: {}\n", YamlText(def.name()));
  if (def.seed() != 0) out += fmt::format("seed: {}\n", def.seed());
  HR_ASSIGN_OR_RETURN(const std::string source, SourceYaml(def.source()));
  out += source;
  if (def.steps_size() > 0) out += "steps:\n";
  for (const v1::Step& step : def.steps()) {
    HR_ASSIGN_OR_RETURN(const OpSpec* spec, ops.Find(step.op()));
    HR_ASSIGN_OR_RETURN(const std::string text, StepYaml(step, *spec));
    out += text;
  }
  return out + ErrorsYaml(def.errors()) + OptimizeYaml(def);
}

}  // namespace headrace
