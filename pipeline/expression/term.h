// A checked part of a condition: knows its type, and computes its values for many rows at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "element/block.h"

namespace headrace {

enum class ValueType { kBool, kInteger, kFloat, kText };
std::string_view Name(ValueType type);

// The C++ type of each.
template <ValueType type>
using ValueOf = std::conditional_t<
    type == ValueType::kBool, uint8_t,
    std::conditional_t<type == ValueType::kInteger, int64_t,
                       std::conditional_t<type == ValueType::kFloat, double, std::string_view>>>;

// Rows of the block that are asked for, in ascending order.
using RowList = std::span<const uint32_t>;

// One evaluation over one block. Keeps which rows failed; of each, the first reason counts.
class Evaluation {
 public:
  Evaluation(const Block& block, absl::FunctionRef<void(size_t, absl::Status)> fail)
      : block_(block), fail_(fail), failed_(block.rows(), 0) {}

  const Block& block() const { return block_; }
  bool failed(uint32_t row) const { return failed_[row] != 0; }
  void Fail(uint32_t row, absl::Status why) {
    if (failed_[row] != 0) return;
    failed_[row] = 1;
    fail_(row, std::move(why));
  }

 private:
  const Block& block_;
  absl::FunctionRef<void(size_t, absl::Status)> fail_;
  std::vector<uint8_t> failed_;
};

class Term {
 public:
  explicit Term(ValueType type) : type_(type) {}
  virtual ~Term() = default;
  ValueType type() const { return type_; }

 private:
  ValueType type_;
};
using TermPtr = std::unique_ptr<Term>;

template <ValueType kType>
class TypedTerm : public Term {
 public:
  using Value = ValueOf<kType>;
  TypedTerm() : Term(kType) {}
  // out[i] is the value for rows[i]; any value where the row failed. out.size() == rows.size().
  virtual void Evaluate(Evaluation& evaluation, RowList rows, std::span<Value> out) const = 0;

  std::vector<Value> Evaluate(Evaluation& evaluation, RowList rows) const {
    std::vector<Value> out(rows.size());
    Evaluate(evaluation, rows, out);
    return out;
  }
};

using BoolTerm = TypedTerm<ValueType::kBool>;
using IntegerTerm = TypedTerm<ValueType::kInteger>;
using FloatTerm = TypedTerm<ValueType::kFloat>;
using TextTerm = TypedTerm<ValueType::kText>;

// `term` as what its type() says it is.
template <ValueType kType>
std::unique_ptr<TypedTerm<kType>> As(TermPtr term) {
  return std::unique_ptr<TypedTerm<kType>>(static_cast<TypedTerm<kType>*>(term.release()));
}

// --- Values
TermPtr MakeConstant(bool value);
TermPtr MakeConstant(int64_t value);
TermPtr MakeConstant(double value);
TermPtr MakeConstant(std::string value);
// The scalar at `column`, of `dtype`.
TermPtr MakeField(size_t column, DType dtype, std::string name);
// Bytes of a string or the first dimension; dimension `dim`.
TermPtr MakeLength(size_t column, bool is_string);
TermPtr MakeDimension(size_t column, size_t dim, std::string name);

// --- Operators; `symbol` is one of the language. The operands' types have been checked and made
// equal.
TermPtr MakeLogic(std::string_view symbol, TermPtr left, TermPtr right);  // && ||
TermPtr MakeNot(TermPtr operand);
TermPtr MakeComparison(std::string_view symbol, TermPtr left, TermPtr right);
// `where` says where in the text, for rows that fail.
TermPtr MakeArithmetic(char symbol, TermPtr left, TermPtr right, std::string where);  // + - * / %
TermPtr MakeNegation(TermPtr operand, std::string where);
TermPtr MakeToFloat(TermPtr integer);

// --- Functions
TermPtr MakeExtreme(bool largest, std::vector<TermPtr> operands);  // min, max
TermPtr MakeAbsolute(TermPtr operand, std::string where);
enum class TextTest { kContains, kStartsWith, kEndsWith };
TermPtr MakeTextTest(TextTest test, TermPtr text, TermPtr part);
// INVALID_ARGUMENT when RE2 refuses the pattern.
absl::StatusOr<TermPtr> MakeMatches(TermPtr text, const std::string& pattern);

}  // namespace headrace
