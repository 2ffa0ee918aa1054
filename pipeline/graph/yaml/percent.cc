#include "pipeline/graph/yaml/percent.h"

#include <array>
#include <charconv>
#include <cstdlib>

namespace headrace {

std::optional<double> FractionFromPercent(std::string_view word) {
  if (!word.ends_with('%')) return std::nullopt;
  word.remove_suffix(1);
  while (word.ends_with(' ')) word.remove_suffix(1);
  const bool has_digit = word.find_first_of("0123456789") != std::string_view::npos;
  const bool one_point = word.find('.') == word.rfind('.');
  if (!has_digit || !one_point || word.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string shifted = std::string(word) + "e-2";
  double out = 0;
  const auto [end, error] = std::from_chars(shifted.data(), shifted.data() + shifted.size(), out);
  if (error != std::errc() || end != shifted.data() + shifted.size()) return std::nullopt;
  return out;
}

std::string PercentFromFraction(double fraction) {
  // Shortest digits: "d.ddde-NN".
  std::array<char, 64> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), fraction,
                                          std::chars_format::scientific);
  const std::string text(buffer.data(), end);
  const size_t e = text.find('e');
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c != '.') digits.push_back(c);
  }
  // The point stands after `point` digits.
  const int point = std::atoi(text.c_str() + e + 1) + 1 + 2;
  if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits + "%";
  const auto whole = static_cast<size_t>(point);
  if (whole >= digits.size()) return digits + std::string(whole - digits.size(), '0') + "%";
  return digits.substr(0, whole) + "." + digits.substr(whole) + "%";
}

}  // namespace headrace
