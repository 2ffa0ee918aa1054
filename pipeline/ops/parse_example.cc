// parse_example: takes a tf.train.Example apart. The record gives way to the asked features; those
// not asked for are not looked into.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/record/example_parser.h"
#include "pipeline/record/record_fields.h"

namespace headrace {
namespace {

struct ParseExampleParams {
  StringMap features;
  std::string field = "record";
};

class ParseExample final : public StatelessOp {
 public:
  ParseExample(std::string field, ExampleParser parser)
      : field_(std::move(field)), parser_(std::move(parser)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    std::vector<RecordFields::Field> fields;
    for (const ExampleParser::Feature& feature : parser_.features())
      fields.push_back({feature.name, feature.type});
    return fields_.Bind(input, field_, fields);
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    ExampleParser::Scratch scratch;
    fields_.Replace(block, [&](std::string_view record, std::span<Cell> cells) {
      return parser_.Parse(record, block.arena(), scratch, cells);
    });
    return absl::OkStatus();
  }

 private:
  std::string field_;
  ExampleParser parser_;
  RecordFields fields_;
};

absl::StatusOr<std::unique_ptr<Op>> Make(ParseExampleParams params) {
  std::vector<ExampleParser::Feature> features;
  for (const auto& [name, text] : params.features) {
    absl::StatusOr<FieldType> type = ParseFieldType(text);
    if (!type.ok()) return Annotate(type.status(), name);
    features.push_back({name, *std::move(type)});
  }
  HR_ASSIGN_OR_RETURN(ExampleParser parser, ExampleParser::Create(std::move(features)));
  return std::make_unique<ParseExample>(std::move(params.field), std::move(parser));
}

}  // namespace

void Register_parse_example(OpRegistry& registry) {
  ParamSet<ParseExampleParams> params;
  params
      .Required("features", &ParseExampleParams::features,
                "map of feature name to type: bytes, int64 or float32; int64[] for a list of any "
                "length, float32[4] for "
                "a fixed one; int64=0 gives records that lack it a value")
      .Optional("field", &ParseExampleParams::field, "field to read");
  registry
      .Add<ParseExampleParams>("parse_example",
                               "The asked features of a tf.train.Example, in place of the record.",
                               std::move(params), Make)
      .map_param = "features";
}

}  // namespace headrace
