#include "pipeline/expression/expression.h"

#include <numeric>
#include <set>
#include <utility>

#include "pipeline/expression/checker.h"
#include "pipeline/expression/syntax.h"
#include "pipeline/expression/term.h"

namespace headrace {
namespace {

// The parser bounds the depth.
void GatherFields(const expression::Syntax& node, std::set<std::string>& out) {
  if (node.kind == expression::Syntax::Kind::kField) out.insert(node.text);
  for (const auto& argument : node.args) GatherFields(*argument, out);
}

}  // namespace

Condition::Condition(std::unique_ptr<Term> root) : root_(std::move(root)) {}
Condition::~Condition() = default;
Condition::Condition(Condition&&) noexcept = default;
Condition& Condition::operator=(Condition&&) noexcept = default;

absl::StatusOr<Condition> Condition::Compile(std::string_view text, const Schema& schema) {
  absl::StatusOr<TermPtr> root = expression::CheckCondition(text, schema);
  if (!root.ok()) return root.status();
  return Condition(*std::move(root));
}

absl::StatusOr<std::vector<std::string>> Condition::FieldsOf(std::string_view text) {
  const absl::StatusOr<std::unique_ptr<expression::Syntax>> tree = expression::Parse(text);
  if (!tree.ok()) return tree.status();
  std::set<std::string> fields;
  GatherFields(**tree, fields);
  return std::vector<std::string>(fields.begin(), fields.end());
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
