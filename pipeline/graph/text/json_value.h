// Parameters as JSON, for `--output json` and the dashboard.
#pragma once

#include <nlohmann/json.hpp>

#include "headrace/v1/pipeline.pb.h"

namespace headrace {

// Bytes that are no UTF-8 become {"base64": "..."}; infinity and NaN, which JSON lacks, the words
// of YAML (".inf").
nlohmann::ordered_json JsonValue(const v1::Value& value);
nlohmann::ordered_json JsonValue(const v1::ValueMap& values);

}  // namespace headrace
