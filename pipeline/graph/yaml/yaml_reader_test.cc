#include "pipeline/graph/yaml/yaml_reader.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "pipeline/graph/fingerprint.h"
#include "pipeline/graph/test_ops.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;

struct RangeParams {
  int64_t count = 0;
  int64_t start = 0;
};
struct CompressedParams {
  std::string compression = "auto";
};

std::vector<FormatWords> Formats() {
  ParamSet<RangeParams> range;
  range.Required("count", &RangeParams::count, "how many")
      .Optional("start", &RangeParams::start, "the first");
  ParamSet<CompressedParams> tfrecord;
  tfrecord.Optional("compression", &CompressedParams::compression, "none, gzip, zlib or auto");
  return {{"range", "Numbers.", range.specs(), {}},
          {"tfrecord", "TFRecord.", tfrecord.specs(), {".tfrecord"}}};
}

absl::StatusOr<v1::PipelineDef> Read(std::string_view text) {
  const OpRegistry ops = test_ops::Registry();
  const std::vector<FormatWords> formats = Formats();
  const std::vector<std::string> passes = {"fuse_decode"};
  return ReadYaml(text, "train.yaml", {ops, formats, passes});
}

std::string Error(std::string_view text) {
  const absl::StatusOr<v1::PipelineDef> def = Read(text);
  if (def.ok()) return "OK";
  EXPECT_EQ(def.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(def.status().message().find('\n'), absl::string_view::npos) << "one line, please";
  return std::string(def.status().message());
}

// The error of a pipeline with these steps; the first stands in line 3.
std::string StepError(std::string_view steps) {
  return Error("source: {files: a.tfrecord, format: tfrecord}\nsteps:\n" + std::string(steps));
}

constexpr std::string_view kTrain = R"(name: imagenet-train
seed: 18446744073709551615
source: {files: "data/train-*.tfrecord", format: tfrecord, compression: gzip}
steps:
  - parse_example: {image: bytes, label: int64}
  - decode_image: image
  - random_resized_crop: {field: image, size: [224, 224]}
  - shuffle: {buffer: 10000, seed: 7}
  - shard
  - batch:
      size: 256
      drop_remainder: true
on_error: skip
max_errors: [100, 0.1%]
optimize: {fuse_decode: false}
)";

TEST(YamlReaderTest, EveryKeyFindsItsPlace) {
  const absl::StatusOr<v1::PipelineDef> def = Read(kTrain);
  ASSERT_TRUE(def.ok()) << def.status();
  EXPECT_EQ(def->name(), "imagenet-train");
  EXPECT_EQ(def->seed(), UINT64_MAX);
  EXPECT_THAT(def->source().files(), ElementsAre("data/train-*.tfrecord"));
  EXPECT_EQ(def->source().format(), "tfrecord");
  EXPECT_EQ(def->source().params().entries(0).value().text(), "gzip");
  EXPECT_EQ(def->source().location(), "train.yaml:3");
  ASSERT_EQ(def->steps_size(), 6);
  EXPECT_EQ(def->steps(0).params().entries(0).name(), "fields");
  EXPECT_EQ(def->steps(0).params().entries(0).value().map().entries(1).value().text(), "int64");
  EXPECT_EQ(def->steps(1).params().entries(0).name(), "field");
  EXPECT_EQ(def->steps(1).params().entries(0).value().text(), "image");
  EXPECT_EQ(def->steps(4).op(), "shard");
  EXPECT_FALSE(def->steps(4).has_params());
  EXPECT_EQ(def->steps(5).location(), "train.yaml:10");
  EXPECT_TRUE(def->steps(5).params().entries(1).value().boolean());
  EXPECT_EQ(def->errors().on_error(), v1::ON_ERROR_SKIP);
  EXPECT_EQ(def->errors().max_errors(), 100u);
  EXPECT_EQ(def->errors().max_error_fraction(), 0.001);
  EXPECT_THAT(def->disabled_passes(), ElementsAre("fuse_decode"));
}

TEST(YamlReaderTest, OtherSpellingsMeanTheSame) {
  const v1::PipelineDef def = Read(R"(
x-image: &image {field: image, size: [224, 224]}
source:
  files:
    - a.tfrecord
    - b.tfrecord
  format: tfrecord
steps:
  - parse_example: {<<: {image: bytes}, label: int64}
  - resize: {<<: *image, scale: 2}
  - resize: *image
  - batch: 4
optimize: false
on_error: fail
)")
                                  .value();
  EXPECT_THAT(def.source().files(), ElementsAre("a.tfrecord", "b.tfrecord"));
  EXPECT_EQ(def.steps(0).params().entries(0).value().map().entries_size(), 2);
  EXPECT_EQ(def.steps(1).params().entries_size(), 3);
  EXPECT_EQ(def.steps(2).params().entries_size(), 2);
  EXPECT_EQ(def.steps(3).params().entries(0).name(), "size");
  EXPECT_THAT(def.disabled_passes(), ElementsAre("all"));
  EXPECT_EQ(def.errors().on_error(), v1::ON_ERROR_FAIL);
  EXPECT_EQ(Read("source: {format: range, count: 10}").value().steps_size(), 0);
  EXPECT_EQ(Read("source: {format: range, count: 10}\nsteps:\n").value().steps_size(), 0);
}

TEST(YamlReaderTest, WhoKnowsNoFormatsTakesAny) {
  const OpRegistry ops = test_ops::Registry();
  const absl::StatusOr<v1::PipelineDef> def =
      ReadYaml("source: {files: a, format: parquet, columns: [a, b]}\noptimize: {x: false}",
               "t.yaml", {ops});
  ASSERT_TRUE(def.ok()) << def.status();
  EXPECT_EQ(def->source().params().entries(0).value().list().items_size(), 2);
}

TEST(YamlReaderTest, WrongPipelinesAreNamedWithPlaceAndRemedy) {
  EXPECT_EQ(Error(""),
            "train.yaml: empty; a pipeline begins with `source: {files: ..., format: ...}`");
  EXPECT_EQ(
      Error("- a\n- b"),
      "train.yaml:1:1: a pipeline is a map that begins with `source: {files: ..., format: ...}`");
  EXPECT_EQ(
      Error("just text"),
      "train.yaml:1:1: a pipeline is a map that begins with `source: {files: ..., format: ...}`");
  EXPECT_EQ(
      Error("name: a"),
      "train.yaml:1:1: the pipeline has no 'source'; write `source: {files: ..., format: ...}`");
  EXPECT_EQ(Error("sorce: {files: a}"),
            "train.yaml:1:1: unknown key 'sorce'; did you mean 'source'? (known: name, seed, "
            "source, steps, on_error, "
            "max_errors, optimize)");
  EXPECT_EQ(Error("batch: 4"),
            "train.yaml:1:1: 'batch' is a step; write `- batch: ...` under 'steps'");
  EXPECT_EQ(Error("name: a\nname: b"), "train.yaml:2:1: 'name' is given twice in the pipeline");
  EXPECT_EQ(Error("name: 5"),
            "train.yaml:1:7: 'name': expected text, got the integer 5; put it in quotes");
  EXPECT_EQ(Error("name: [a]"), "train.yaml:1:7: 'name': expected text, got a list");
  EXPECT_EQ(Error("seed: -1"),
            "train.yaml:1:7: 'seed': expected an integer from 0 to 18446744073709551615");
  EXPECT_EQ(Error("seed: \"1\""),
            "train.yaml:1:7: 'seed': expected an integer from 0 to 18446744073709551615");
  EXPECT_EQ(Error("source: {format: range, count: 1}\nname: \"a"),
            "train.yaml:2:9: illegal EOF in scalar");
  EXPECT_EQ(Error("source:\n\tformat: range"),
            "train.yaml:2:1: a tab in the indentation; YAML indents with spaces");
}

TEST(YamlReaderTest, WrongSourcesAreNamedWithPlaceAndRemedy) {
  EXPECT_EQ(Error("source: a.tfrecord"),
            "train.yaml:1:9: 'source' is a map; write `source: {files: ..., format: ...}`");
  EXPECT_EQ(Error("source: {files: [], format: tfrecord}"),
            "train.yaml:1:17: 'files' is an empty list");
  EXPECT_EQ(Error("source: {files: [a, ''], format: tfrecord}"),
            "train.yaml:1:21: 'files': a path is empty");
  EXPECT_EQ(Error("source: {files: 5, format: tfrecord}"),
            "train.yaml:1:17: 'files': expected text, got the integer 5; put it in quotes");
  EXPECT_EQ(Error("source: {files: a, format: tfrecrd}"),
            "train.yaml:1:28: format 'tfrecrd' is unknown; did you mean 'tfrecord'? (known: range, "
            "tfrecord)");
  EXPECT_EQ(Error("source:\n  files: a\n  formt: tfrecord"),
            "train.yaml:3:3: 'source' has no key 'formt'; did you mean 'format'? (known: files, "
            "format, and what the format takes)");
  EXPECT_EQ(Error("source: {files: a, format: tfrecord, compresion: gzip}"),
            "train.yaml:1:38: 'source' of format 'tfrecord' has no parameter 'compresion'; did you "
            "mean 'compression'? "
            "(known: files, format, compression)");
  EXPECT_EQ(Error("source: {format: range, count: ten}"),
            "train.yaml:1:32: 'source': count: expected an integer, got the text 'ten'");
}

TEST(YamlReaderTest, WrongStepsAreNamedWithPlaceAndRemedy) {
  EXPECT_EQ(StepError("  - btach: 4"),
            "train.yaml:3:5: step 'btach' is unknown; did you mean 'batch'?");
  EXPECT_EQ(StepError("  - frobnicate_all"),
            "train.yaml:3:5: step 'frobnicate_all' is unknown (known: batch, decode_image, "
            "parse_example, "
            "random_resized_crop, repeat, resize, shard, shuffle, take)");
  EXPECT_EQ(StepError("  - fused"),
            "train.yaml:3:5: step 'fused' is unknown (known: batch, decode_image, parse_example, "
            "random_resized_crop, repeat, resize, shard, shuffle, take)");
  EXPECT_EQ(StepError("  - batch: {sise: 4}"),
            "train.yaml:3:13: step 'batch' has no parameter 'sise'; did you mean 'size'?");
  EXPECT_EQ(
      StepError("  - batch: {completely: 4}"),
      "train.yaml:3:13: step 'batch' has no parameter 'completely' (known: size, drop_remainder)");
  EXPECT_EQ(StepError("  - shard: {a: 4}"),
            "train.yaml:3:13: step 'shard' has no parameter 'a' (it takes none)");
  EXPECT_EQ(StepError("  - batch: {size: big}"),
            "train.yaml:3:19: step 'batch': size: expected an integer, got the text 'big'");
  EXPECT_EQ(StepError("  - batch: {size: \"4\"}"),
            "train.yaml:3:19: step 'batch': size: expected an integer, got the text '4'");
  EXPECT_EQ(
      StepError("  - batch: {size: 4, drop_remainder: yes}"),
      "train.yaml:3:38: step 'batch': drop_remainder: expected true or false, got the text 'yes'");
  EXPECT_EQ(StepError("  - batch: {size: null}"),
            "train.yaml:3:19: step 'batch': size: expected an integer, got nothing");
  EXPECT_EQ(StepError("  - batch: {size: 4, size: 5}"),
            "train.yaml:3:22: 'size' is given twice in step 'batch'");
  EXPECT_EQ(StepError("  - batch:"),
            "train.yaml:3:5: step 'batch': parameter 'size' is missing: records in a batch");
  EXPECT_EQ(StepError("  - batch"),
            "train.yaml:3:5: step 'batch': parameter 'size' is missing: records in a batch");
  EXPECT_EQ(StepError("  - batch: [4, x]"),
            "train.yaml:3:12: step 'batch': size: expected an integer, got a list");
  EXPECT_EQ(StepError("  - resize: image"),
            "train.yaml:3:13: step 'resize' takes its parameters by name: `resize: {field: ...}`");
  EXPECT_EQ(StepError("  - shard: 4"), "train.yaml:3:12: step 'shard' takes no parameters");
  EXPECT_EQ(
      StepError("  - parse_example: {image: 5}"),
      "train.yaml:3:20: step 'parse_example': fields: image: expected text, got the integer 5");
  EXPECT_EQ(
      StepError("  - parse_example: {fields: {image: bytes}, feild: x}"),
      "train.yaml:3:45: step 'parse_example' has no parameter 'feild'; did you mean 'field'?");
  EXPECT_EQ(StepError("  - resize: {field: image, size: [8, b]}"),
            "train.yaml:3:34: step 'resize': size: expected a list of integers, got a list with "
            "the text 'b' in it");
  EXPECT_EQ(StepError("  - batch:\n    size: 4"),
            "train.yaml:4:5: 'size' stands beside the step 'batch'; indent the step's parameters "
            "further, and begin "
            "each step with '- '");
  EXPECT_EQ(
      StepError("  - [batch, 4]"),
      "train.yaml:3:5: a step is its name, or its name and parameters: `- batch: {size: 256}`");
  EXPECT_EQ(StepError("  - {}"), "train.yaml:3:5: a step without a name");
  EXPECT_EQ(StepError("  batch: 4"),
            "train.yaml:3:3: 'steps' is a list; begin each step with '- '");
}

TEST(YamlReaderTest, WrongPoliciesAreNamedWithPlaceAndRemedy) {
  const auto error = [](std::string_view rest) {
    return Error("source: {format: range, count: 1}\n" + std::string(rest));
  };
  EXPECT_EQ(error("on_error: ignore"), "train.yaml:2:11: 'on_error' is fail or skip");
  EXPECT_EQ(error("max_errors: 5"),
            "train.yaml:2:1: 'max_errors' counts skipped records; it needs `on_error: skip`");
  EXPECT_EQ(error("max_errors: 0"),
            "train.yaml:2:13: 'max_errors: 0' is `on_error: fail`; write that");
  EXPECT_EQ(
      error("max_errors: 0%"),
      "train.yaml:2:13: 'max_errors': expected a percentage above 0% and up to 100%, as 0.1%");
  EXPECT_EQ(
      error("max_errors: 101%"),
      "train.yaml:2:13: 'max_errors': expected a percentage above 0% and up to 100%, as 0.1%");
  EXPECT_EQ(
      error("max_errors: many"),
      "train.yaml:2:13: 'max_errors': expected a number of records (100) or a percentage (0.1%)");
  EXPECT_EQ(
      error("max_errors: 0.5"),
      "train.yaml:2:13: 'max_errors': expected a number of records (100) or a percentage (0.1%)");
  EXPECT_EQ(error("max_errors: [1%, 2%]"), "train.yaml:2:18: 'max_errors': two percentages");
  EXPECT_EQ(error("max_errors: [1, 2]"), "train.yaml:2:17: 'max_errors': two numbers of records");
  EXPECT_EQ(error("optimize: fast"),
            "train.yaml:2:11: 'optimize' is true, false or a map of pass: true or false");
  EXPECT_EQ(error("optimize: {fuse_decod: false}"),
            "train.yaml:2:12: optimizer pass 'fuse_decod' is unknown; did you mean 'fuse_decode'? "
            "(known: fuse_decode)");
  EXPECT_EQ(error("optimize: {fuse_decode: 0}"),
            "train.yaml:2:25: 'optimize': fuse_decode: expected true or false, got the integer 0");
}

}  // namespace
}  // namespace headrace
