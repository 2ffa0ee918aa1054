// How a pipeline spells what a field of a record holds (parse_example, json_fields):
//
//   bytes, int64, float32, ...   one value
//   int64[]                      a list of any length; shape [?]
//   float32[4], float32[2, 3]    exactly that many values
//   float32[?, 3]                as many as there are, in rows of 3
//   int64=0, bytes=, float32[4]=0, int64[]=
//                                as before, with a value for records that lack it: what follows `=`
//                                fills each item; a list of any length is then empty, and nothing
//                                may follow
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "element/block.h"

namespace headrace {

struct FieldType {
  DType dtype = DType::kInvalid;
  Shape shape;  // all dims positive, or the first one dynamic
  // What a record without the field gets: value of one item, as written.
  std::optional<std::string> default_text;

  // True when any number of values can be right.
  bool is_list() const { return shape.rank() > 0 && shape[0] == Shape::kDynamic; }
  // "float32[4]", without the default.
  std::string ToString() const;
};

// INVALID_ARGUMENT quotes `text` and says what is wrong.
absl::StatusOr<FieldType> ParseFieldType(std::string_view text);

// The cell of the default; ParseFieldType has checked that there is one to make.
// `type.default_text` must be set.
Cell DefaultCell(const FieldType& type, Arena& arena);

// The shape of `count` values of `type`, or INVALID_ARGUMENT "has 3 values; int64 takes 1 ...".
absl::StatusOr<Shape> ShapeOfValues(const FieldType& type, size_t count);

}  // namespace headrace
