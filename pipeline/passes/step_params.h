// Reading and changing the parameters of steps, for passes.
#pragma once

#include <string>
#include <string_view>

#include "headrace/v1/pipeline.pb.h"

namespace headrace {

// The text parameter `name` as given, or `otherwise`.
std::string TextParam(const v1::Step& step, std::string_view name, std::string_view otherwise = "");
void SetParam(v1::Step& step, std::string_view name, v1::Value value);

}  // namespace headrace
