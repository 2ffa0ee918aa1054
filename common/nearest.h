// "did you mean ...?": the closest known word to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headrace {

// The candidate with the smallest edit distance to `word`, when that is at most max(2, a third of
// its length); otherwise "".
std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

}  // namespace headrace
