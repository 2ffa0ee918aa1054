// From a DType to a C++ type, once per column instead of once per value; and numbers written as
// text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "element/dtype.h"
#include "element/half.h"

namespace headrace {

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>()) with the C++ type of a numeric dtype (bool, int8_t ... double, Half,
// BFloat16). `dtype` must not be bytes or invalid.
template <typename F>
auto VisitNumeric(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(TypeTag<bool>());
    case DType::kInt8:
      return f(TypeTag<int8_t>());
    case DType::kInt16:
      return f(TypeTag<int16_t>());
    case DType::kInt32:
      return f(TypeTag<int32_t>());
    case DType::kInt64:
      return f(TypeTag<int64_t>());
    case DType::kUInt8:
      return f(TypeTag<uint8_t>());
    case DType::kUInt16:
      return f(TypeTag<uint16_t>());
    case DType::kUInt32:
      return f(TypeTag<uint32_t>());
    case DType::kUInt64:
      return f(TypeTag<uint64_t>());
    case DType::kFloat16:
      return f(TypeTag<Half>());
    case DType::kBFloat16:
      return f(TypeTag<BFloat16>());
    case DType::kFloat64:
      return f(TypeTag<double>());
    default:
      return f(TypeTag<float>());
  }
}

inline constexpr bool IsFloat(DType dtype) {
  return dtype >= DType::kFloat16 && dtype <= DType::kFloat64;
}

// The number that `text` is as a whole, blanks (space, tab, newline) around it aside: decimal
// integers for integer types, decimal fractions with or without exponent, inf and nan for float
// types, true/false/1/0 for bool. False when it is none, or does not fit T.
template <typename T>
bool ParseDecimal(std::string_view text, T& out) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return false;
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  if (text[0] == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  if constexpr (std::is_same_v<T, bool>) {
    out = text == "1" || text == "true";
    return out || text == "0" || text == "false";
  } else if constexpr (std::is_same_v<T, Half>) {
    double value = 0;
    if (!ParseDecimal(text, value)) return false;
    out = ToHalf(ToFloatOdd(value));
    return true;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    double value = 0;
    if (!ParseDecimal(text, value)) return false;
    out = ToBFloat16(ToFloatOdd(value));
    return true;
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  }
}

}  // namespace headrace
