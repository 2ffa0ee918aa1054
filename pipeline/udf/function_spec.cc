#include "pipeline/udf/function_spec.h"

#include <charconv>
#include <utility>

#include "common/status.h"
#include "nlohmann/json.hpp"

namespace headrace {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

absl::StatusOr<int64_t> ParseDim(std::string_view text) {
  if (text == "?" || text == "None") return Shape::kDynamic;
  int64_t dim = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
  if (error != std::errc() || end != text.data() + text.size() || dim < 0) {
    return InvalidArgument("'{}' is no dimension: a number, or ? for one that varies", text);
  }
  return dim;
}

absl::StatusOr<Shape> ParseDims(std::string_view text) {
  if (text == "...") return Shape::Unknown();
  if (text.empty()) return Shape{Shape::kDynamic};  // "int64[]": a list of any length
  std::vector<int64_t> dims;
  while (true) {
    const size_t comma = text.find(',');
    HR_ASSIGN_OR_RETURN(const int64_t dim, ParseDim(Trim(text.substr(0, comma))));
    dims.push_back(dim);
    if (dims.size() > Shape::kMaxRank)
      return InvalidArgument("more than {} dimensions", Shape::kMaxRank);
    if (comma == std::string_view::npos) return Shape(dims);
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string_view Name(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::kMap:
      return "map";
    case FunctionKind::kFilter:
      return "filter";
    case FunctionKind::kFlatMap:
      return "flat_map";
  }
  return "?";
}

std::string SpecJson(const FunctionSpec& spec, const std::vector<std::string>& path, int parent) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const Field& field : spec.inputs)
    inputs.push_back({field.name, std::string(Name(field.dtype))});
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const Field& field : spec.outputs) {
    nlohmann::ordered_json dims = nullptr;
    if (field.shape.has_rank())
      dims = std::vector<int64_t>(field.shape.dims().begin(), field.shape.dims().end());
    outputs.push_back({field.name, std::string(Name(field.dtype)), std::move(dims)});
  }
  const nlohmann::ordered_json json = {{"kind", std::string(Name(spec.kind))},
                                       {"function", spec.function},
                                       {"pickled", spec.pickled},
                                       {"batched", spec.batched},
                                       {"random", spec.random},
                                       {"requires", spec.needs},
                                       {"inputs", std::move(inputs)},
                                       {"outputs", std::move(outputs)},
                                       {"path", path},
                                       {"parent", parent}};
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

absl::StatusOr<Field> ParseReturnedField(std::string_view name, std::string_view type) {
  Field field;
  field.name = std::string(name);
  const size_t open = type.find('[');
  absl::StatusOr<DType> dtype = ParseDType(Trim(type.substr(0, open)));
  if (!dtype.ok()) return dtype.status();
  field.dtype = *dtype;
  if (open == std::string_view::npos) return field;
  if (!type.ends_with(']'))
    return InvalidArgument("'{}' is no type: like int64, float32[4] or uint8[?, ?, 3]", type);
  HR_ASSIGN_OR_RETURN(field.shape, ParseDims(Trim(type.substr(open + 1, type.size() - open - 2))));
  return field;
}

}  // namespace headrace
