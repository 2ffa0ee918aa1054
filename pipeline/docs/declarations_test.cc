// What every declared step and format owes to YAML, Python and the docs.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "pipeline/formats/format.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/graph/text/literals.h"
#include "pipeline/graph/text/printers.h"
#include "pipeline/graph/yaml/yaml_reader.h"
#include "pipeline/passes/passes.h"

namespace headrace {
namespace {

OpRegistry Ops() {
  OpRegistry ops;
  RegisterAll_ops(ops);
  return ops;
}

std::vector<FormatWords> Formats() {
  FormatRegistry formats;
  RegisterAll_formats(formats);
  return WordsOf(formats);
}

void ExpectGoodParams(const std::vector<ParamSpec>& params, const std::string& owner) {
  std::set<std::string> seen;
  for (const ParamSpec& param : params) {
    EXPECT_TRUE(IsPythonName(param.name)) << owner << "." << param.name << " is no Python argument";
    EXPECT_TRUE(seen.insert(param.name).second) << owner << "." << param.name << " stands twice";
    EXPECT_FALSE(param.help.empty()) << owner << "." << param.name << " has no help";
    EXPECT_EQ(param.help.find('\n'), std::string::npos) << owner << "." << param.name;
  }
}

const ParamSpec* Find(const std::vector<ParamSpec>& params, const std::string& name) {
  for (const ParamSpec& param : params) {
    if (param.name == name) return &param;
  }
  return nullptr;
}

TEST(DeclarationsTest, EveryStepCanBeWrittenInYamlAndPython) {
  const OpRegistry ops = Ops();
  for (const OpSpec* op : ops.All()) {
    EXPECT_FALSE(op->help.empty()) << op->name;
    EXPECT_EQ(op->help.find('\n'), std::string::npos) << op->name << ": help is one line";
    EXPECT_GE(op->version, 1) << op->name;
    if (op->internal) continue;
    EXPECT_TRUE(IsPythonName(op->name)) << op->name << " is no Python method";
    EXPECT_NE(op->name, "options") << "the method of what is neither source nor step";
    ExpectGoodParams(op->params, op->name);
    if (!op->bare_param.empty()) {
      EXPECT_NE(Find(op->params, op->bare_param), nullptr)
          << op->name << ": bare_param is no parameter";
    }
    if (!op->map_param.empty()) {
      const ParamSpec* map = Find(op->params, op->map_param);
      ASSERT_NE(map, nullptr) << op->name << ": map_param is no parameter";
      EXPECT_EQ(map->type, ParamType::kStringMap) << op->name;
    }
    for (const ParamSpec& param : op->params) {
      EXPECT_TRUE(param.type != ParamType::kStringMap || !op->map_param.empty() || !param.required)
          << op->name << "." << param.name << ": a required map is what map_param is for";
    }
  }
}

TEST(DeclarationsTest, EveryFormatCanBeWrittenInYamlAndPython) {
  for (const FormatWords& format : Formats()) {
    EXPECT_FALSE(format.help.empty()) << format.name;
    ExpectGoodParams(format.params, format.name);
    for (const char* taken : {"files", "format"}) {
      EXPECT_EQ(Find(format.params, taken), nullptr)
          << format.name << "." << taken << " is the source's";
    }
    for (const std::string& extension : format.extensions) {
      EXPECT_TRUE(extension.starts_with('.')) << format.name << ": " << extension;
    }
  }
}

TEST(DeclarationsTest, EverySamplePipelineReadsAndPrints) {
  const char* source = std::getenv("HEADRACE_SOURCE_DIR");
  const std::filesystem::path folder =
      std::filesystem::path(source != nullptr ? source : ".") / "configs/pipelines";
  const OpRegistry ops = Ops();
  const std::vector<FormatWords> formats = Formats();
  const std::vector<std::string> passes = AllPasses().names();
  size_t samples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    ++samples;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto def = ReadYaml(text.str(), entry.path().filename().string(), {ops, formats, passes});
    ASSERT_TRUE(def.ok()) << def.status();
    const auto yaml = PrintYaml(*def, ops);
    ASSERT_TRUE(yaml.ok()) << yaml.status();
    const auto back = ReadYaml(*yaml, "printed.yaml", {ops, formats, passes});
    ASSERT_TRUE(back.ok()) << back.status() << "\n" << *yaml;
    EXPECT_EQ(PrintYaml(*back, ops).value(), *yaml);
    EXPECT_TRUE(PrintPython(*def, ops).ok());
  }
  EXPECT_GT(samples, 0u) << folder;
}

}  // namespace
}  // namespace headrace
