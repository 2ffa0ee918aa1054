#include <vector>

#include "common/status.h"
#include "element/dtype.h"
#include "pipeline/graph/text/literals.h"
#include "pipeline/graph/text/printers.h"
#include "pipeline/graph/yaml/percent.h"

namespace headrace {
namespace {

using Arguments = std::vector<std::string>;

std::string Call(const std::string& name, const Arguments& arguments) {
  std::string out;
  for (const std::string& argument : arguments) out += (out.empty() ? "" : ", ") + argument;
  return fmt::format("{}({})", name, out);
}

// `name=value`, or `**{"name": value}` where Python would not take the name.
std::string Keyword(const std::string& name, const std::string& value) {
  if (IsPythonName(name)) return fmt::format("{}={}", name, value);
  return fmt::format("**{{{}: {}}}", PythonText(name), value);
}

// Types have names of their own in the package: hr.bytes_, hr.bool_ (as NumPy's), hr.int64.
std::string TypeOrLiteral(const v1::Value& value) {
  if (value.kind_case() != v1::Value::kText || !ParseDType(value.text()).ok())
    return PythonLiteral(value);
  const bool shadows = value.text() == "bytes" || value.text() == "bool";
  return fmt::format("hr.{}{}", value.text(), shadows ? "_" : "");
}

// Of a step with map_param: keywords where that is possible, else a dictionary and the other
// parameters.
Arguments MapArguments(const v1::ValueMap& params, const OpSpec& spec, const v1::ValueMap& map) {
  Arguments items;
  bool words = params.entries_size() == 1 && map.entries_size() > 0;
  for (const v1::NamedValue& entry : map.entries()) words = words && IsPythonName(entry.name());
  for (const v1::NamedValue& entry : map.entries()) {
    const std::string value = TypeOrLiteral(entry.value());
    items.push_back(words ? fmt::format("{}={}", entry.name(), value)
                          : fmt::format("{}: {}", PythonText(entry.name()), value));
  }
  if (words) return items;
  std::string all;
  for (const std::string& item : items) all += (all.empty() ? "" : ", ") + item;
  Arguments out = {fmt::format("{{{}}}", all)};
  for (const v1::NamedValue& entry : params.entries()) {
    if (entry.name() != spec.map_param)
      out.push_back(Keyword(entry.name(), PythonLiteral(entry.value())));
  }
  return out;
}

const v1::Value* Find(const v1::ValueMap& params, std::string_view name) {
  for (const v1::NamedValue& entry : params.entries()) {
    if (entry.name() == name) return &entry.value();
  }
  return nullptr;
}

// The parameters that are clear without their names: the one that YAML takes bare and required
// ones; of more than two required ones, as mean and std of normalize, only the first.
std::vector<const ParamSpec*> Positional(const OpSpec& spec) {
  std::vector<const ParamSpec*> out;
  size_t required = 0;
  for (const ParamSpec& param : spec.params) required += param.required ? 1 : 0;
  for (const ParamSpec* param : PythonOrder(spec)) {
    if (!param->required && param->name != spec.bare_param) break;
    if (required > 2 && !out.empty()) break;
    out.push_back(param);
  }
  return out;
}

absl::StatusOr<std::string> StepPython(const v1::Step& step, const OpSpec& spec) {
  const v1::ValueMap& params = step.params();
  if (!spec.map_param.empty() && params.entries_size() > 0) {
    const v1::Value* map = Find(params, spec.map_param);
    if (map == nullptr || map->kind_case() != v1::Value::kMap) {
      return InvalidArgument("step '{}' can't be written in Python without a map '{}'", step.op(),
                             spec.map_param);
    }
    return Call(step.op(), MapArguments(params, spec, map->map()));
  }
  Arguments arguments;
  std::vector<std::string_view> done;
  for (const ParamSpec* param : Positional(spec)) {
    const v1::Value* value = Find(params, param->name);
    if (value == nullptr) break;
    arguments.push_back(PythonLiteral(*value));
    done.push_back(param->name);
  }
  for (const v1::NamedValue& entry : params.entries()) {
    bool given = false;
    for (std::string_view name : done) given = given || name == entry.name();
    if (!given) arguments.push_back(Keyword(entry.name(), PythonLiteral(entry.value())));
  }
  return Call(step.op(), arguments);
}

std::string SourcePython(const v1::Source& source) {
  Arguments arguments;
  v1::Value files;
  for (const std::string& file : source.files()) files.mutable_list()->add_items()->set_text(file);
  if (source.files_size() == 1) arguments.push_back(PythonText(source.files(0)));
  if (source.files_size() > 1) arguments.push_back(PythonLiteral(files));
  if (!source.format().empty()) arguments.push_back("format=" + PythonText(source.format()));
  for (const v1::NamedValue& entry : source.params().entries()) {
    arguments.push_back(Keyword(entry.name(), PythonLiteral(entry.value())));
  }
  return Call("hr.read", arguments);
}

std::string MaxErrors(const v1::ErrorPolicy& errors) {
  const std::string count = std::to_string(errors.max_errors());
  const std::string percent = "\"" + PercentFromFraction(errors.max_error_fraction()) + "\"";
  if (errors.max_error_fraction() <= 0) return count;
  return errors.max_errors() > 0 ? fmt::format("[{}, {}]", count, percent) : percent;
}

Arguments Options(const v1::PipelineDef& def) {
  Arguments out;
  if (!def.name().empty()) out.push_back("name=" + PythonText(def.name()));
  if (def.seed() != 0) out.push_back(fmt::format("seed={}", def.seed()));
  const v1::ErrorPolicy& errors = def.errors();
  if (errors.on_error() == v1::ON_ERROR_FAIL) out.push_back("on_error=\"fail\"");
  if (errors.on_error() == v1::ON_ERROR_SKIP) out.push_back("on_error=\"skip\"");
  if (errors.max_errors() > 0 || errors.max_error_fraction() > 0)
    out.push_back("max_errors=" + MaxErrors(errors));
  if (def.disabled_passes_size() == 1 && def.disabled_passes(0) == "all") {
    out.push_back("optimize=False");
  } else if (def.disabled_passes_size() > 0) {
    std::string passes;
    for (const std::string& pass : def.disabled_passes()) {
      passes += (passes.empty() ? "" : ", ") + PythonText(pass) + ": False";
    }
    out.push_back(fmt::format("optimize={{{}}}", passes));
  }
  return out;
}

}  // namespace

std::vector<const ParamSpec*> PythonOrder(const OpSpec& spec) {
  std::vector<const ParamSpec*> out;
  for (const ParamSpec& param : spec.params) {
    out.insert(param.name == spec.bare_param ? out.begin() : out.end(), &param);
  }
  return out;
}

absl::StatusOr<std::string> PrintPython(const v1::PipelineDef& def, const OpRegistry& ops) {
  std::string out = "import headrace as hr\n\nds = (\n    " + SourcePython(def.source()) + "\n";
  for (const v1::Step& step : def.steps()) {
    HR_ASSIGN_OR_RETURN(const OpSpec* spec, ops.Find(step.op()));
    HR_ASSIGN_OR_RETURN(const std::string call, StepPython(step, *spec));
    out += "    ." + call + "\n";
  }
  if (const Arguments options = Options(def); !options.empty())
    out += "    ." + Call("options", options) + "\n";
  return out + ")\n";
}

}  // namespace headrace
