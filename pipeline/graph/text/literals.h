// Values as literals of the languages that pipelines are printed in.
#pragma once

#include <string>
#include <string_view>

#include "headrace/v1/pipeline.pb.h"

namespace headrace {

// The shortest decimal text that reads back as `number`, always with a point or an exponent ("1.0",
// "1e-05"). Infinity and NaN are spelled as `infinity` ("-" in front where negative) and `nan` say.
std::string NumberText(double number, std::string_view infinity, std::string_view nan);

// In YAML's flow style: `[1, 2]`, `{a: b}`, `"quoted"` where needed, `!!binary` for bytes that are
// no UTF-8.
std::string YamlLiteral(const v1::Value& value);
std::string YamlText(std::string_view text);

// `[1, 2]`, `{"a": "b"}`, `b"..."` for bytes that are no UTF-8.
std::string PythonLiteral(const v1::Value& value);
std::string PythonText(std::string_view text);
// True when `word` may be a keyword argument.
bool IsPythonName(std::string_view word);

// `List({1, 2})`, `Map({{"a", "b"}})`.
std::string CppLiteral(const v1::Value& value);
std::string CppText(std::string_view text);

}  // namespace headrace
