// Replies as JSON for programs: the proto's own field names, zeros included, 64-bit numbers as
// numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "google/protobuf/message.h"

namespace headrace {

nlohmann::json ToJson(const google::protobuf::Message& message);

}  // namespace headrace
