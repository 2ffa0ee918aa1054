// From a syntax tree to terms: looks names up, checks types, makes integers beside floats floats.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "element/schema.h"
#include "pipeline/expression/term.h"

namespace headrace::expression {

// The term of a whole condition, of type bool.
absl::StatusOr<TermPtr> CheckCondition(std::string_view source, const Schema& schema);

}  // namespace headrace::expression
