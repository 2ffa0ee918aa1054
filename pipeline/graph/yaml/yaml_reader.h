// YAML text -> PipelineDef: what `headrace run train.yaml`, `explain` and Python's from_yaml read.
// Any thread; keeps nothing between calls.
//
//   name: imagenet-train
//   seed: 7
//   source: {files: "data/train-*.tfrecord", format: tfrecord}    # a format's own parameters stand
//   beside these steps:
//     - parse_example: {image: bytes, label: int64}
//     - batch: {size: 256, drop_remainder: true}
//   on_error: skip
//   max_errors: 0.1%                # or a number, or a list of both
//   optimize: {fuse_decode: false}  # or `false`: no rewrites at all
//
// Keys that begin with `x-` hold anchors for aliases and are not read. The words are in
// docs/pipelines.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/format_words.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {

struct YamlWords {
  const OpRegistry& ops;
  // When empty, any format with any parameters is taken (and refused later by who knows the
  // formats).
  std::span<const FormatWords> formats = {};
  // Names of optimizer passes; when empty, any name is taken.
  std::span<const std::string> passes = {};
};

// `file` is the name used in messages and in Step.location. Parameters are kept as the user gave
// them; their names and types are checked. INVALID_ARGUMENT is one line: "train.yaml:9:5: step
// 'btach' is unknown; did you mean 'batch'?"; OUT_OF_RANGE for a text over 1 MiB.
absl::StatusOr<v1::PipelineDef> ReadYaml(std::string_view text, std::string_view file,
                                         const YamlWords& words);

}  // namespace headrace
