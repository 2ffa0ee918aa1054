#include "fmt/core.h"
#include "pipeline/graph/text/literals.h"
#include "pipeline/graph/text/printers.h"

namespace headrace {
namespace {

constexpr std::string_view kIndent = "                           .";

std::string ParamsCpp(const v1::ValueMap& params) {
  if (params.entries_size() == 0) return "";
  std::string out;
  for (const v1::NamedValue& entry : params.entries()) {
    out += fmt::format("{}{{{}, {}}}", out.empty() ? "" : ", ", CppText(entry.name()),
                       CppLiteral(entry.value()));
  }
  return fmt::format(", {{{}}}", out);
}

std::string ErrorsCpp(const v1::ErrorPolicy& errors) {
  if (errors.on_error() == v1::ON_ERROR_FAIL) return fmt::format("{}FailOnErrors()\n", kIndent);
  if (errors.on_error() != v1::ON_ERROR_SKIP) return "";
  std::string bounds = errors.max_errors() > 0 ? std::to_string(errors.max_errors()) : "";
  if (errors.max_error_fraction() > 0) {
    bounds = fmt::format("{}, {}", errors.max_errors(),
                         NumberText(errors.max_error_fraction(), "1", "1"));
  }
  return fmt::format("{}SkipErrors({})\n", kIndent, bounds);
}

}  // namespace

std::string PrintCpp(const v1::PipelineDef& def) {
  std::string out = fmt::format("v1::PipelineDef def = PipelineBuilder({})\n",
                                def.name().empty() ? "" : CppText(def.name()));
  if (def.seed() != 0) out += fmt::format("{}Seed({}u)\n", kIndent, def.seed());
  std::string files;
  for (const std::string& file : def.source().files())
    files += (files.empty() ? "" : ", ") + CppText(file);
  out += fmt::format("{}Read({{{}}}, {}{})\n", kIndent, files, CppText(def.source().format()),
                     ParamsCpp(def.source().params()));
  for (const v1::Step& step : def.steps()) {
    out += fmt::format("{}Step({}{})\n", kIndent, CppText(step.op()), ParamsCpp(step.params()));
  }
  out += ErrorsCpp(def.errors());
  for (const std::string& pass : def.disabled_passes()) {
    out += fmt::format("{}WithoutPass({})\n", kIndent, CppText(pass));
  }
  return out + fmt::format("{}Build();\n", kIndent);
}

}  // namespace headrace
