// Is it text? Asked of pipelines that come from files and of values that are printed.
#pragma once

#include <cstddef>
#include <string_view>

namespace headrace {

// Position of the first byte that is no well-formed UTF-8 (RFC 3629), or npos.
size_t FirstNonUtf8(std::string_view bytes);
// The same, where control characters other than tab, line feed and carriage return are none either.
size_t FirstNonText(std::string_view bytes);

}  // namespace headrace
