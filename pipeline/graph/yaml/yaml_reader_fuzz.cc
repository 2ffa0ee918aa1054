// Any bytes are a pipeline or an error of one line; nothing crashes, hangs or throws.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pipeline/graph/test_ops.h"
#include "pipeline/graph/yaml/yaml_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const headrace::OpRegistry* ops = new headrace::OpRegistry(headrace::test_ops::Registry());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto def = headrace::ReadYaml(text, "fuzz.yaml", {*ops});
  if (!def.ok() && def.status().message().empty()) std::abort();
  return 0;
}
