// min, max, abs; tests of text.
#include <re2/re2.h>

#include <cmath>
#include <limits>
#include <utility>

#include "common/status.h"
#include "pipeline/expression/term.h"

namespace headrace {
namespace {

template <ValueType kType>
using TermOf = std::unique_ptr<TypedTerm<kType>>;

template <ValueType kType>
class Extreme final : public TypedTerm<kType> {
 public:
  Extreme(bool largest, std::vector<TermPtr> operands) : largest_(largest) {
    for (TermPtr& operand : operands) operands_.push_back(As<kType>(std::move(operand)));
  }
  void Evaluate(Evaluation& evaluation, RowList rows,
                std::span<ValueOf<kType>> out) const override {
    operands_[0]->Evaluate(evaluation, rows, out);
    for (size_t operand = 1; operand < operands_.size(); ++operand) {
      const auto values = operands_[operand]->Evaluate(evaluation, rows);
      for (size_t i = 0; i < out.size(); ++i) {
        const bool better = largest_ ? values[i] > out[i] : values[i] < out[i];
        if (better || values[i] != values[i])
          out[i] = values[i];  // NaN takes all; it is never beaten
      }
    }
  }

 private:
  bool largest_;
  std::vector<TermOf<kType>> operands_;
};

template <ValueType kType>
class Absolute final : public TypedTerm<kType> {
 public:
  Absolute(TermOf<kType> operand, std::string where)
      : operand_(std::move(operand)), where_(std::move(where)) {}
  void Evaluate(Evaluation& evaluation, RowList rows,
                std::span<ValueOf<kType>> out) const override {
    operand_->Evaluate(evaluation, rows, out);
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (kType == ValueType::kFloat) {
        out[i] = std::fabs(out[i]);
      } else if (out[i] == std::numeric_limits<int64_t>::min()) {
        evaluation.Fail(rows[i],
                        InvalidArgument("abs({}) does not fit int64 ({})", out[i], where_));
      } else {
        out[i] = std::abs(out[i]);
      }
    }
  }

 private:
  TermOf<kType> operand_;
  std::string where_;
};

class TextTestTerm final : public BoolTerm {
 public:
  TextTestTerm(TextTest test, TermOf<ValueType::kText> text, TermOf<ValueType::kText> part)
      : test_(test), text_(std::move(text)), part_(std::move(part)) {}
  void Evaluate(Evaluation& evaluation, RowList rows, std::span<uint8_t> out) const override {
    const std::vector<std::string_view> texts = text_->Evaluate(evaluation, rows);
    const std::vector<std::string_view> parts = part_->Evaluate(evaluation, rows);
    for (size_t i = 0; i < out.size(); ++i) out[i] = Holds(texts[i], parts[i]) ? 1 : 0;
  }

 private:
  bool Holds(std::string_view text, std::string_view part) const {
    switch (test_) {
      case TextTest::kContains:
        return text.find(part) != std::string_view::npos;
      case TextTest::kStartsWith:
        return text.starts_with(part);
      case TextTest::kEndsWith:
        return text.ends_with(part);
    }
    return false;
  }

  TextTest test_;
  TermOf<ValueType::kText> text_, part_;
};

class Matches final : public BoolTerm {
 public:
  Matches(TermOf<ValueType::kText> text, std::unique_ptr<RE2> pattern)
      : text_(std::move(text)), pattern_(std::move(pattern)) {}
  void Evaluate(Evaluation& evaluation, RowList rows, std::span<uint8_t> out) const override {
    const std::vector<std::string_view> texts = text_->Evaluate(evaluation, rows);
    for (size_t i = 0; i < out.size(); ++i) {
      const re2::StringPiece text(texts[i].data(), texts[i].size());
      out[i] = RE2::PartialMatch(text, *pattern_) ? 1 : 0;
    }
  }

 private:
  TermOf<ValueType::kText> text_;
  std::unique_ptr<RE2> pattern_;
};

}  // namespace

TermPtr MakeExtreme(bool largest, std::vector<TermPtr> operands) {
  if (operands[0]->type() == ValueType::kInteger) {
    return std::make_unique<Extreme<ValueType::kInteger>>(largest, std::move(operands));
  }
  return std::make_unique<Extreme<ValueType::kFloat>>(largest, std::move(operands));
}

TermPtr MakeAbsolute(TermPtr operand, std::string where) {
  if (operand->type() == ValueType::kInteger) {
    return std::make_unique<Absolute<ValueType::kInteger>>(
        As<ValueType::kInteger>(std::move(operand)), std::move(where));
  }
  return std::make_unique<Absolute<ValueType::kFloat>>(As<ValueType::kFloat>(std::move(operand)),
                                                       std::move(where));
}

TermPtr MakeTextTest(TextTest test, TermPtr text, TermPtr part) {
  return std::make_unique<TextTestTerm>(test, As<ValueType::kText>(std::move(text)),
                                        As<ValueType::kText>(std::move(part)));
}

absl::StatusOr<TermPtr> MakeMatches(TermPtr text, const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_unique<RE2>(pattern, options);
  if (!compiled->ok())
    return InvalidArgument("the regular expression '{}' is wrong: {}", pattern, compiled->error());
  return std::make_unique<Matches>(As<ValueType::kText>(std::move(text)), std::move(compiled));
}

}  // namespace headrace
