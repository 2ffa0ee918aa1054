// Reads asked fields out of a JSON record (simdjson, on demand): the text is walked once, what was
// not asked for is stepped over unparsed (and so not checked beyond its brackets and its UTF-8).
//
// A field is named by its key; a nested one by keys joined with dots ("user.name") or by a JSON
// pointer (RFC 6901,
// "/items/0/id"), where a key may hold dots itself. A number among the keys is an index when an
// array is met. Of a key that stands twice the later counts. null is like a missing field.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "pipeline/record/field_type.h"

namespace headrace {

// Immutable after Create; many threads at once, each with its own Scratch.
class JsonParser {
 public:
  struct Field {
    std::string path;
    FieldType type;
  };
  // Memory that one block's records use in turn.
  class Scratch {
   public:
    Scratch();
    ~Scratch();
    Scratch(Scratch&&) noexcept;

   private:
    friend class JsonParser;
    friend class JsonWalk;
    struct State;
    std::unique_ptr<State> state_;
  };

  // INVALID_ARGUMENT for an empty key, a field that stands twice or lies inside another asked
  // field.
  static absl::StatusOr<JsonParser> Create(std::vector<Field> fields);

  const std::vector<Field>& fields() const { return fields_; }

  // cells[i] becomes field i, in `arena`. DATA_LOSS when the text is no JSON; INVALID_ARGUMENT when
  // a field is missing or holds something else than was asked, with the byte where it stands.
  absl::Status Parse(std::string_view json, Arena& arena, Scratch& scratch,
                     std::span<Cell> cells) const;

 private:
  friend class JsonWalk;
  static constexpr size_t kNoField = static_cast<size_t>(-1);

  // The asked paths as a tree. A leaf has a field, an inner node children.
  struct Node {
    std::string path;  // for messages
    size_t field = kNoField;
    std::vector<std::pair<std::string, size_t>> children;  // key, position in nodes_
  };

  explicit JsonParser(std::vector<Field> fields) : fields_(std::move(fields)), nodes_(1) {}
  absl::Status Insert(size_t field);
  // The child of `node` for `key`; nullptr when nothing asked lies there.
  const Node* Child(const Node& node, std::string_view key) const;

  std::vector<Field> fields_;
  std::vector<Node> nodes_;  // the first is the record
};

}  // namespace headrace
