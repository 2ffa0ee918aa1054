// Parameters of steps and formats: declared once, with type and help, next to the struct that holds
// them. From the declaration come the YAML/Python parser, the errors, `headrace explain`, the docs
// page and the Python method.
//
//   struct CenterCropParams { std::string field; std::vector<int64_t> size; };
//   ParamSet<CenterCropParams> params;
//   params.Required("field", &CenterCropParams::field, "image field, uint8 [height, width,
//   channels]")
//         .Required("size", &CenterCropParams::size, "height and width in pixels");
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"

namespace headrace {

using StringMap = std::vector<std::pair<std::string, std::string>>;  // ordered

// What a parameter may hold, as users see it.
enum class ParamType {
  kBool,
  kInt,
  kFloat,
  kString,
  kIntList,
  kFloatList,
  kStringList,
  kStringMap
};
std::string_view Name(ParamType type);

struct ParamSpec {
  std::string name;
  ParamType type = ParamType::kString;
  bool required = false;
  v1::Value default_value;  // what Optional's struct holds
  std::string help;
};

// Value <-> C++. INVALID_ARGUMENT says what was found and what is expected ("expected an integer,
// got text 'ten'"). An integer is taken where a float is expected; a single value where a list is
// expected.
absl::Status FromValue(const v1::Value& value, bool& out);
absl::Status FromValue(const v1::Value& value, int64_t& out);
absl::Status FromValue(const v1::Value& value, double& out);
absl::Status FromValue(const v1::Value& value, std::string& out);
absl::Status FromValue(const v1::Value& value, std::vector<int64_t>& out);
absl::Status FromValue(const v1::Value& value, std::vector<double>& out);
absl::Status FromValue(const v1::Value& value, std::vector<std::string>& out);
absl::Status FromValue(const v1::Value& value, StringMap& out);
template <typename T>
absl::Status FromValue(const v1::Value& value, std::optional<T>& out) {
  if (value.kind_case() == v1::Value::kNone) {
    out.reset();
    return absl::OkStatus();
  }
  return FromValue(value, out.emplace());
}
v1::Value ToValue(bool value);
v1::Value ToValue(int64_t value);
v1::Value ToValue(double value);
v1::Value ToValue(const std::string& value);
v1::Value ToValue(const std::vector<int64_t>& value);
v1::Value ToValue(const std::vector<double>& value);
v1::Value ToValue(const std::vector<std::string>& value);
v1::Value ToValue(const StringMap& value);
template <typename T>
v1::Value ToValue(const std::optional<T>& value) {
  if (value) return ToValue(*value);
  v1::Value none;
  none.set_none(true);
  return none;
}

namespace params_internal {
template <typename T>
struct TypeOf;
template <>
struct TypeOf<bool> {
  static constexpr auto value = ParamType::kBool;
};
template <>
struct TypeOf<int64_t> {
  static constexpr auto value = ParamType::kInt;
};
template <>
struct TypeOf<double> {
  static constexpr auto value = ParamType::kFloat;
};
template <>
struct TypeOf<std::string> {
  static constexpr auto value = ParamType::kString;
};
template <>
struct TypeOf<std::vector<int64_t>> {
  static constexpr auto value = ParamType::kIntList;
};
template <>
struct TypeOf<std::vector<double>> {
  static constexpr auto value = ParamType::kFloatList;
};
template <>
struct TypeOf<std::vector<std::string>> {
  static constexpr auto value = ParamType::kStringList;
};
template <>
struct TypeOf<StringMap> {
  static constexpr auto value = ParamType::kStringMap;
};
template <typename T>
struct TypeOf<std::optional<T>> : TypeOf<T> {};
}  // namespace params_internal

// Checks names against `specs`: unknown ones are errors that name the nearest known one, missing
// required ones too.
absl::Status CheckNames(const std::vector<ParamSpec>& specs, const v1::ValueMap& given);

template <typename P>
class ParamSet {
 public:
  template <typename T>
  ParamSet& Required(std::string name, T P::* member, std::string help) {
    return Add(std::move(name), member, std::move(help), true);
  }
  // Default: the value that P{} has.
  template <typename T>
  ParamSet& Optional(std::string name, T P::* member, std::string help) {
    return Add(std::move(name), member, std::move(help), false);
  }

  const std::vector<ParamSpec>& specs() const { return specs_; }

  // INVALID_ARGUMENT names the parameter: "size: expected a list of integers, got text 'big'".
  absl::StatusOr<P> Parse(const v1::ValueMap& given) const {
    if (absl::Status s = CheckNames(specs_, given); !s.ok()) return s;
    P out{};
    for (const v1::NamedValue& entry : given.entries()) {
      for (size_t i = 0; i < specs_.size(); ++i) {
        if (specs_[i].name != entry.name()) continue;
        if (absl::Status s = setters_[i](out, entry.value()); !s.ok()) {
          return absl::InvalidArgumentError(entry.name() + ": " + std::string(s.message()));
        }
      }
    }
    return out;
  }

 private:
  template <typename T>
  ParamSet& Add(std::string name, T P::* member, std::string help, bool required) {
    ParamSpec spec{
        std::move(name), params_internal::TypeOf<T>::value, required, {}, std::move(help)};
    if (!required) spec.default_value = ToValue(P{}.*member);
    specs_.push_back(std::move(spec));
    setters_.push_back([member](P& p, const v1::Value& v) { return FromValue(v, p.*member); });
    return *this;
  }

  std::vector<ParamSpec> specs_;
  std::vector<std::function<absl::Status(P&, const v1::Value&)>> setters_;
};

}  // namespace headrace
