#include "pipeline/graph/params.h"

#include "common/nearest.h"
#include "common/status.h"

namespace headrace {
namespace {

std::string Found(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return value.boolean() ? "true" : "false";
    case v1::Value::kInteger:
      return fmt::format("the integer {}", value.integer());
    case v1::Value::kNumber:
      return fmt::format("the number {}", value.number());
    case v1::Value::kText:
      return fmt::format("the text '{}'", value.text().substr(0, 60));
    case v1::Value::kList:
      return "a list";
    case v1::Value::kMap:
      return "a map";
    default:
      return "nothing";
  }
}

absl::Status Expected(std::string_view what, const v1::Value& value) {
  return InvalidArgument("expected {}, got {}", what, Found(value));
}

template <typename T>
absl::Status ListFromValue(const v1::Value& value, std::vector<T>& out, std::string_view what) {
  out.clear();
  if (value.kind_case() != v1::Value::kList) {
    if (!FromValue(value, out.emplace_back()).ok()) return Expected(what, value);
    return absl::OkStatus();
  }
  for (const v1::Value& item : value.list().items()) {
    if (!FromValue(item, out.emplace_back()).ok()) {
      return InvalidArgument("expected {}, got a list with {} in it", what, Found(item));
    }
  }
  return absl::OkStatus();
}

template <typename T>
v1::Value ListToValue(const std::vector<T>& values) {
  v1::Value out;
  out.mutable_list();
  for (const T& v : values) *out.mutable_list()->add_items() = ToValue(v);
  return out;
}

}  // namespace

std::string_view Name(ParamType type) {
  switch (type) {
    case ParamType::kBool:
      return "bool";
    case ParamType::kInt:
      return "int";
    case ParamType::kFloat:
      return "float";
    case ParamType::kString:
      return "string";
    case ParamType::kIntList:
      return "list of int";
    case ParamType::kFloatList:
      return "list of float";
    case ParamType::kStringList:
      return "list of string";
    case ParamType::kStringMap:
      return "map of name to string";
  }
  return "?";
}

absl::Status FromValue(const v1::Value& value, bool& out) {
  if (value.kind_case() != v1::Value::kBoolean) return Expected("true or false", value);
  out = value.boolean();
  return absl::OkStatus();
}

absl::Status FromValue(const v1::Value& value, int64_t& out) {
  if (value.kind_case() != v1::Value::kInteger) return Expected("an integer", value);
  out = value.integer();
  return absl::OkStatus();
}

absl::Status FromValue(const v1::Value& value, double& out) {
  if (value.kind_case() == v1::Value::kInteger) {
    out = static_cast<double>(value.integer());
    return absl::OkStatus();
  }
  if (value.kind_case() != v1::Value::kNumber) return Expected("a number", value);
  out = value.number();
  return absl::OkStatus();
}

absl::Status FromValue(const v1::Value& value, std::string& out) {
  if (value.kind_case() != v1::Value::kText) return Expected("text", value);
  out = value.text();
  return absl::OkStatus();
}

absl::Status FromValue(const v1::Value& value, std::vector<int64_t>& out) {
  return ListFromValue(value, out, "a list of integers");
}
absl::Status FromValue(const v1::Value& value, std::vector<double>& out) {
  return ListFromValue(value, out, "a list of numbers");
}
absl::Status FromValue(const v1::Value& value, std::vector<std::string>& out) {
  return ListFromValue(value, out, "a list of names");
}

absl::Status FromValue(const v1::Value& value, StringMap& out) {
  if (value.kind_case() != v1::Value::kMap) return Expected("a map of name to text", value);
  out.clear();
  for (const v1::NamedValue& entry : value.map().entries()) {
    auto& pair = out.emplace_back(entry.name(), "");
    if (!FromValue(entry.value(), pair.second).ok()) {
      return InvalidArgument("{}: expected text, got {}", entry.name(), Found(entry.value()));
    }
  }
  return absl::OkStatus();
}

v1::Value ToValue(bool value) {
  v1::Value out;
  out.set_boolean(value);
  return out;
}
v1::Value ToValue(int64_t value) {
  v1::Value out;
  out.set_integer(value);
  return out;
}
v1::Value ToValue(double value) {
  v1::Value out;
  out.set_number(value);
  return out;
}
v1::Value ToValue(const std::string& value) {
  v1::Value out;
  out.set_text(value);
  return out;
}
v1::Value ToValue(const std::vector<int64_t>& value) { return ListToValue(value); }
v1::Value ToValue(const std::vector<double>& value) { return ListToValue(value); }
v1::Value ToValue(const std::vector<std::string>& value) { return ListToValue(value); }
v1::Value ToValue(const StringMap& value) {
  v1::Value out;
  out.mutable_map();
  for (const auto& [name, text] : value) {
    v1::NamedValue* entry = out.mutable_map()->add_entries();
    entry->set_name(name);
    *entry->mutable_value() = ToValue(text);
  }
  return out;
}

absl::Status CheckNames(const std::vector<ParamSpec>& specs, const v1::ValueMap& given) {
  std::vector<std::string> known;
  for (const ParamSpec& spec : specs) known.push_back(spec.name);
  for (int i = 0; i < given.entries_size(); ++i) {
    const std::string& name = given.entries(i).name();
    bool found = false;
    for (const std::string& k : known) found = found || k == name;
    if (!found) {
      const std::string nearest = NearestWord(name, known);
      return InvalidArgument("unknown parameter '{}'{}", name,
                             nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
    }
    for (int j = 0; j < i; ++j) {
      if (given.entries(j).name() == name)
        return InvalidArgument("parameter '{}' is given twice", name);
    }
  }
  for (const ParamSpec& spec : specs) {
    if (!spec.required) continue;
    bool found = false;
    for (const v1::NamedValue& entry : given.entries()) found = found || entry.name() == spec.name;
    if (!found) return InvalidArgument("parameter '{}' is missing: {}", spec.name, spec.help);
  }
  return absl::OkStatus();
}

}  // namespace headrace
