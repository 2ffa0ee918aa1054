// The small language of conditions: `label != 3 && length(text) > 10`.
//
//   values     42  -1.5e3  'text'  "text"  true  false; field names (with dots); `any name` in
//   backticks operators  or ||, and &&, not !, == != < <= > >=, + -, * / %, - (loosest first);
//   parentheses functions  length(field): bytes of a string, else the first dimension; shape(field,
//   i): dimension i, from 0
//              contains(text, 'x'), starts_with(text, 'x'), ends_with(text, 'x')
//              matches(text, 'regex'): RE2 anywhere in the text (^ and $ anchor)
//              min(a, b, ...), max(a, b, ...), abs(a)
//
// What a number is: all integer fields are int64 here, all float fields float64; an integer beside
// a float becomes a float. As in Python, `/` always gives a float and `%` has the sign of its right
// side. An integer overflow, `%` by the integer 0 and a uint64 above int64's range fail their row;
// float division by zero gives inf or nan. NaN: every comparison with it is false but `!=`; min and
// max give NaN when one of theirs is. There is no null: a field that a record lacks has failed the
// record, or got its default, before. `and` and `or` look at their right side only for rows where
// it matters: `n != 0 && x % n == 1` fails no row.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "element/schema.h"

namespace headrace {

class Term;

// A checked condition over rows of one schema. Immutable; many threads at once.
class Condition {
 public:
  // INVALID_ARGUMENT with the character (from 1) where the text, a type or a name is wrong.
  static absl::StatusOr<Condition> Compile(std::string_view text, const Schema& schema);
  // The fields that `text` names, each once, in alphabetical order. INVALID_ARGUMENT where the text
  // itself is wrong.
  static absl::StatusOr<std::vector<std::string>> FieldsOf(std::string_view text);
  ~Condition();
  Condition(Condition&&) noexcept;
  Condition& operator=(Condition&&) noexcept;

  // holds[row] = 1 or 0 for each row of `block`; for a row whose value cannot be computed 0, and
  // fail(row, why) once.
  void Evaluate(const Block& block, std::vector<uint8_t>& holds,
                absl::FunctionRef<void(size_t row, absl::Status why)> fail) const;

 private:
  explicit Condition(std::unique_ptr<Term> root);
  std::unique_ptr<Term> root_;
};

}  // namespace headrace
