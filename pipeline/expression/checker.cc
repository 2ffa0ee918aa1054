#include "pipeline/expression/checker.h"

#include <utility>

#include "common/nearest.h"
#include "common/status.h"
#include "pipeline/expression/syntax.h"

namespace headrace::expression {
namespace {

bool IsNumber(ValueType type) { return type == ValueType::kInteger || type == ValueType::kFloat; }

std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

class Checker {
 public:
  Checker(std::string_view source, const Schema& schema) : source_(source), schema_(schema) {}

  absl::StatusOr<TermPtr> Check(const Syntax& tree) const {
    switch (tree.kind) {
      case Syntax::Kind::kInteger:
        return MakeConstant(tree.integer);
      case Syntax::Kind::kFloat:
        return MakeConstant(tree.number);
      case Syntax::Kind::kBool:
        return MakeConstant(tree.boolean);
      case Syntax::Kind::kText:
        return MakeConstant(tree.text);
      case Syntax::Kind::kField:
        return Field(tree);
      case Syntax::Kind::kOperator:
        return Operator(tree);
      case Syntax::Kind::kCall:
        return Call(tree);
    }
    return Internal("a kind of syntax without a meaning");
  }

  absl::Status Error(const Syntax& tree, std::string_view what) const {
    return ErrorAt(source_, tree.at, what);
  }

 private:
  std::string Where(const Syntax& tree) const {
    return fmt::format("character {} of the condition", tree.at + 1);
  }

  absl::StatusOr<size_t> Column(const Syntax& name) const {
    const absl::StatusOr<size_t> at = schema_.Require(name.text);
    if (!at.ok()) return Error(name, MessageOf(at.status()));
    return at;
  }

  absl::StatusOr<TermPtr> Field(const Syntax& tree) const {
    HR_ASSIGN_OR_RETURN(const size_t at, Column(tree));
    const headrace::Field& field = schema_[at];
    if (field.shape == Shape()) return MakeField(at, field.dtype, field.name);
    return Error(
        tree,
        fmt::format(
            "field '{}' is {} {}; only single values are compared (length({}) and shape({}, i) "
            "look at its shape)",
            field.name, headrace::Name(field.dtype), field.shape.ToString(), field.name,
            field.name));
  }

  absl::Status Expect(const Syntax& tree, const Term& term, bool fits,
                      std::string_view wanted) const {
    if (fits) return absl::OkStatus();
    return Error(tree, fmt::format("expected {}, found {}", wanted, headrace::Name(term.type())));
  }

  // Makes all of them floats when one is.
  static void Unify(std::span<TermPtr> terms) {
    bool any = false;
    for (const TermPtr& term : terms) any = any || term->type() == ValueType::kFloat;
    if (!any) return;
    for (TermPtr& term : terms) {
      if (term->type() == ValueType::kInteger) term = MakeToFloat(std::move(term));
    }
  }

  absl::StatusOr<std::vector<TermPtr>> CheckAll(const Syntax& tree) const {
    std::vector<TermPtr> terms;
    for (const auto& arg : tree.args) {
      HR_ASSIGN_OR_RETURN(TermPtr term, Check(*arg));
      terms.push_back(std::move(term));
    }
    return terms;
  }
  absl::Status ExpectNumbers(const Syntax& tree, std::span<const TermPtr> terms) const {
    for (size_t i = 0; i < terms.size(); ++i) {
      HR_RETURN_IF_ERROR(Expect(*tree.args[i], *terms[i], IsNumber(terms[i]->type()), "a number"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TermPtr> Operator(const Syntax& tree) const {
    HR_ASSIGN_OR_RETURN(std::vector<TermPtr> terms, CheckAll(tree));
    const std::string& symbol = tree.text;
    if (symbol == "&&" || symbol == "||" || symbol == "!") {
      for (size_t i = 0; i < terms.size(); ++i) {
        HR_RETURN_IF_ERROR(Expect(*tree.args[i], *terms[i], terms[i]->type() == ValueType::kBool,
                                  "true or false"));
      }
      if (symbol == "!") return MakeNot(std::move(terms[0]));
      return MakeLogic(symbol, std::move(terms[0]), std::move(terms[1]));
    }
    if (std::string_view("+-*/%").find(symbol) == std::string_view::npos)
      return Comparison(tree, std::move(terms));
    HR_RETURN_IF_ERROR(ExpectNumbers(tree, terms));
    if (terms.size() == 1) return MakeNegation(std::move(terms[0]), Where(tree));
    if (symbol == "/") {
      for (TermPtr& term : terms) {
        if (term->type() == ValueType::kInteger) term = MakeToFloat(std::move(term));
      }
    }
    Unify(terms);
    return MakeArithmetic(symbol[0], std::move(terms[0]), std::move(terms[1]), Where(tree));
  }

  absl::StatusOr<TermPtr> Comparison(const Syntax& tree, std::vector<TermPtr> terms) const {
    const ValueType left = terms[0]->type(), right = terms[1]->type();
    if (left != right && !(IsNumber(left) && IsNumber(right))) {
      return Error(tree, fmt::format("{} cannot be compared with {}", headrace::Name(left),
                                     headrace::Name(right)));
    }
    if (left == ValueType::kBool && tree.text != "==" && tree.text != "!=") {
      return Error(tree, fmt::format("true and false have no order; '{}' compares numbers and text",
                                     tree.text));
    }
    Unify(terms);
    return MakeComparison(tree.text, std::move(terms[0]), std::move(terms[1]));
  }

  absl::StatusOr<TermPtr> Call(const Syntax& tree) const {
    const std::string& name = tree.text;
    if (name == "length") return Length(tree);
    if (name == "shape") return ShapeOf(tree);
    if (name == "contains") return Text(tree, TextTest::kContains);
    if (name == "starts_with") return Text(tree, TextTest::kStartsWith);
    if (name == "ends_with") return Text(tree, TextTest::kEndsWith);
    if (name == "matches") return Matching(tree);
    if (name == "abs" || name == "min" || name == "max") return Numbers(tree);
    const std::vector<std::string> known{"abs", "contains", "ends_with", "length",     "matches",
                                         "max", "min",      "shape",     "starts_with"};
    const std::string nearest = NearestWord(name, known);
    return Error(
        tree,
        fmt::format("no function '{}'; {}", name,
                    nearest.empty()
                        ? "known: abs, contains, ends_with, length, matches, max, min, shape, "
                          "starts_with"
                        : fmt::format("did you mean '{}'?", nearest)));
  }

  absl::Status Count(const Syntax& tree, bool fits, std::string_view usage) const {
    if (fits) return absl::OkStatus();
    return Error(tree, fmt::format("{} arguments; write {}", tree.args.size(), usage));
  }

  // The field that a function looks at as a whole.
  absl::StatusOr<size_t> FieldArgument(const Syntax& tree) const {
    const Syntax& argument = *tree.args[0];
    if (argument.kind != Syntax::Kind::kField)
      return Error(argument, fmt::format("{} takes the name of a field", tree.text));
    return Column(argument);
  }

  absl::StatusOr<TermPtr> Length(const Syntax& tree) const {
    HR_RETURN_IF_ERROR(Count(tree, tree.args.size() == 1, "length(field)"));
    HR_ASSIGN_OR_RETURN(const size_t at, FieldArgument(tree));
    const headrace::Field& field = schema_[at];
    if (field.shape == Shape() && field.dtype == DType::kBytes) return MakeLength(at, true);
    if (field.shape.has_rank() && field.shape.rank() == 0) {
      return Error(*tree.args[0], fmt::format("field '{}' is one {}; it has no length", field.name,
                                              headrace::Name(field.dtype)));
    }
    return MakeDimension(at, 0, field.name);
  }

  absl::StatusOr<TermPtr> ShapeOf(const Syntax& tree) const {
    HR_RETURN_IF_ERROR(Count(tree, tree.args.size() == 2, "shape(field, 0)"));
    HR_ASSIGN_OR_RETURN(const size_t at, FieldArgument(tree));
    const Syntax& index = *tree.args[1];
    const headrace::Field& field = schema_[at];
    if (index.kind != Syntax::Kind::kInteger || index.integer < 0 ||
        index.integer >= static_cast<int64_t>(Shape::kMaxRank)) {
      return Error(index, fmt::format("shape takes a dimension from 0 to {}", Shape::kMaxRank - 1));
    }
    if (field.shape.has_rank() && index.integer >= static_cast<int64_t>(field.shape.rank())) {
      return Error(index, fmt::format("field '{}' is {}; it has no dimension {}", field.name,
                                      field.shape.ToString(), index.integer));
    }
    return MakeDimension(at, static_cast<size_t>(index.integer), field.name);
  }

  absl::StatusOr<TermPtr> Text(const Syntax& tree, TextTest test) const {
    HR_RETURN_IF_ERROR(Count(tree, tree.args.size() == 2, tree.text + "(text, 'part')"));
    HR_ASSIGN_OR_RETURN(std::vector<TermPtr> terms, CheckAll(tree));
    for (size_t i = 0; i < 2; ++i) {
      HR_RETURN_IF_ERROR(
          Expect(*tree.args[i], *terms[i], terms[i]->type() == ValueType::kText, "text"));
    }
    return MakeTextTest(test, std::move(terms[0]), std::move(terms[1]));
  }

  absl::StatusOr<TermPtr> Matching(const Syntax& tree) const {
    HR_RETURN_IF_ERROR(Count(tree, tree.args.size() == 2, "matches(text, 'regex')"));
    HR_ASSIGN_OR_RETURN(TermPtr text, Check(*tree.args[0]));
    HR_RETURN_IF_ERROR(Expect(*tree.args[0], *text, text->type() == ValueType::kText, "text"));
    const Syntax& pattern = *tree.args[1];
    if (pattern.kind != Syntax::Kind::kText)
      return Error(pattern, "matches takes its pattern as 'text'");
    absl::StatusOr<TermPtr> term = MakeMatches(std::move(text), pattern.text);
    if (!term.ok()) return Error(pattern, MessageOf(term.status()));
    return term;
  }

  absl::StatusOr<TermPtr> Numbers(const Syntax& tree) const {
    const bool absolute = tree.text == "abs";
    HR_RETURN_IF_ERROR(Count(tree, absolute ? tree.args.size() == 1 : tree.args.size() >= 2,
                             absolute ? "abs(a)" : tree.text + "(a, b)"));
    HR_ASSIGN_OR_RETURN(std::vector<TermPtr> terms, CheckAll(tree));
    HR_RETURN_IF_ERROR(ExpectNumbers(tree, terms));
    if (absolute) return MakeAbsolute(std::move(terms[0]), Where(tree));
    Unify(terms);
    return MakeExtreme(tree.text == "max", std::move(terms));
  }

  std::string_view source_;
  const Schema& schema_;
};

}  // namespace

absl::StatusOr<TermPtr> CheckCondition(std::string_view source, const Schema& schema) {
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Syntax> tree, Parse(source));
  const Checker checker(source, schema);
  HR_ASSIGN_OR_RETURN(TermPtr root, checker.Check(*tree));
  if (root->type() != ValueType::kBool) {
    return checker.Error(
        *tree, fmt::format("the whole is {}; a condition is true or false", Name(root->type())));
  }
  return root;
}

}  // namespace headrace::expression
