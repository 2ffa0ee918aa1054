// A pipeline spelled in C++; the same PipelineDef as from YAML and Python.
//
//   v1::PipelineDef def = PipelineBuilder("imagenet-train")
//                             .Read({"data/train-*.tfrecord"}, "tfrecord")
//                             .Step("parse_example", {{"fields", Map({{"image", "bytes"}})}})
//                             .Step("batch", {{"size", 256}, {"drop_remainder", true}})
//                             .Build();
//
// Nothing is checked here: Graph::Build does that and names the line. One thread; a value.
#pragma once

#include <concepts>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/v1/pipeline.pb.h"

namespace headrace {

// Any value of a parameter, made from its C++ spelling; lists by List, maps by Map, nothing is
// nullptr.
class Param {
 public:
  Param(std::nullptr_t) { value_.set_none(true); }
  Param(const char* text) { value_.set_text(text); }
  Param(std::string text) { value_.set_text(std::move(text)); }
  template <std::same_as<bool> T>
  Param(T value) {
    value_.set_boolean(value);
  }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Param(T value) {
    value_.set_integer(static_cast<int64_t>(value));
  }
  template <std::floating_point T>
  Param(T value) {
    value_.set_number(value);
  }
  explicit Param(v1::Value value) : value_(std::move(value)) {}

  const v1::Value& value() const { return value_; }

 private:
  v1::Value value_;
};

struct NamedParam {
  std::string name;
  Param value;
};
using Params = std::vector<NamedParam>;

Param List(const std::vector<Param>& items);
Param Map(const Params& entries);

class PipelineBuilder {
 public:
  explicit PipelineBuilder(std::string name = "") { def_.set_name(std::move(name)); }

  PipelineBuilder& Read(const std::vector<std::string>& files, std::string format,
                        const Params& params = {},
                        std::source_location where = std::source_location::current());
  PipelineBuilder& Step(std::string op, const Params& params = {},
                        std::source_location where = std::source_location::current());
  PipelineBuilder& Seed(uint64_t seed);
  // A failed record fails the job.
  PipelineBuilder& FailOnErrors();
  // Failed records are skipped, up to so many, or such a part of those read; 0: no bound.
  PipelineBuilder& SkipErrors(uint64_t max_errors = 0, double max_error_fraction = 0);
  // Switches an optimizer pass off; "all": every one.
  PipelineBuilder& WithoutPass(std::string pass);

  v1::PipelineDef Build() const { return def_; }

 private:
  v1::PipelineDef def_;
};

}  // namespace headrace
