// What each record of a stream looks like: an ordered list of named, typed fields. Checked when a
// pipeline is built; every Block carries the schema its rows follow.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "element/dtype.h"
#include "element/shape.h"

namespace headrace {

struct Field {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;  // may be dynamic or unknown

  bool operator==(const Field&) const = default;
};

class Schema {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  Schema() = default;
  explicit Schema(std::vector<Field> fields) : fields_(std::move(fields)) {}

  size_t size() const { return fields_.size(); }
  const Field& operator[](size_t i) const { return fields_[i]; }
  Field& operator[](size_t i) { return fields_[i]; }
  const std::vector<Field>& fields() const { return fields_; }
  void Add(Field field) { fields_.push_back(std::move(field)); }
  void Remove(size_t i) { fields_.erase(fields_.begin() + static_cast<ptrdiff_t>(i)); }
  // Position of `name`, or kNone.
  size_t Find(std::string_view name) const;
  // Position of `name`, or INVALID_ARGUMENT "no field 'imge'; did you mean 'image'? (fields: image,
  // label)".
  absl::StatusOr<size_t> Require(std::string_view name) const;
  // "{image: uint8 [?, ?, 3], label: int64 []}"
  std::string ToString() const;

  bool operator==(const Schema&) const = default;

 private:
  std::vector<Field> fields_;
};

using SchemaPtr = std::shared_ptr<const Schema>;

}  // namespace headrace
