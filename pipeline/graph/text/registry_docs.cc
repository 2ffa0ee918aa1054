#include "pipeline/graph/text/registry_docs.h"

#include <vector>

#include "fmt/core.h"
#include "pipeline/graph/text/literals.h"
#include "pipeline/graph/text/printers.h"

namespace headrace {
namespace {

constexpr std::string_view kMadeBy =
    "Made by hr_registry_docs from the declarations in the code. Do not edit.";

// For a cell of a Markdown table.
std::string TableCell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '<') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string ParamTable(const std::vector<ParamSpec>& params) {
  if (params.empty()) return "No parameters.\n";
  std::string out = "| parameter | type | default | meaning |\n|---|---|---|---|\n";
  for (const ParamSpec& param : params) {
    const bool none = param.default_value.kind_case() == v1::Value::kNone;
    const std::string value = param.required ? "required"
                              : none         ? ""
                                     : fmt::format("`{}`", YamlLiteral(param.default_value));
    out += fmt::format("| `{}` | {} | {} | {} |\n", param.name, Name(param.type), TableCell(value),
                       TableCell(param.help));
  }
  return out;
}

std::string StepSection(const OpSpec& op) {
  std::string out = fmt::format("\n### {}\n\n{}\n\n{}", op.name, op.help, ParamTable(op.params));
  if (!op.bare_param.empty()) {
    out += fmt::format("\n`- {}: VALUE` is short for `- {}: {{{}: VALUE}}`.\n", op.name, op.name,
                       op.bare_param);
  }
  if (!op.map_param.empty()) {
    out += fmt::format("\nThe map under `{}` is the parameter `{}` itself.", op.name, op.map_param);
    if (op.params.size() > 1) {
      out += fmt::format(" With others: `- {}: {{{}: {{...}}, ...}}`.", op.name, op.map_param);
    }
    out += "\n";
  }
  return out;
}

std::string FormatSection(const FormatWords& format) {
  std::string out = fmt::format("\n### {}\n\n{}", format.name, format.help);
  std::string extensions;
  for (const std::string& extension : format.extensions) {
    extensions += fmt::format("{}`{}`", extensions.empty() ? "" : ", ", extension);
  }
  if (!extensions.empty())
    out += fmt::format(" Taken for {} where a source names no format.", extensions);
  return out + "\n\n" + ParamTable(format.params);
}

std::string PythonType(const ParamSpec& param) {
  switch (param.type) {
    case ParamType::kBool:
      return "bool";
    case ParamType::kInt:
      return "int";
    case ParamType::kFloat:
      return "float";
    case ParamType::kString:
      return "str | bytes";
    case ParamType::kIntList:
      return "int | Sequence[int]";
    case ParamType::kFloatList:
      return "float | Sequence[float]";
    case ParamType::kStringList:
      return "str | Sequence[str]";
    case ParamType::kStringMap:
      return "Mapping[str, str]";
  }
  return "Any";
}

// "size: int", "seed: int | None = None", "drop_remainder: bool = False".
std::string PythonParam(const ParamSpec& param) {
  if (param.required) return fmt::format("{}: {}", param.name, PythonType(param));
  const bool none = param.default_value.kind_case() == v1::Value::kNone;
  return fmt::format("{}: {}{} = {}", param.name, PythonType(param), none ? " | None" : "",
                     PythonLiteral(param.default_value));
}

// `first` and the arguments behind it (`starred`: a `*` is in it). A required parameter behind an
// optional one can only be given by name; one whose name is a word of Python only through **kwargs.
std::string PythonParams(std::string first, const std::vector<const ParamSpec*>& params,
                         bool starred) {
  std::string out = std::move(first);
  bool optional = false;
  bool others = false;
  const auto add = [&out](std::string_view item) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", item);
  };
  for (const ParamSpec* param : params) {
    if (!IsPythonName(param->name)) {
      others = true;
      continue;
    }
    if (!starred && optional && param->required) {
      add("*");
      starred = true;
    }
    optional = optional || !param->required;
    add(PythonParam(*param));
  }
  if (others) add("**kwargs: Any");
  return out;
}

// A docstring: help, then each parameter.
std::string Docstring(std::string_view indent, std::string_view help,
                      const std::vector<const ParamSpec*>& params) {
  const auto safe = [](std::string_view text) {
    std::string out;
    for (char c : text) {
      if (c == '\\' || c == '"') out += '\\';
      out += c;
    }
    return out;
  };
  std::string out = fmt::format("{}\"\"\"{}", indent, safe(help));
  if (!params.empty()) {
    out += fmt::format("\n\n{}Args:\n", indent);
    for (const ParamSpec* param : params)
      out += fmt::format("{}    {}: {}\n", indent, param->name, safe(param->help));
    out += indent;
  }
  return out + "\"\"\"\n";
}

// Keywords, or a dictionary and the other parameters.
std::string MapMethod(const OpSpec& op) {
  std::vector<const ParamSpec*> others;
  for (const ParamSpec& param : op.params) {
    if (param.name != op.map_param) others.push_back(&param);
  }
  // A `*` needs a name behind it.
  bool named = false;
  for (const ParamSpec* param : others) named = named || IsPythonName(param->name);
  const std::string first =
      fmt::format("self, {}: Mapping[str, str], /{}", op.map_param, named ? ", *" : "");
  const std::string doc = Docstring("        ", op.help, PythonOrder(op));
  return fmt::format("\n    @overload\n    def {}(self, /, **kwargs: str) -> Self:\n{}", op.name,
                     doc) +
         fmt::format("\n    @overload\n    def {}({}) -> Self:\n{}", op.name,
                     PythonParams(first, others, true), doc);
}

std::string Method(const OpSpec& op) {
  if (!op.map_param.empty()) return MapMethod(op);
  const std::vector<const ParamSpec*> params = PythonOrder(op);
  return fmt::format("\n    def {}({}) -> Self:\n{}", op.name, PythonParams("self", params, false),
                     Docstring("        ", op.help, params));
}

std::string ReadOverload(const FormatWords& format) {
  std::vector<const ParamSpec*> params;
  for (const ParamSpec& param : format.params) params.push_back(&param);
  const std::string first =
      fmt::format("files: str | Sequence[str] = ..., *, format: Literal[{}]{}",
                  PythonText(format.name), format.extensions.empty() ? "" : " = ...");
  return fmt::format("\n@overload\ndef read({}) -> Pipeline:\n{}",
                     PythonParams(first, params, true), Docstring("    ", format.help, params));
}

}  // namespace

std::string StepsPage(std::span<const OpSpec* const> ops, std::span<const FormatWords> formats) {
  std::string out = fmt::format(
      "<!-- {} -->\n# Steps and formats\n\nWhat a pipeline may name. In Python each step is a "
      "method and each parameter an argument of the same name.\n\n## Steps\n",
      kMadeBy);
  std::string list;
  std::string sections;
  for (const OpSpec* op : ops) {
    if (op->internal) continue;
    list += fmt::format("| [{}](#{}) | {} |\n", op->name, op->name, TableCell(op->help));
    sections += StepSection(*op);
  }
  out += "\n| step | what it does |\n|---|---|\n" + list + sections;
  out +=
      "\n## Formats\n\nNamed by `source: {format: ...}`; the parameters stand beside `files` and "
      "`format`.\n";
  for (const FormatWords& format : formats) out += FormatSection(format);
  return out;
}

std::string PythonStub(std::span<const OpSpec* const> ops, std::span<const FormatWords> formats) {
  std::string out = fmt::format(
      "# {}\nfrom collections.abc import Mapping, Sequence\n"
      "from typing import Any, Literal, overload\n\n"
      "from typing_extensions import Self\n\nfrom headrace import Pipeline\n\nclass Steps:\n",
      kMadeBy);
  out +=
      "    \"\"\"One method per step; each returns a pipeline that is longer by that step.\"\"\"\n";
  for (const OpSpec* op : ops) {
    if (!op->internal && IsPythonName(op->name)) out += Method(*op);
  }
  for (const FormatWords& format : formats) out += ReadOverload(format);
  return out;
}

}  // namespace headrace
