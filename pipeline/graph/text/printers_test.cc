#include "pipeline/graph/text/printers.h"

#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/graph/test_ops.h"
#include "pipeline/graph/text/literals.h"
#include "pipeline/graph/yaml/yaml_reader.h"

namespace headrace {
namespace {

using google::protobuf::util::MessageDifferencer;

std::string Golden(const std::string& name) {
  const char* source = std::getenv("HEADRACE_SOURCE_DIR");
  std::ifstream file(std::string(source != nullptr ? source : ".") +
                     "/pipeline/graph/text/testdata/" + name);
  EXPECT_TRUE(file) << name << ": set HEADRACE_SOURCE_DIR or run from the source directory";
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

// The printed C++ is compiled here.
v1::PipelineDef FromCpp() {
#include "pipeline/graph/text/testdata/imagenet.cc.inc"
  return def;
}

v1::PipelineDef FromYaml() {
  return ReadYaml(Golden("imagenet.yaml"), "imagenet.yaml", {test_ops::Registry()}).value();
}

v1::PipelineDef WithoutLocations(v1::PipelineDef def) {
  def.mutable_source()->clear_location();
  for (v1::Step& step : *def.mutable_steps()) step.clear_location();
  return def;
}

TEST(PrintersTest, ThreeSpellingsOfOnePipeline) {
  const OpRegistry ops = test_ops::Registry();
  const v1::PipelineDef def = FromYaml();
  EXPECT_EQ(PrintYaml(def, ops).value(), Golden("imagenet.yaml"));
  EXPECT_EQ(PrintPython(def, ops).value(), Golden("imagenet.py.txt"));
  EXPECT_EQ(PrintCpp(def), Golden("imagenet.cc.inc"));
}

TEST(PrintersTest, ThePrintedCppBuildsTheSamePipeline) {
  const v1::PipelineDef from_cpp = FromCpp();
  EXPECT_TRUE(MessageDifferencer::Equals(WithoutLocations(from_cpp), WithoutLocations(FromYaml())))
      << from_cpp.DebugString();
  EXPECT_THAT(from_cpp.steps(2).location(), ::testing::MatchesRegex("imagenet.cc.inc:[0-9]+"));
}

TEST(PrintersTest, LongLinesBecomeBlocks) {
  const OpRegistry ops = test_ops::Registry();
  const std::string field(100, 'f');
  const v1::PipelineDef def = PipelineBuilder()
                                  .Read({"a", "b c"}, "range")
                                  .Step("resize", {{"field", field}, {"size", List({1, 2})}})
                                  .Build();
  EXPECT_EQ(PrintYaml(def, ops).value(),
            "source: {files: [a, \"b c\"], format: range}\nsteps:\n  - resize:\n      field: " +
                field + "\n      size: [1, 2]\n");
}

TEST(PrintersTest, PythonNamesThatAreNoneBecomeDictionaries) {
  const OpRegistry ops = test_ops::Registry();
  const v1::PipelineDef def =
      PipelineBuilder()
          .Read({}, "range", {{"count", 3}, {"lambda", nullptr}})
          .Step("parse_example", {{"fields", Map({{"class", "bool"}, {"b", "x"}})}})
          .Step("parse_example", {{"fields", Map({})}})
          .Build();
  EXPECT_EQ(PrintPython(def, ops).value(),
            "import headrace as hr\n\nds = (\n    hr.read(format=\"range\", count=3, "
            "**{\"lambda\": None})\n"
            "    .parse_example({\"class\": hr.bool_, \"b\": \"x\"})\n    .parse_example({})\n)\n");
}

TEST(PrintersTest, AMapParameterWithOthersIsSpelledOut) {
  const OpRegistry ops = test_ops::Registry();
  const v1::PipelineDef def =
      PipelineBuilder()
          .Read({}, "range")
          .Step("parse_example", {{"field", "example"}, {"fields", Map({{"image", "bytes"}})}})
          .Build();
  const std::string yaml = PrintYaml(def, ops).value();
  EXPECT_EQ(yaml,
            "source: {format: range}\nsteps:\n"
            "  - parse_example: {field: example, fields: {image: bytes}}\n");
  EXPECT_TRUE(MessageDifferencer::Equals(WithoutLocations(ReadYaml(yaml, "t.yaml", {ops}).value()),
                                         WithoutLocations(def)));
  EXPECT_EQ(PrintPython(def, ops).value(),
            "import headrace as hr\n\nds = (\n    hr.read(format=\"range\")\n"
            "    .parse_example({\"image\": hr.bytes_}, field=\"example\")\n)\n");
}

TEST(PrintersTest, WhatYamlCannotSayIsAnError) {
  const OpRegistry ops = test_ops::Registry();
  const auto error = [&](const v1::PipelineDef& def) {
    return std::string(PrintYaml(def, ops).status().message());
  };
  EXPECT_EQ(error(PipelineBuilder().Step("btach").Build()),
            "unknown step 'btach'; did you mean 'batch'?");
  EXPECT_EQ(error(PipelineBuilder().Step("batch", {{"", 4}}).Build()), "a parameter has no name");
  EXPECT_EQ(error(PipelineBuilder().Step("parse_example", {{"fields", 4}}).Build()),
            "step 'parse_example' can't be written in YAML without a map 'fields'");
  EXPECT_EQ(error(PipelineBuilder().Read({}, "range", {{"files", 4}}).Build()),
            "the source has a parameter named 'files'");
}

TEST(LiteralsTest, EveryLanguageQuotesWhatItMust) {
  EXPECT_EQ(YamlText("data/a-1.txt"), "data/a-1.txt");
  for (const char* word :
       {"true", "null", "yes", "No", "~", "", "5", "a b", "a: b", "#a", "-a", "a*", "<<", "{"}) {
    EXPECT_EQ(YamlText(word), "\"" + std::string(word) + "\"");
  }
  EXPECT_EQ(YamlText("\"\\\n\t\x01\xC2\x85\xE2\x80\xA8gr\xC3\xBC\xC3\x9F"),
            "\"\\\"\\\\\\n\\t\\x01\\u0085\\u2028gr\xC3\xBC\xC3\x9F\"");
  EXPECT_EQ(YamlText("hi\xFF"), "!!binary \"aGn/\"");
  EXPECT_EQ(PythonText("a\"b\n"), "\"a\\\"b\\n\"");
  EXPECT_EQ(PythonText("a\"\xFF"), "b\"a\\\"\\xff\"");
  EXPECT_EQ(CppText("a\"?"
                    "?/\n\x01\x31\xFF"),
            "\"a\\\"\\?\\?/\\n\\0011\\377\"");
  EXPECT_EQ(CppText(std::string("a\0b", 3)), "std::string(\"a\\000b\", 3)");
}

TEST(LiteralsTest, NumbersKeepTheirTypeAndValue) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(YamlLiteral(Param(1.0).value()), "1.0");
  EXPECT_EQ(YamlLiteral(Param(1e20).value()), "1e+20");
  EXPECT_EQ(YamlLiteral(Param(-inf).value()), "-.inf");
  EXPECT_EQ(YamlLiteral(Param(1).value()), "1");
  EXPECT_EQ(PythonLiteral(Param(inf).value()), "float(\"inf\")");
  EXPECT_EQ(PythonLiteral(Param(nullptr).value()), "None");
  EXPECT_EQ(PythonLiteral(List({true, 0.1}).value()), "[True, 0.1]");
  EXPECT_EQ(CppLiteral(Param(-inf).value()), "-std::numeric_limits<double>::infinity()");
  EXPECT_EQ(CppLiteral(Param(INT64_MIN).value()), "INT64_MIN");
  EXPECT_EQ(CppLiteral(Map({{"a", List({nullptr})}}).value()), "Map({{\"a\", List({nullptr})}})");
}

}  // namespace
}  // namespace headrace
