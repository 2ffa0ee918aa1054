#include <cctype>

#include "common/status.h"
#include "pipeline/expression/syntax.h"

namespace headrace::expression {
namespace {

constexpr size_t kMaxSource = 64 << 10;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsName(char c) { return IsNameStart(c) || IsDigit(c) || c == '.'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  absl::StatusOr<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_])) != 0)
        ++at_;
      Token token{.kind = TokenKind::kEnd, .text = "", .at = at_};
      if (at_ == source_.size()) {
        tokens.push_back(std::move(token));
        return tokens;
      }
      HR_RETURN_IF_ERROR(Next(token));
      tokens.push_back(std::move(token));
    }
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  absl::Status Next(Token& token) {
    const char c = Peek();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number(token);
    if (IsNameStart(c)) {
      token.kind = TokenKind::kName;
      while (IsName(Peek())) token.text += source_[at_++];
      if (token.text == "and" || token.text == "or" || token.text == "not") {
        token.kind = TokenKind::kSymbol;
        token.text = token.text == "and" ? "&&" : token.text == "or" ? "||" : "!";
      }
      return absl::OkStatus();
    }
    if (c == '\'' || c == '"' || c == '`') return Quoted(token, c);
    return Symbol(token);
  }

  absl::Status Number(Token& token) {
    const size_t begin = at_;
    token.kind = TokenKind::kInteger;
    while (IsDigit(Peek())) ++at_;
    if (Peek() == '.') {
      token.kind = TokenKind::kFloat;
      ++at_;
      while (IsDigit(Peek())) ++at_;
    }
    if (Peek() == 'e' || Peek() == 'E') {
      token.kind = TokenKind::kFloat;
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      if (!IsDigit(Peek())) return ErrorAt(source_, begin, "a number without its exponent");
      while (IsDigit(Peek())) ++at_;
    }
    if (IsName(Peek())) return ErrorAt(source_, begin, "a number runs into a name");
    token.text = source_.substr(begin, at_ - begin);
    return absl::OkStatus();
  }

  absl::Status Quoted(Token& token, char quote) {
    const size_t begin = at_++;
    token.kind = quote == '`' ? TokenKind::kQuotedName : TokenKind::kText;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\' && quote != '`') {
        HR_RETURN_IF_ERROR(Escape(token.text));
      } else {
        token.text += source_[at_++];
      }
    }
    if (at_ == source_.size())
      return ErrorAt(source_, begin, fmt::format("the {} is not closed", quote));
    ++at_;
    return absl::OkStatus();
  }

  // \n \t \r \0 \\ \' \" \xHH. Others stay as they are, backslash included: regular expressions are
  // full of them.
  absl::Status Escape(std::string& out) {
    constexpr std::string_view kLetters = "ntr0\\'\"";
    constexpr std::string_view kMeaning("\n\t\r\0\\'\"", 7);
    const size_t begin = at_++;
    const char letter = Peek();
    if (letter == 'x') {
      const auto high = Hex(Peek(1)), low = Hex(Peek(2));
      if (high < 0 || low < 0) return ErrorAt(source_, begin, "\\x needs two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      at_ += 3;
      return absl::OkStatus();
    }
    if (const size_t i = kLetters.find(letter); letter != '\0' && i != std::string_view::npos) {
      out += kMeaning[i];
      ++at_;
    } else {
      out += '\\';
    }
    return absl::OkStatus();
  }
  static int Hex(char c) {
    if (IsDigit(c)) return c - '0';
    const int lower = std::tolower(static_cast<unsigned char>(c));
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  }

  absl::Status Symbol(Token& token) {
    token.kind = TokenKind::kSymbol;
    for (std::string_view two : {"&&", "||", "==", "!=", "<=", ">="}) {
      if (source_.substr(at_, 2) == two) {
        token.text = two;
        at_ += 2;
        return absl::OkStatus();
      }
    }
    const char c = Peek();
    if (c == '=') return ErrorAt(source_, at_, "write == to compare");
    if (c == '&' || c == '|') return ErrorAt(source_, at_, fmt::format("write {0}{0}", c));
    if (std::string_view("+-*/%<>!(),").find(c) == std::string_view::npos) {
      return ErrorAt(
          source_, at_,
          "this character means nothing here (a name with such is written in `backticks`)");
    }
    token.text = c;
    ++at_;
    return absl::OkStatus();
  }

  std::string_view source_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Lex(std::string_view source) {
  if (source.size() > kMaxSource) {
    return InvalidArgument("a condition of {} characters; at most {} are taken", source.size(),
                           kMaxSource);
  }
  return Lexer(source).Run();
}

absl::Status ErrorAt(std::string_view source, size_t at, std::string_view what) {
  constexpr size_t kAround = 40;  // of a long text, only what is near
  const size_t begin = at > kAround ? at - kAround : 0;
  const std::string_view near = source.substr(begin, 2 * kAround);
  return InvalidArgument("character {} of '{}{}{}': {}", at + 1, begin > 0 ? "..." : "", near,
                         begin + near.size() < source.size() ? "..." : "", what);
}

}  // namespace headrace::expression
