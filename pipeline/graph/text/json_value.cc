#include "pipeline/graph/text/json_value.h"

#include <cmath>

#include "absl/strings/escaping.h"
#include "pipeline/graph/text/literals.h"
#include "pipeline/graph/utf8.h"

namespace headrace {

nlohmann::ordered_json JsonValue(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return value.boolean();
    case v1::Value::kInteger:
      return value.integer();
    case v1::Value::kNumber:
      if (std::isfinite(value.number())) return value.number();
      return NumberText(value.number(), ".inf", ".nan");
    case v1::Value::kText:
      if (FirstNonUtf8(value.text()) == std::string_view::npos) return value.text();
      return {{"base64", absl::Base64Escape(value.text())}};
    case v1::Value::kList: {
      nlohmann::ordered_json out = nlohmann::ordered_json::array();
      for (const v1::Value& item : value.list().items()) out.push_back(JsonValue(item));
      return out;
    }
    case v1::Value::kMap:
      return JsonValue(value.map());
    default:
      return nullptr;
  }
}

nlohmann::ordered_json JsonValue(const v1::ValueMap& values) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const v1::NamedValue& entry : values.entries()) out[entry.name()] = JsonValue(entry.value());
  return out;
}

}  // namespace headrace
