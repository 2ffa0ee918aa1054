#include "pipeline/graph/fingerprint.h"

#include <xxhash.h>

#include <bit>
#include <cmath>

#include "common/status.h"

namespace headrace {
namespace {

template <typename T>
absl::StatusOr<v1::Value> Through(const v1::Value& value) {
  T out{};
  HR_RETURN_IF_ERROR(FromValue(value, out));
  return ToValue(out);
}

}  // namespace

absl::StatusOr<v1::Value> CanonicalValue(const ParamSpec& spec, const v1::Value& value) {
  const bool nullable = !spec.required && spec.default_value.kind_case() == v1::Value::kNone;
  if (nullable && value.kind_case() == v1::Value::kNone) return value;
  switch (spec.type) {
    case ParamType::kBool:
      return Through<bool>(value);
    case ParamType::kInt:
      return Through<int64_t>(value);
    case ParamType::kFloat:
      return Through<double>(value);
    case ParamType::kString:
      return Through<std::string>(value);
    case ParamType::kIntList:
      return Through<std::vector<int64_t>>(value);
    case ParamType::kFloatList:
      return Through<std::vector<double>>(value);
    case ParamType::kStringList:
      return Through<std::vector<std::string>>(value);
    case ParamType::kStringMap:
      return Through<StringMap>(value);
  }
  return Internal("parameter of an unknown type");
}

absl::StatusOr<v1::ValueMap> CanonicalParams(const std::vector<ParamSpec>& specs,
                                             const v1::ValueMap& given) {
  HR_RETURN_IF_ERROR(CheckNames(specs, given));
  v1::ValueMap out;
  for (const ParamSpec& spec : specs) {
    const v1::Value* value = &spec.default_value;
    for (const v1::NamedValue& entry : given.entries()) {
      if (entry.name() == spec.name) value = &entry.value();
    }
    absl::StatusOr<v1::Value> converted = CanonicalValue(spec, *value);
    if (!converted.ok()) return Annotate(converted.status(), spec.name);
    v1::NamedValue* entry = out.add_entries();
    entry->set_name(spec.name);
    *entry->mutable_value() = *std::move(converted);
  }
  return out;
}

Fingerprint& Fingerprint::Add(uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(number >> shift));
  return *this;
}

Fingerprint& Fingerprint::Add(std::string_view word) {
  Add(uint64_t{word.size()});
  bytes_ += word;
  return *this;
}

Fingerprint& Fingerprint::Add(const v1::Value& value) {
  bytes_.push_back(static_cast<char>(value.kind_case()));
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return Add(uint64_t{value.boolean()});
    case v1::Value::kInteger:
      return Add(static_cast<uint64_t>(value.integer()));
    // -0.0 and 0.0 are one number to users.
    case v1::Value::kNumber:
      return Add(std::bit_cast<uint64_t>(value.number() == 0 ? 0.0 : value.number()));
    case v1::Value::kText:
      return Add(value.text());
    case v1::Value::kList:
      Add(static_cast<uint64_t>(value.list().items_size()));
      for (const v1::Value& item : value.list().items()) Add(item);
      return *this;
    case v1::Value::kMap:
      return Add(value.map());
    default:
      return *this;
  }
}

Fingerprint& Fingerprint::Add(const v1::ValueMap& values) {
  Add(static_cast<uint64_t>(values.entries_size()));
  for (const v1::NamedValue& entry : values.entries()) Add(entry.name()).Add(entry.value());
  return *this;
}

std::string Fingerprint::Hex() const {
  const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace headrace
