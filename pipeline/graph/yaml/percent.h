// "0.1%" <-> 0.001, exactly: the decimal point moves, no rounding twice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headrace {

// `word` is digits with at most one point, then '%'; anything else is nullopt.
std::optional<double> FractionFromPercent(std::string_view word);
// The shortest text that FractionFromPercent reads back as `fraction` (finite, >= 0).
std::string PercentFromFraction(double fraction);

}  // namespace headrace
