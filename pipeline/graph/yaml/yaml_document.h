// One YAML text and what we ask of it: places for messages, maps with merge keys and without
// duplicates, typed scalars (YAML 1.2 core schema: `yes` and `on` are text), and a bound on what
// aliases may expand to. yaml-cpp's exceptions stop at Parse; the other methods may throw
// YAML::Exception, which ReadYaml catches. Used by one thread, for one read.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"

namespace headrace {

struct YamlEntry {
  std::string key;
  YAML::Node key_node;
  YAML::Node value;
};

class YamlDocument {
 public:
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr int kMaxDepth = 32;
  static constexpr size_t kMaxValues = 100'000;  // nodes looked at, each alias counted anew

  // Refuses other encodings than UTF-8, tabs in the indentation, more than kMaxBytes and more or
  // less than one document.
  static absl::StatusOr<YamlDocument> Parse(std::string_view text, std::string_view file);

  const YAML::Node& root() const { return root_; }
  // "train.yaml:9:5: `message`", INVALID_ARGUMENT.
  absl::Status Error(const YAML::Node& at, std::string_view message) const;
  // "train.yaml:9"
  std::string Location(const YAML::Node& at) const;

  // The entries of a map in the order written, those of its merge keys (`<<`) after them. `what`
  // names the map in messages: "'source'".
  absl::StatusOr<std::vector<YamlEntry>> Entries(const YAML::Node& map, std::string_view what);
  absl::StatusOr<v1::Value> Value(const YAML::Node& node);

 private:
  explicit YamlDocument(std::string_view file) : file_(file) {}
  absl::Status AddEntries(const YAML::Node& map, std::string_view what, int depth, bool merged,
                          std::vector<YamlEntry>& out);
  absl::Status Merge(const YAML::Node& value, std::string_view what, int depth,
                     std::vector<YamlEntry>& out);
  absl::StatusOr<v1::Value> ValueAt(const YAML::Node& node, int depth);
  absl::StatusOr<v1::Value> Scalar(const YAML::Node& node) const;
  absl::Status Spend(const YAML::Node& at, int depth);

  std::string file_;
  YAML::Node root_;
  size_t values_ = 0;
};

// True when a plain scalar spelled like this is text: neither null, boolean nor number.
bool PlainIsText(std::string_view word);

}  // namespace headrace
