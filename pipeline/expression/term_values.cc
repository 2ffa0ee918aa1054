// Constants, fields and what is known of a field's shape.
#include <algorithm>
#include <limits>
#include <utility>

#include "common/status.h"
#include "element/numeric.h"
#include "pipeline/expression/term.h"

namespace headrace {
namespace {

template <ValueType kType, typename Kept>
class Constant final : public TypedTerm<kType> {
 public:
  explicit Constant(Kept value) : value_(std::move(value)) {}
  void Evaluate(Evaluation&, RowList, std::span<ValueOf<kType>> out) const override {
    std::fill(out.begin(), out.end(), value_);
  }

 private:
  Kept value_;
};

// A numeric field; T as it lies in memory.
template <ValueType kType, typename T>
class NumberField final : public TypedTerm<kType> {
 public:
  NumberField(size_t column, std::string name) : column_(column), name_(std::move(name)) {}
  void Evaluate(Evaluation& evaluation, RowList rows,
                std::span<ValueOf<kType>> out) const override {
    const std::vector<Cell>& cells = evaluation.block().column(column_);
    for (size_t i = 0; i < rows.size(); ++i) {
      const T value = *reinterpret_cast<const T*>(cells[rows[i]].data);
      if constexpr (std::is_same_v<T, uint64_t>) {
        if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          evaluation.Fail(rows[i],
                          InvalidArgument("{} is {}, which is beyond int64", name_, value));
        }
      }
      if constexpr (kType == ValueType::kBool) {
        out[i] = value != 0 ? 1 : 0;
      } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        out[i] = ToFloat(value);
      } else {
        out[i] = static_cast<ValueOf<kType>>(value);
      }
    }
  }

 private:
  size_t column_;
  std::string name_;
};

class TextField final : public TextTerm {
 public:
  explicit TextField(size_t column) : column_(column) {}
  void Evaluate(Evaluation& evaluation, RowList rows,
                std::span<std::string_view> out) const override {
    const std::vector<Cell>& cells = evaluation.block().column(column_);
    for (size_t i = 0; i < rows.size(); ++i) out[i] = cells[rows[i]].string();
  }

 private:
  size_t column_;
};

class TextLength final : public IntegerTerm {
 public:
  explicit TextLength(size_t column) : column_(column) {}
  void Evaluate(Evaluation& evaluation, RowList rows, std::span<int64_t> out) const override {
    const std::vector<Cell>& cells = evaluation.block().column(column_);
    for (size_t i = 0; i < rows.size(); ++i) out[i] = static_cast<int64_t>(cells[rows[i]].bytes);
  }

 private:
  size_t column_;
};

class Dimension final : public IntegerTerm {
 public:
  Dimension(size_t column, size_t dim, std::string name)
      : column_(column), dim_(dim), name_(std::move(name)) {}
  void Evaluate(Evaluation& evaluation, RowList rows, std::span<int64_t> out) const override {
    const std::vector<Cell>& cells = evaluation.block().column(column_);
    for (size_t i = 0; i < rows.size(); ++i) {
      const Shape& shape = cells[rows[i]].shape;
      if (dim_ < shape.rank()) {
        out[i] = shape[dim_];
        continue;
      }
      out[i] = 0;
      evaluation.Fail(rows[i], InvalidArgument("{} is {}; it has no dimension {}", name_,
                                               shape.ToString(), dim_));
    }
  }

 private:
  size_t column_;
  size_t dim_;
  std::string name_;
};

}  // namespace

std::string_view Name(ValueType type) {
  constexpr std::string_view kNames[] = {"bool", "int64", "float64", "text"};
  return kNames[static_cast<size_t>(type)];
}

TermPtr MakeConstant(bool value) {
  return std::make_unique<Constant<ValueType::kBool, uint8_t>>(value ? 1 : 0);
}
TermPtr MakeConstant(int64_t value) {
  return std::make_unique<Constant<ValueType::kInteger, int64_t>>(value);
}
TermPtr MakeConstant(double value) {
  return std::make_unique<Constant<ValueType::kFloat, double>>(value);
}
TermPtr MakeConstant(std::string value) {
  return std::make_unique<Constant<ValueType::kText, std::string>>(std::move(value));
}

TermPtr MakeField(size_t column, DType dtype, std::string name) {
  if (dtype == DType::kBytes) return std::make_unique<TextField>(column);
  if (dtype == DType::kBool)
    return std::make_unique<NumberField<ValueType::kBool, uint8_t>>(column, std::move(name));
  return VisitNumeric(dtype, [&](auto tag) -> TermPtr {
    using T = typename decltype(tag)::type;
    constexpr ValueType kType = std::is_integral_v<T> ? ValueType::kInteger : ValueType::kFloat;
    return std::make_unique<NumberField<kType, T>>(column, std::move(name));
  });
}

TermPtr MakeLength(size_t column, bool is_string) {
  if (is_string) return std::make_unique<TextLength>(column);
  return std::make_unique<Dimension>(column, 0, "the field");
}
TermPtr MakeDimension(size_t column, size_t dim, std::string name) {
  return std::make_unique<Dimension>(column, dim, std::move(name));
}

}  // namespace headrace
