// Whatever reads as a pipeline prints as YAML, and that reads back as the same pipeline.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pipeline/graph/test_ops.h"
#include "pipeline/graph/text/printers.h"
#include "pipeline/graph/yaml/yaml_reader.h"

namespace {

headrace::v1::PipelineDef WithoutLocations(headrace::v1::PipelineDef def) {
  def.mutable_source()->clear_location();
  for (headrace::v1::Step& step : *def.mutable_steps()) step.clear_location();
  return def;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headrace::OpRegistry* ops = new headrace::OpRegistry(headrace::test_ops::Registry());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto def = headrace::ReadYaml(text, "fuzz.yaml", {*ops});
  if (!def.ok()) return 0;
  const auto yaml = headrace::PrintYaml(*def, *ops);
  if (!yaml.ok()) std::abort();
  const auto back = headrace::ReadYaml(*yaml, "printed.yaml", {*ops});
  if (!back.ok()) std::abort();
  // As bytes, in which NaN equals itself.
  std::string first;
  std::string second;
  WithoutLocations(*def).SerializeToString(&first);
  WithoutLocations(*back).SerializeToString(&second);
  if (first != second && headrace::PrintYaml(*back, *ops).value() != *yaml) std::abort();
  return 0;
}
