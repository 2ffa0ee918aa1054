#include "pipeline/record/record_fields.h"

#include <iterator>

#include "common/status.h"

namespace headrace {

absl::StatusOr<Schema> RecordFields::Bind(const Schema& input, std::string_view record,
                                          const std::vector<Field>& fields) {
  HR_ASSIGN_OR_RETURN(at_, input.Require(record));
  const headrace::Field& found = input[at_];
  if (found.dtype != DType::kBytes || found.shape != Shape()) {
    return InvalidArgument("field '{}' is {} {}; expected one bytes value per row", record,
                           Name(found.dtype), found.shape.ToString());
  }
  if (fields.empty()) return InvalidArgument("no field is asked of '{}'", record);
  fields_ = fields.size();
  Schema out;
  for (size_t i = 0; i < input.size(); ++i) {
    if (i != at_) {
      out.Add(input[i]);
      continue;
    }
    for (const Field& field : fields) out.Add({field.name, field.type.dtype, field.type.shape});
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (out.Find(out[i].name) != i)
      return InvalidArgument("two fields would be called '{}'", out[i].name);
  }
  return out;
}

void RecordFields::Insert(Block& block, std::vector<std::vector<Cell>> columns) const {
  auto& all = block.columns();
  const auto at = all.erase(all.begin() + static_cast<ptrdiff_t>(at_));
  all.insert(at, std::make_move_iterator(columns.begin()), std::make_move_iterator(columns.end()));
}

}  // namespace headrace
