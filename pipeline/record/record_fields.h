// The change of schema and columns that steps share which take a record apart (parse_example,
// json_fields): one bytes field gives way, at its place, to the fields found in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "element/block.h"
#include "pipeline/record/field_type.h"

namespace headrace {

class RecordFields {
 public:
  struct Field {
    std::string name;
    FieldType type;
  };

  // Checks that `record` is one string per row and that no name is taken; returns the schema
  // without the record and with `fields` in its place.
  absl::StatusOr<Schema> Bind(const Schema& input, std::string_view record,
                              const std::vector<Field>& fields);

  // Calls parse(record bytes, cells) for each row; a status that is not OK fails the row.
  template <typename Parse>
  void Replace(Block& block, Parse&& parse) const {
    std::vector<std::vector<Cell>> columns(fields_, std::vector<Cell>(block.rows()));
    std::vector<Cell> cells(fields_);
    for (size_t row = 0; row < block.rows(); ++row) {
      if (absl::Status status = parse(block.column(at_)[row].string(), std::span<Cell>(cells));
          !status.ok()) {
        block.Fail(row, std::move(status));
        continue;
      }
      for (size_t i = 0; i < fields_; ++i) columns[i][row] = cells[i];
    }
    Insert(block, std::move(columns));
  }

 private:
  void Insert(Block& block, std::vector<std::vector<Cell>> columns) const;

  size_t at_ = 0;      // of the record in the input
  size_t fields_ = 0;  // how many come in its place
};

}  // namespace headrace
