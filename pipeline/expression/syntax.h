// From text to a tree: lexer and parser of the condition language (grammar in expression.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace headrace::expression {

enum class TokenKind { kEnd, kInteger, kFloat, kText, kName, kQuotedName, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // of a string or quoted name: without quotes and escapes; of a symbol: one
                     // spelling for all (&& || !)
  size_t at = 0;     // byte in the source
};

// The whole text; the last token is kEnd.
absl::StatusOr<std::vector<Token>> Lex(std::string_view source);

// A node of the syntax tree. Owned by its parent.
struct Syntax {
  enum class Kind { kInteger, kFloat, kText, kBool, kField, kOperator, kCall };
  Kind kind = Kind::kInteger;
  size_t at = 0;
  std::string text;  // operator symbol, function or field name, string
  int64_t integer = 0;
  double number = 0;
  bool boolean = false;
  std::vector<std::unique_ptr<Syntax>> args;
};

absl::StatusOr<std::unique_ptr<Syntax>> Parse(std::string_view source);

// INVALID_ARGUMENT "character 7 of 'label = 3': write == to compare".
absl::Status ErrorAt(std::string_view source, size_t at, std::string_view what);

}  // namespace headrace::expression
