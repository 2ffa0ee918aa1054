// Reads features out of the bytes of a tf.train.Example, without building the message: the bytes
// are walked once, only the asked features are looked into, and strings (and aligned floats) stay
// where they are.
//
//   Example  { Features features = 1; }
//   Features { map<string, Feature> feature = 1; }          an entry: key = 1, value = 2
//   Feature  { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }   each: repeated value = 1,
//   packed or not
//
// As protobuf reads it: unknown fields are passed over, of two features of one name the later
// counts, of two lists in one Feature the later kind counts and lists of one kind are joined. A
// Feature without a list counts as missing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "pipeline/record/field_type.h"

namespace headrace {

// Immutable after Create; many threads at once, each with its own Scratch.
class ExampleParser {
 public:
  struct Feature {
    std::string name;
    FieldType type;  // of bytes, int64 or float32
  };
  // Memory that one block's rows use in turn.
  class Scratch {
    friend class ExampleParser;
    std::vector<std::string_view> found_;    // per feature: the Feature message, empty when missing
    std::vector<std::string_view> strings_;  // of one list
  };

  // INVALID_ARGUMENT for another dtype, or a name that stands twice.
  static absl::StatusOr<ExampleParser> Create(std::vector<Feature> features);

  const std::vector<Feature>& features() const { return features_; }

  // cells[i] becomes feature i, borrowing from `example` or in `arena`, both of which must outlive
  // it. DATA_LOSS when the bytes are no Example, with the position; INVALID_ARGUMENT when a feature
  // is missing, of another kind or count.
  absl::Status Parse(std::string_view example, Arena& arena, Scratch& scratch,
                     std::span<Cell> cells) const;

 private:
  explicit ExampleParser(std::vector<Feature> features);

  absl::Status Find(std::string_view example, Scratch& scratch) const;
  absl::Status FindInEntry(std::string_view example, std::string_view entry,
                           Scratch& scratch) const;
  size_t IndexOf(std::string_view name) const;
  absl::Status Read(size_t i, std::string_view example, Arena& arena, Scratch& scratch,
                    Cell& cell) const;
  absl::Status Missing(size_t i, std::string_view example) const;

  std::vector<Feature> features_;
  std::vector<uint32_t> by_name_;  // positions in features_, sorted by (length, name)
};

}  // namespace headrace
