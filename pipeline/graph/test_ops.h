// A few steps for tests of the graph, without hr_ops. Not linked into any binary.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"

namespace headrace::test_ops {

struct FieldParams {
  std::string field;
};
struct ResizeParams {
  std::string field;
  std::vector<int64_t> size;
  double scale = 1.0;
  std::optional<int64_t> seed;
};
struct CountParams {
  int64_t count = 0;
};
struct BatchParams {
  int64_t size = 0;
  bool drop_remainder = false;
};
struct ShuffleParams {
  int64_t buffer = 0;
  std::optional<int64_t> seed;
};
struct ParseParams {
  StringMap fields;
  std::string field = "record";
};
struct NoParams {};

class Stateless : public StatelessOp {
 public:
  absl::StatusOr<Schema> Bind(const Schema& input) override { return input; }
  absl::Status Run(Block&, const StepContext&) const override { return absl::OkStatus(); }
};

class Parse final : public Stateless {
 public:
  explicit Parse(ParseParams p) : params_(std::move(p)) {}
  absl::StatusOr<Schema> Bind(const Schema&) override {
    Schema out;
    for (const auto& [name, type] : params_.fields) {
      HR_ASSIGN_OR_RETURN(const DType dtype, ParseDType(type));
      out.Add({name, dtype, Shape()});
    }
    return out;
  }

 private:
  ParseParams params_;
};

class Decode final : public Stateless {
 public:
  explicit Decode(FieldParams p) : field_(std::move(p.field)) {}
  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(const size_t at, input.Require(field_));
    if (input[at].dtype != DType::kBytes) return InvalidArgument("field '{}' is no bytes", field_);
    Schema out = input;
    out[at].dtype = DType::kUInt8;
    out[at].shape = {-1, -1, 3};
    return out;
  }

 private:
  std::string field_;
};

class Resize final : public Stateless {
 public:
  Resize(ResizeParams p, bool random) : params_(std::move(p)), random_(random) {}
  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(const size_t at, input.Require(params_.field));
    if (input[at].dtype != DType::kUInt8) {
      return InvalidArgument("field '{}' is {}; decode it first with decode_image", params_.field,
                             Name(input[at].dtype));
    }
    Schema out = input;
    out[at].shape = {params_.size[0], params_.size[1], 3};
    return out;
  }
  OpTraits traits() const override { return {.random = random_}; }

 private:
  ResizeParams params_;
  bool random_;
};

class PassOn final : public OpState {
 public:
  absl::Status Push(Block block, Emit emit) override {
    emit(std::move(block));
    return absl::OkStatus();
  }
  absl::Status Finish(Emit) override { return absl::OkStatus(); }
};

class Stateful final : public StatefulOp {
 public:
  Stateful(OpTraits traits, bool front) : traits_(traits), front_(front) {}
  absl::StatusOr<Schema> Bind(const Schema& input) override {
    Schema out = input;
    for (size_t i = 0; front_ && i < out.size(); ++i) out[i].shape = out[i].shape.WithFront(-1);
    return out;
  }
  OpTraits traits() const override { return traits_; }
  std::unique_ptr<OpState> NewState(const StepContext&) const override {
    return std::make_unique<PassOn>();
  }

 private:
  OpTraits traits_;
  bool front_;
};

using MadeOp = absl::StatusOr<std::unique_ptr<Op>>;

inline void RegisterImages(OpRegistry& registry) {
  ParamSet<ParseParams> parse;
  parse.Required("fields", &ParseParams::fields, "type of each field to keep")
      .Optional("field", &ParseParams::field, "field to read");
  registry
      .Add<ParseParams>(
          "parse_example", "Parse records.", parse,
          [](ParseParams p) -> MadeOp { return std::make_unique<Parse>(std::move(p)); })
      .map_param = "fields";
  ParamSet<FieldParams> decode;
  decode.Required("field", &FieldParams::field, "field that holds the file");
  registry
      .Add<FieldParams>(
          "decode_image", "Decode images.", decode,
          [](FieldParams p) -> MadeOp { return std::make_unique<Decode>(std::move(p)); })
      .bare_param = "field";
  ParamSet<ResizeParams> resize;
  resize.Required("field", &ResizeParams::field, "image field")
      .Required("size", &ResizeParams::size, "height and width in pixels")
      .Optional("scale", &ResizeParams::scale, "factor")
      .Optional("seed", &ResizeParams::seed, "of its own draws; default: the pipeline's");
  for (const bool random : {false, true}) {
    registry.Add<ResizeParams>(random ? "random_resized_crop" : "resize", "Change the size.",
                               resize, [random](ResizeParams p) -> MadeOp {
                                 if (p.size.size() != 2)
                                   return InvalidArgument("size: expected two integers");
                                 return std::make_unique<Resize>(std::move(p), random);
                               });
  }
}

inline void RegisterStream(OpRegistry& registry) {
  ParamSet<ShuffleParams> shuffle;
  shuffle.Required("buffer", &ShuffleParams::buffer, "records held")
      .Optional("seed", &ShuffleParams::seed, "of its own draws; default: the pipeline's");
  registry
      .Add<ShuffleParams>("shuffle", "Shuffle records.", shuffle,
                          [](ShuffleParams) -> MadeOp {
                            return std::make_unique<Stateful>(OpTraits{.random = true}, false);
                          })
      .bare_param = "buffer";
  ParamSet<BatchParams> batch;
  batch.Required("size", &BatchParams::size, "records in a batch")
      .Optional("drop_remainder", &BatchParams::drop_remainder, "drop a last, smaller batch");
  registry
      .Add<BatchParams>("batch", "Collate records.", batch,
                        [](BatchParams) -> MadeOp {
                          return std::make_unique<Stateful>(
                              OpTraits{.one_to_one = false, .emits_batches = true}, true);
                        })
      .bare_param = "size";
  ParamSet<CountParams> count;
  count.Required("count", &CountParams::count, "how many");
  registry
      .Add<CountParams>("take", "Keep the first records.", count,
                        [](CountParams) -> MadeOp {
                          return std::make_unique<Stateful>(
                              OpTraits{.one_to_one = false, .global_order = true}, false);
                        })
      .bare_param = "count";
  registry
      .Add<CountParams>("repeat", "Read the source several times an epoch.", count,
                        [](CountParams) -> MadeOp { return std::make_unique<Stateless>(); })
      .bare_param = "count";
  registry.Add<NoParams>("shard", "Cut the stream here.", ParamSet<NoParams>(),
                         [](NoParams) -> MadeOp { return std::make_unique<Stateless>(); });
  registry
      .Add<NoParams>("fused", "Made by the optimizer.", ParamSet<NoParams>(),
                     [](NoParams) -> MadeOp { return std::make_unique<Stateless>(); })
      .internal = true;
}

inline OpRegistry Registry() {
  OpRegistry registry;
  RegisterImages(registry);
  RegisterStream(registry);
  return registry;
}

}  // namespace headrace::test_ops
