// A Python function as a step of a pipeline names it, bound to the fields that it gets and returns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "element/schema.h"

namespace headrace {

enum class FunctionKind { kMap, kFilter, kFlatMap };
std::string_view Name(FunctionKind kind);

struct FunctionSpec {
  FunctionKind kind = FunctionKind::kMap;
  std::string function;  // "module:name"; of a pickled one, what messages call it
  std::string pickled;   // base64 of what cloudpickle makes of it; empty: imported by its name
  bool batched = false;  // gets many rows at once, stacked
  bool random = false;   // takes `rng`
  std::vector<std::string> needs;                     // packages: "numpy>=1.20"
  absl::Duration timeout = absl::InfiniteDuration();  // of one call
  size_t processes = 0;                               // 0: as many as the worker gives
  std::vector<Field> inputs;
  std::vector<Field> outputs;  // of a filter: none
};

// What the subprocess is told, and by which specs that may share subprocesses are known. `path`
// comes in front of Python's own.
std::string SpecJson(const FunctionSpec& spec, const std::vector<std::string>& path, int parent);

// "float32[?, 3]", "bytes", "int64[...]" (any rank): the type of a returned field. INVALID_ARGUMENT
// quotes it.
absl::StatusOr<Field> ParseReturnedField(std::string_view name, std::string_view type);

}  // namespace headrace
