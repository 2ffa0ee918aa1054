// json_fields: takes a JSON record apart. The record gives way to the asked fields; the rest is
// stepped over.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/record/json_parser.h"
#include "pipeline/record/record_fields.h"

namespace headrace {
namespace {

struct JsonFieldsParams {
  StringMap fields;
  std::string field = "record";
};

class JsonFields final : public StatelessOp {
 public:
  JsonFields(std::string field, JsonParser parser)
      : field_(std::move(field)), parser_(std::move(parser)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    std::vector<RecordFields::Field> fields;
    for (const JsonParser::Field& field : parser_.fields())
      fields.push_back({field.path, field.type});
    return fields_.Bind(input, field_, fields);
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    JsonParser::Scratch scratch;
    fields_.Replace(block, [&](std::string_view record, std::span<Cell> cells) {
      return parser_.Parse(record, block.arena(), scratch, cells);
    });
    return absl::OkStatus();
  }

 private:
  std::string field_;
  JsonParser parser_;
  RecordFields fields_;
};

absl::StatusOr<std::unique_ptr<Op>> Make(JsonFieldsParams params) {
  std::vector<JsonParser::Field> fields;
  for (const auto& [path, text] : params.fields) {
    absl::StatusOr<FieldType> type = ParseFieldType(text);
    if (!type.ok()) return Annotate(type.status(), path);
    fields.push_back({path, *std::move(type)});
  }
  HR_ASSIGN_OR_RETURN(JsonParser parser, JsonParser::Create(std::move(fields)));
  return std::make_unique<JsonFields>(std::move(params.field), std::move(parser));
}

}  // namespace

void Register_json_fields(OpRegistry& registry) {
  ParamSet<JsonFieldsParams> params;
  params
      .Required("fields", &JsonFieldsParams::fields,
                "map of key to type (int64, bytes, float32[], ...; int64=0 gives records without "
                "it a value); a nested key "
                "is user.name or /items/0/id")
      .Optional("field", &JsonFieldsParams::field,
                "field to read (YAML gives fields only: rename the field to `record` first)");
  registry
      .Add<JsonFieldsParams>("json_fields",
                             "The asked fields of a JSON record, in place of the record.",
                             std::move(params), Make)
      .map_param = "fields";
}

}  // namespace headrace
