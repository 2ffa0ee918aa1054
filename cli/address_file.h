// --address-file: where a role writes the address it bound, for scripts that asked for port 0.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace headrace {

// Writes `address` and a newline to `path`, at once (temporary file, rename). Empty path: nothing.
// PERMISSION_DENIED, NOT_FOUND name the path.
absl::Status WriteAddressFile(const std::string& path, const std::string& address);

}  // namespace headrace
