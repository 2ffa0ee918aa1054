#include "pipeline/passes/step_params.h"

#include <utility>

namespace headrace {

std::string TextParam(const v1::Step& step, std::string_view name, std::string_view otherwise) {
  for (const v1::NamedValue& entry : step.params().entries()) {
    if (entry.name() == name && entry.value().kind_case() == v1::Value::kText)
      return entry.value().text();
  }
  return std::string(otherwise);
}

void SetParam(v1::Step& step, std::string_view name, v1::Value value) {
  for (v1::NamedValue& entry : *step.mutable_params()->mutable_entries()) {
    if (entry.name() != name) continue;
    *entry.mutable_value() = std::move(value);
    return;
  }
  v1::NamedValue* entry = step.mutable_params()->add_entries();
  entry->set_name(std::string(name));
  *entry->mutable_value() = std::move(value);
}

}  // namespace headrace
