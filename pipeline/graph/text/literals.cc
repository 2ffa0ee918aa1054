#include "pipeline/graph/text/literals.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/escaping.h"
#include "fmt/core.h"
#include "pipeline/graph/utf8.h"
#include "pipeline/graph/yaml/yaml_document.h"

namespace headrace {
namespace {

template <typename Range, typename Print>
std::string Joined(const Range& items, Print print) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += ", ";
    out += print(item);
  }
  return out;
}

// A word that every YAML reader, also one of YAML 1.1, takes for text without quotes.
bool IsPlainYaml(std::string_view text) {
  if (text.empty() || !PlainIsText(text)) return false;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (!letter(text[0])) return false;
  for (char c : text) {
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '.' && c != '/' && c != '-') return false;
  }
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (std::string_view word : {"y", "n", "yes", "no", "on", "off"}) {
    if (low == word) return false;
  }
  return true;
}

// The code point that the UTF-8 sequence at text[i] stands for; moves i behind it.
uint32_t NextCodePoint(std::string_view text, size_t& i) {
  const auto lead = static_cast<uint8_t>(text[i++]);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  uint32_t point = lead & (0x3F >> more);
  for (int k = 0; k < more; ++k) point = point << 6 | (static_cast<uint8_t>(text[i++]) & 0x3F);
  return point;
}

// Characters that readers of YAML and Python would not keep, or that a person would not see.
bool NeedsEscape(uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x2028 || point == 0x2029 ||
         point == 0xFEFF || (point & 0xFFFE) == 0xFFFE;
}

// Double quotes, with escapes that mean the same in YAML and Python.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const uint32_t point = NextCodePoint(text, i);
    if (point == '"' || point == '\\') {
      out += '\\';
      out += static_cast<char>(point);
    } else if (point == '\n') {
      out += "\\n";
    } else if (point == '\t') {
      out += "\\t";
    } else if (!NeedsEscape(point)) {
      out += text.substr(begin, i - begin);
    } else {
      out += point < 0x80      ? fmt::format("\\x{:02x}", point)
             : point <= 0xFFFF ? fmt::format("\\u{:04x}", point)
                               : fmt::format("\\U{:08x}", point);
    }
  }
  return out + "\"";
}

}  // namespace

std::string NumberText(double number, std::string_view infinity, std::string_view nan) {
  if (std::isnan(number)) return std::string(nan);
  if (std::isinf(number)) return fmt::format("{}{}", number < 0 ? "-" : "", infinity);
  std::string out = fmt::format("{}", number);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string YamlText(std::string_view text) {
  if (IsPlainYaml(text)) return std::string(text);
  if (FirstNonUtf8(text) == std::string_view::npos) return Quoted(text);
  return fmt::format("!!binary \"{}\"", absl::Base64Escape(std::string(text)));
}

std::string YamlLiteral(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return value.boolean() ? "true" : "false";
    case v1::Value::kInteger:
      return std::to_string(value.integer());
    case v1::Value::kNumber:
      return NumberText(value.number(), ".inf", ".nan");
    case v1::Value::kText:
      return YamlText(value.text());
    case v1::Value::kList:
      return "[" + Joined(value.list().items(), YamlLiteral) + "]";
    case v1::Value::kMap:
      return "{" +
             Joined(value.map().entries(),
                    [](const v1::NamedValue& e) {
                      return YamlText(e.name()) + ": " + YamlLiteral(e.value());
                    }) +
             "}";
    default:
      return "null";
  }
}

std::string PythonText(std::string_view text) {
  if (FirstNonUtf8(text) == std::string_view::npos) return Quoted(text);
  std::string out = "b\"";
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') out += '\\';
    out += byte >= 0x20 && byte < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out + "\"";
}

std::string PythonLiteral(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return value.boolean() ? "True" : "False";
    case v1::Value::kInteger:
      return std::to_string(value.integer());
    case v1::Value::kNumber:
      return std::isfinite(value.number())
                 ? NumberText(value.number(), "", "")
                 : fmt::format("float(\"{}\")", NumberText(value.number(), "inf", "nan"));
    case v1::Value::kText:
      return PythonText(value.text());
    case v1::Value::kList:
      return "[" + Joined(value.list().items(), PythonLiteral) + "]";
    case v1::Value::kMap:
      return "{" +
             Joined(value.map().entries(),
                    [](const v1::NamedValue& e) {
                      return PythonText(e.name()) + ": " + PythonLiteral(e.value());
                    }) +
             "}";
    default:
      return "None";
  }
}

bool IsPythonName(std::string_view word) {
  static constexpr std::string_view kTaken[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "self"};
  if (word.empty() || (word[0] >= '0' && word[0] <= '9')) return false;
  for (char c : word) {
    const bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
    if (!letter) return false;
  }
  for (std::string_view taken : kTaken) {
    if (word == taken) return false;
  }
  return true;
}

std::string CppText(std::string_view text) {
  std::string out = "\"";
  const bool utf8 = FirstNonUtf8(text) == std::string_view::npos;
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') out += '\\';
    // Octal escapes end after three digits, whatever follows; `??` could begin a trigraph.
    const bool as_is = byte >= 0x20 && byte != 0x7F && (byte < 0x80 || utf8) && c != '?';
    out += as_is       ? std::string(1, c)
           : c == '?'  ? "\\?"
           : c == '\n' ? "\\n"
                       : fmt::format("\\{:03o}", byte);
  }
  out += "\"";
  // A literal would end at the first NUL.
  if (text.find('\0') != std::string_view::npos)
    return fmt::format("std::string({}, {})", out, text.size());
  return out;
}

std::string CppLiteral(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return value.boolean() ? "true" : "false";
    case v1::Value::kInteger:
      // The literal of the smallest would be the negation of one that does not fit.
      return value.integer() == std::numeric_limits<int64_t>::min()
                 ? "INT64_MIN"
                 : std::to_string(value.integer());
    case v1::Value::kNumber:
      return NumberText(value.number(), "std::numeric_limits<double>::infinity()",
                        "std::numeric_limits<double>::quiet_NaN()");
    case v1::Value::kText:
      return CppText(value.text());
    case v1::Value::kList:
      return "List({" + Joined(value.list().items(), CppLiteral) + "})";
    case v1::Value::kMap:
      return "Map({" +
             Joined(value.map().entries(),
                    [](const v1::NamedValue& e) {
                      return fmt::format("{{{}, {}}}", CppText(e.name()), CppLiteral(e.value()));
                    }) +
             "})";
    default:
      return "nullptr";
  }
}

}  // namespace headrace
