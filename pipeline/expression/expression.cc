#include "pipeline/expression/expression.h"

#include <numeric>
#include <utility>

#include "pipeline/expression/checker.h"
#include "pipeline/expression/term.h"

namespace headrace {

Condition::Condition(std::unique_ptr<Term> root) : root_(std::move(root)) {}
Condition::~Condition() = default;
Condition::Condition(Condition&&) noexcept = default;
Condition& Condition::operator=(Condition&&) noexcept = default;

absl::StatusOr<Condition> Condition::Compile(std::string_view text, const Schema& schema) {
  absl::StatusOr<TermPtr> root = expression::CheckCondition(text, schema);
  if (!root.ok()) return root.status();
  return Condition(*std::move(root));
}

void Condition::Evaluate(const Block& block, std::vector<uint8_t>& holds,
                         absl::FunctionRef<void(size_t row, absl::Status why)> fail) const {
  Evaluation evaluation(block, fail);
  std::vector<uint32_t> rows(block.rows());
  std::iota(rows.begin(), rows.end(), 0u);
  holds.assign(rows.size(), 0);
  static_cast<const BoolTerm&>(*root_).Evaluate(evaluation, rows, holds);
  for (uint32_t row : rows) {
    if (evaluation.failed(row)) holds[row] = 0;
  }
}

}  // namespace headrace
