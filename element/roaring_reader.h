// Reads a portable Roaring bitmap that a stranger wrote: every length, order and count is checked,
// which CRoaring's own reader does not do (it trusts the order inside of containers). Pure; memory
// is the caller's.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace headrace {

// Calls each(first, count) for runs of the set, in order; runs that meet come apart. Stops at what
// is wrong with INVALID_ARGUMENT; what was called before stands.
absl::Status ReadPortableRoaring(std::string_view bytes,
                                 absl::FunctionRef<void(uint64_t first, uint64_t count)> each);

}  // namespace headrace
