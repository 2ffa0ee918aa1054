// Logic, comparisons and arithmetic.
#include <cmath>
#include <utility>

#include "common/status.h"
#include "pipeline/expression/term.h"

namespace headrace {
namespace {

template <ValueType kType>
using TermOf = std::unique_ptr<TypedTerm<kType>>;

// The right side is asked only for rows that the left side does not decide, nor fails.
class Logic final : public BoolTerm {
 public:
  Logic(bool is_and, TermOf<ValueType::kBool> left, TermOf<ValueType::kBool> right)
      : is_and_(is_and), left_(std::move(left)), right_(std::move(right)) {}

  void Evaluate(Evaluation& evaluation, RowList rows, std::span<uint8_t> out) const override {
    left_->Evaluate(evaluation, rows, out);
    std::vector<uint32_t> open_rows;
    std::vector<size_t> places;
    for (size_t i = 0; i < rows.size(); ++i) {
      if ((out[i] != 0) != is_and_ || evaluation.failed(rows[i])) continue;
      open_rows.push_back(rows[i]);
      places.push_back(i);
    }
    if (open_rows.empty()) return;
    const std::vector<uint8_t> right = right_->Evaluate(evaluation, open_rows);
    for (size_t i = 0; i < places.size(); ++i) out[places[i]] = right[i];
  }

 private:
  bool is_and_;
  TermOf<ValueType::kBool> left_, right_;
};

class Not final : public BoolTerm {
 public:
  explicit Not(TermOf<ValueType::kBool> operand) : operand_(std::move(operand)) {}
  void Evaluate(Evaluation& evaluation, RowList rows, std::span<uint8_t> out) const override {
    operand_->Evaluate(evaluation, rows, out);
    for (uint8_t& value : out) value = value == 0 ? 1 : 0;
  }

 private:
  TermOf<ValueType::kBool> operand_;
};

// Both operands' values, then `Combine(a, b)` of each pair.
template <ValueType kType, typename Combine>
class Comparison final : public BoolTerm {
 public:
  Comparison(TermOf<kType> left, TermOf<kType> right)
      : left_(std::move(left)), right_(std::move(right)) {}
  void Evaluate(Evaluation& evaluation, RowList rows, std::span<uint8_t> out) const override {
    const auto left = left_->Evaluate(evaluation, rows);
    const auto right = right_->Evaluate(evaluation, rows);
    for (size_t i = 0; i < out.size(); ++i) out[i] = Combine()(left[i], right[i]) ? 1 : 0;
  }

 private:
  TermOf<kType> left_, right_;
};

template <ValueType kType>
TermPtr Compare(std::string_view symbol, TermPtr left, TermPtr right) {
  const auto make = [&]<typename Combine>(Combine) -> TermPtr {
    return std::make_unique<Comparison<kType, Combine>>(As<kType>(std::move(left)),
                                                        As<kType>(std::move(right)));
  };
  if (symbol == "==") return make(std::equal_to<>());
  if (symbol == "!=") return make(std::not_equal_to<>());
  if (symbol == "<") return make(std::less<>());
  if (symbol == "<=") return make(std::less_equal<>());
  if (symbol == ">") return make(std::greater<>());
  return make(std::greater_equal<>());
}

// False when the result does not fit int64, or there is none.
bool Calculate(char symbol, int64_t a, int64_t b, int64_t& out) {
  switch (symbol) {
    case '+':
      return !__builtin_add_overflow(a, b, &out);
    case '-':
      return !__builtin_sub_overflow(a, b, &out);
    case '*':
      return !__builtin_mul_overflow(a, b, &out);
    default:
      break;
  }
  out = 0;
  if (b == 0) return false;
  if (b == -1) return true;  // any number; and INT64_MIN % -1 traps
  out = a % b;
  if (out != 0 && (out < 0) != (b < 0)) out += b;
  return true;
}

double Calculate(char symbol, double a, double b) {
  switch (symbol) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    default:
      break;
  }
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <ValueType kType>
class Arithmetic final : public TypedTerm<kType> {
 public:
  Arithmetic(char symbol, TermOf<kType> left, TermOf<kType> right, std::string where)
      : symbol_(symbol),
        left_(std::move(left)),
        right_(std::move(right)),
        where_(std::move(where)) {}

  void Evaluate(Evaluation& evaluation, RowList rows,
                std::span<ValueOf<kType>> out) const override {
    left_->Evaluate(evaluation, rows, out);
    const auto right = right_->Evaluate(evaluation, rows);
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (kType == ValueType::kFloat) {
        out[i] = Calculate(symbol_, out[i], right[i]);
      } else {
        const int64_t left = out[i];
        if (Calculate(symbol_, left, right[i], out[i])) continue;
        const std::string_view why = symbol_ == '%' ? "has no result" : "does not fit int64";
        evaluation.Fail(rows[i],
                        InvalidArgument("{} {} {} {} ({})", left, symbol_, right[i], why, where_));
      }
    }
  }

 private:
  char symbol_;
  TermOf<kType> left_, right_;
  std::string where_;
};

template <ValueType kType>
class Negation final : public TypedTerm<kType> {
 public:
  Negation(TermOf<kType> operand, std::string where)
      : operand_(std::move(operand)), where_(std::move(where)) {}
  void Evaluate(Evaluation& evaluation, RowList rows,
                std::span<ValueOf<kType>> out) const override {
    operand_->Evaluate(evaluation, rows, out);
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (kType == ValueType::kFloat) {
        out[i] = -out[i];
      } else if (__builtin_sub_overflow(int64_t{0}, out[i], &out[i])) {
        evaluation.Fail(rows[i], InvalidArgument("-({}) does not fit int64 ({})", out[i], where_));
      }
    }
  }

 private:
  TermOf<kType> operand_;
  std::string where_;
};

class ToFloatTerm final : public FloatTerm {
 public:
  explicit ToFloatTerm(TermOf<ValueType::kInteger> operand) : operand_(std::move(operand)) {}
  void Evaluate(Evaluation& evaluation, RowList rows, std::span<double> out) const override {
    const std::vector<int64_t> values = operand_->Evaluate(evaluation, rows);
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(values[i]);
  }

 private:
  TermOf<ValueType::kInteger> operand_;
};

}  // namespace

TermPtr MakeLogic(std::string_view symbol, TermPtr left, TermPtr right) {
  return std::make_unique<Logic>(symbol == "&&", As<ValueType::kBool>(std::move(left)),
                                 As<ValueType::kBool>(std::move(right)));
}

TermPtr MakeNot(TermPtr operand) {
  return std::make_unique<Not>(As<ValueType::kBool>(std::move(operand)));
}

TermPtr MakeComparison(std::string_view symbol, TermPtr left, TermPtr right) {
  switch (left->type()) {
    case ValueType::kBool:
      return Compare<ValueType::kBool>(symbol, std::move(left), std::move(right));
    case ValueType::kInteger:
      return Compare<ValueType::kInteger>(symbol, std::move(left), std::move(right));
    case ValueType::kFloat:
      return Compare<ValueType::kFloat>(symbol, std::move(left), std::move(right));
    case ValueType::kText:
      break;
  }
  return Compare<ValueType::kText>(symbol, std::move(left), std::move(right));
}

TermPtr MakeArithmetic(char symbol, TermPtr left, TermPtr right, std::string where) {
  if (left->type() == ValueType::kInteger) {
    constexpr auto kInteger = ValueType::kInteger;
    return std::make_unique<Arithmetic<kInteger>>(symbol, As<kInteger>(std::move(left)),
                                                  As<kInteger>(std::move(right)), std::move(where));
  }
  constexpr auto kFloat = ValueType::kFloat;
  return std::make_unique<Arithmetic<kFloat>>(symbol, As<kFloat>(std::move(left)),
                                              As<kFloat>(std::move(right)), std::move(where));
}

TermPtr MakeNegation(TermPtr operand, std::string where) {
  if (operand->type() == ValueType::kInteger) {
    return std::make_unique<Negation<ValueType::kInteger>>(
        As<ValueType::kInteger>(std::move(operand)), std::move(where));
  }
  return std::make_unique<Negation<ValueType::kFloat>>(As<ValueType::kFloat>(std::move(operand)),
                                                       std::move(where));
}

TermPtr MakeToFloat(TermPtr integer) {
  return std::make_unique<ToFloatTerm>(As<ValueType::kInteger>(std::move(integer)));
}

}  // namespace headrace
