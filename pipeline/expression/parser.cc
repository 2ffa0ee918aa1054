#include <span>
#include <utility>

#include "common/status.h"
#include "element/numeric.h"
#include "pipeline/expression/syntax.h"

namespace headrace::expression {
namespace {

using Tree = std::unique_ptr<Syntax>;

// Bounds the recursion here, in the checker and in the evaluation.
constexpr int kMaxDepth = 100;
constexpr size_t kMaxParts = 1000;

class Parser {
 public:
  Parser(std::string_view source, std::span<const Token> tokens)
      : source_(source), tokens_(tokens) {}

  absl::StatusOr<Tree> Run() {
    if (Peek().kind == TokenKind::kEnd) return Error("the condition is empty");
    HR_ASSIGN_OR_RETURN(Tree tree, Or());
    if (Peek().kind != TokenKind::kEnd)
      return Error(fmt::format("expected an operator, found {}", Found()));
    return tree;
  }

 private:
  const Token& Peek() const { return tokens_[next_]; }
  bool At(std::string_view symbol) const {
    return Peek().kind == TokenKind::kSymbol && Peek().text == symbol;
  }
  bool AtAny(std::initializer_list<std::string_view> symbols) const {
    for (std::string_view symbol : symbols) {
      if (At(symbol)) return true;
    }
    return false;
  }
  bool Take(std::string_view symbol) {
    if (!At(symbol)) return false;
    ++next_;
    return true;
  }
  absl::Status Error(std::string_view what) const { return ErrorAt(source_, Peek().at, what); }
  std::string Found() const {
    return Peek().kind == TokenKind::kEnd ? "the end"
                                          : fmt::format("'{}'", Peek().text.substr(0, 40));
  }

  absl::StatusOr<Tree> Make(Syntax::Kind kind, const Token& token) {
    if (++parts_ > kMaxParts) return Error(fmt::format("more than {} parts", kMaxParts));
    auto tree = std::make_unique<Syntax>();
    tree->kind = kind;
    tree->at = token.at;
    tree->text = token.text;
    return tree;
  }
  absl::StatusOr<Tree> Binary(const Token& symbol, Tree left, Tree right) {
    HR_ASSIGN_OR_RETURN(Tree tree, Make(Syntax::Kind::kOperator, symbol));
    tree->args.push_back(std::move(left));
    tree->args.push_back(std::move(right));
    return tree;
  }

  // A chain of operators of one level, grouped from the left. The depth of the tree grows with it.
  using Level = absl::StatusOr<Tree> (Parser::*)();
  absl::StatusOr<Tree> Chain(std::initializer_list<std::string_view> symbols, Level operand) {
    HR_ASSIGN_OR_RETURN(Tree tree, (this->*operand)());
    while (AtAny(symbols)) {
      const Token& symbol = tokens_[next_++];
      HR_ASSIGN_OR_RETURN(Tree right, (this->*operand)());
      HR_ASSIGN_OR_RETURN(tree, Binary(symbol, std::move(tree), std::move(right)));
    }
    return tree;
  }
  absl::StatusOr<Tree> Or() { return Chain({"||"}, &Parser::And); }
  absl::StatusOr<Tree> And() { return Chain({"&&"}, &Parser::Not); }
  absl::StatusOr<Tree> Sum() { return Chain({"+", "-"}, &Parser::Product); }
  absl::StatusOr<Tree> Product() { return Chain({"*", "/", "%"}, &Parser::Unary); }

  absl::StatusOr<Tree> Not() {
    if (!At("!")) return Comparison();
    return Prefix(&Parser::Not);
  }
  absl::StatusOr<Tree> Comparison() {
    HR_ASSIGN_OR_RETURN(Tree left, Sum());
    if (!AtAny({"==", "!=", "<", "<=", ">", ">="})) return left;
    const Token& symbol = tokens_[next_++];
    HR_ASSIGN_OR_RETURN(Tree right, Sum());
    if (AtAny({"==", "!=", "<", "<=", ">", ">="})) {
      return Error("comparisons do not chain; write a < b && b < c");
    }
    return Binary(symbol, std::move(left), std::move(right));
  }
  absl::StatusOr<Tree> Unary() {
    if (At("!")) return Prefix(&Parser::Unary);
    if (!At("-")) return Primary();
    // A number's sign belongs to the number: -9223372036854775808 is one.
    const Token& sign = Peek();
    const Token& number = tokens_[next_ + 1];
    if (number.kind == TokenKind::kInteger || number.kind == TokenKind::kFloat) {
      next_ += 2;
      return Number({.kind = number.kind, .text = "-" + number.text, .at = sign.at});
    }
    return Prefix(&Parser::Unary);
  }
  absl::StatusOr<Tree> Prefix(Level operand) {
    const Token& symbol = tokens_[next_++];
    HR_RETURN_IF_ERROR(Deeper());
    HR_ASSIGN_OR_RETURN(Tree inner, (this->*operand)());
    --depth_;
    HR_ASSIGN_OR_RETURN(Tree tree, Make(Syntax::Kind::kOperator, symbol));
    tree->args.push_back(std::move(inner));
    return tree;
  }
  absl::Status Deeper() {
    return ++depth_ > kMaxDepth ? Error(fmt::format("nested deeper than {}", kMaxDepth))
                                : absl::OkStatus();
  }

  absl::StatusOr<Tree> Primary() {
    const Token& token = tokens_[next_];
    switch (token.kind) {
      case TokenKind::kInteger:
      case TokenKind::kFloat:
        ++next_;
        return Number(token);
      case TokenKind::kText:
        ++next_;
        return Make(Syntax::Kind::kText, token);
      case TokenKind::kQuotedName:
        ++next_;
        return Make(Syntax::Kind::kField, token);
      case TokenKind::kName:
        ++next_;
        return Name(token);
      default:
        break;
    }
    if (!Take("(")) return Error(fmt::format("expected a value, found {}", Found()));
    HR_RETURN_IF_ERROR(Deeper());
    HR_ASSIGN_OR_RETURN(Tree inner, Or());
    --depth_;
    if (!Take(")")) return Error(fmt::format("expected ')', found {}", Found()));
    return inner;
  }

  absl::StatusOr<Tree> Number(const Token& token) {
    const bool integer = token.kind == TokenKind::kInteger;
    HR_ASSIGN_OR_RETURN(Tree tree,
                        Make(integer ? Syntax::Kind::kInteger : Syntax::Kind::kFloat, token));
    if (integer ? !ParseDecimal(token.text, tree->integer)
                : !ParseDecimal(token.text, tree->number)) {
      return ErrorAt(source_, token.at,
                     fmt::format("{} does not fit {}", token.text, integer ? "int64" : "float64"));
    }
    return tree;
  }

  absl::StatusOr<Tree> Name(const Token& token) {
    if (token.text == "true" || token.text == "false") {
      HR_ASSIGN_OR_RETURN(Tree tree, Make(Syntax::Kind::kBool, token));
      tree->boolean = token.text == "true";
      return tree;
    }
    if (!Take("(")) return Make(Syntax::Kind::kField, token);
    HR_ASSIGN_OR_RETURN(Tree tree, Make(Syntax::Kind::kCall, token));
    if (Take(")")) return tree;
    HR_RETURN_IF_ERROR(Deeper());
    do {
      HR_ASSIGN_OR_RETURN(Tree argument, Or());
      tree->args.push_back(std::move(argument));
    } while (Take(","));
    --depth_;
    if (!Take(")")) return Error(fmt::format("expected ',' or ')', found {}", Found()));
    return tree;
  }

  std::string_view source_;
  std::span<const Token> tokens_;
  size_t next_ = 0;
  size_t parts_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Syntax>> Parse(std::string_view source) {
  HR_ASSIGN_OR_RETURN(const std::vector<Token> tokens, Lex(source));
  return Parser(source, tokens).Run();
}

}  // namespace headrace::expression
