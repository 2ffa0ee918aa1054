// The steps that a pipeline may name. An object, filled by RegisterAllOps (generated from the files
// of pipeline/ops/); no global state.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/graph/op.h"
#include "pipeline/graph/params.h"

namespace headrace {

struct OpSpec {
  std::string name;
  std::string help;  // one line
  std::vector<ParamSpec> params;
  // When set, the whole YAML map of the step is this StringMap parameter: `parse_example: {image:
  // bytes}`. A map in which this name itself has a map gives parameters by name, as elsewhere:
  // `parse_example: {features: {image: bytes}, field: example}`.
  std::string map_param;
  // When set, a bare scalar or list is this parameter: `take: 100`, `select: [image]`; also
  // Python's positional order starts with it.
  std::string bare_param;
  // Part of every fingerprint: raised when the same parameters start to give other records.
  int version = 1;
  // Made by optimizer passes only; a pipeline may not name it, and the docs do not list it.
  bool internal = false;
  std::function<absl::StatusOr<std::unique_ptr<Op>>(const v1::ValueMap&)> make;
};

class OpRegistry {
 public:
  // `make_op` gets the parsed parameters and may refuse their values (INVALID_ARGUMENT).
  template <typename P>
  OpSpec& Add(std::string name, std::string help, ParamSet<P> params,
              std::function<absl::StatusOr<std::unique_ptr<Op>>(P)> make_op) {
    OpSpec spec;
    spec.name = std::move(name);
    spec.help = std::move(help);
    spec.params = params.specs();
    spec.make = [params = std::move(params), make_op = std::move(make_op)](
                    const v1::ValueMap& given) -> absl::StatusOr<std::unique_ptr<Op>> {
      absl::StatusOr<P> parsed = params.Parse(given);
      if (!parsed.ok()) return parsed.status();
      return make_op(*std::move(parsed));
    };
    return Insert(std::move(spec));
  }

  // INVALID_ARGUMENT with the nearest known name.
  absl::StatusOr<const OpSpec*> Find(std::string_view name) const;
  // In alphabetical order.
  std::vector<const OpSpec*> All() const;

 private:
  OpSpec& Insert(OpSpec spec);
  std::map<std::string, OpSpec, std::less<>> ops_;
};

// Every step of pipeline/ops/ (generated; link hr_ops).
void RegisterAll_ops(OpRegistry& registry);

}  // namespace headrace
