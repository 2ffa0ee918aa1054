// What every format promises. A new format needs nothing but a sample file here.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "pipeline/formats/testing/archives.h"
#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"

namespace headrace {
namespace {

using namespace testing_formats;  // NOLINT: a test's own vocabulary

struct Sample {
  std::map<std::string, std::string> files;  // of at least six records together
  std::vector<std::pair<std::string_view, v1::Value>> params;
};

std::map<std::string, Sample> Samples() {
  std::map<std::string, Sample> out;
  std::string lines;
  std::string records;
  std::string members;
  for (int i = 0; i < 9; ++i) {
    const std::string n = std::to_string(i);
    lines += "{\"n\": " + n + "}\n";
    records += Framed("record " + n);
    members += Member(n + ".txt", "text " + n);
    out["image_folder"].files["/d/c/" + n + ".jpg"] = "image " + n;
  }
  out["range"].params = {{"elements", ToValue(int64_t{9})}};
  out["text"].files = {{"/d/a.txt", lines}, {"/d/b.txt", lines}};
  out["jsonl"].files = {{"/d/a.jsonl", lines}};
  out["tfrecord"].files = {{"/d/a.tfrecord", records}, {"/d/empty.tfrecord", ""}};
  out["webdataset"].files = {{"/d/a.tar", members}, {"/d/b.tar", members}};
  return out;
}

class FormatContractTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    RegisterAll_formats(registry_);
    spec_ = *registry_.Find(GetParam());
    const auto samples = Samples();
    const auto it = samples.find(GetParam());
    ASSERT_NE(it, samples.end()) << "give format '" << GetParam()
                                 << "' a sample in contract_test.cc";
    for (const auto& [path, bytes] : it->second.files) files_.Put(path, bytes);
    for (const auto& [name, value] : it->second.params) {
      v1::NamedValue* entry = params_.add_entries();
      entry->set_name(std::string(name));
      *entry->mutable_value() = value;
    }
    format_ = *spec_->make(params_);
    if (format_->has_files()) listing_ = {*files_.List("/d"), "/d"};
    schema_ = std::make_shared<const Schema>(*format_->RecordSchema(files_, listing_.files));
  }

  std::vector<v1::Split> Splits(uint64_t target) {
    auto splits = format_->has_files() ? *format_->SplitListing(files_, listing_, {target})
                                       : *format_->SplitsWithoutFiles({target});
    for (size_t i = 0; i < splits.size(); ++i) splits[i].set_id(i);
    return splits;
  }
  std::vector<std::vector<std::string>> Records(uint64_t target, const ReadLimits& limits = {}) {
    std::vector<std::vector<std::string>> out;
    for (const v1::Split& split : Splits(target)) {
      const ReadOutcome read = ReadSplit(*format_, files_, split, schema_, limits);
      EXPECT_TRUE(read.error.ok()) << read.error;
      EXPECT_TRUE(read.failures.empty()) << read.Messages();
      for (const ReadRow& row : read.rows) {
        EXPECT_EQ(row.run.split, split.id());
        out.push_back(row.cells);
      }
    }
    return out;
  }

  FormatRegistry registry_;
  const FormatSpec* spec_ = nullptr;
  MemoryFileSystem files_;
  v1::ValueMap params_;
  std::unique_ptr<Format> format_;
  Listing listing_;
  SchemaPtr schema_;
};

TEST_P(FormatContractTest, ExplainsItself) {
  EXPECT_TRUE(spec_->help.ends_with("."));
  for (const ParamSpec& param : spec_->params) EXPECT_FALSE(param.help.empty()) << param.name;
  for (const std::string& extension : spec_->extensions) EXPECT_TRUE(extension.starts_with("."));
  v1::ValueMap unknown = params_;
  unknown.add_entries()->set_name("no_such_parameter");
  EXPECT_EQ(spec_->make(unknown).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(FormatContractTest, SplitsArePureAndAnySizeGivesTheSameRecords) {
  const auto whole = Records(1ull << 40);
  EXPECT_GE(whole.size(), 6u);
  for (uint64_t target : {1u, 30u, 5000u}) {
    EXPECT_EQ(Records(target, {.max_rows = 2}), whole) << target;
    const auto once = Splits(target);
    const auto again = Splits(target);
    ASSERT_EQ(once.size(), again.size());
    for (size_t i = 0; i < once.size(); ++i) {
      EXPECT_EQ(once[i].SerializeAsString(), again[i].SerializeAsString());
    }
  }
}

TEST_P(FormatContractTest, BlocksKeepWithinTheirRows) {
  const auto splits = Splits(1ull << 40);
  auto reader = *format_->Open(files_, splits[0], schema_);
  Block block(schema_);
  ASSERT_TRUE(reader->Read({.max_rows = 3}, block).ok());
  EXPECT_EQ(block.rows(), 3u);
  EXPECT_EQ(block.columns().size(), schema_->size());
}

TEST_P(FormatContractTest, AChangedFileIsNeverReadAsTheOldOne) {
  if (!format_->has_files()) return;
  const auto splits = Splits(1ull << 40);
  for (const FileInfo& file : listing_.files) files_.Put(file.path, "another content");
  const ReadOutcome read = ReadSplit(*format_, files_, splits[0], schema_);
  EXPECT_TRUE(read.rows.empty());
  EXPECT_TRUE(read.error.code() == absl::StatusCode::kFailedPrecondition || !read.failures.empty());
}

TEST(FormatRegistryTest, AnExtensionStandsForOneFormat) {
  FormatRegistry registry;
  RegisterAll_formats(registry);
  std::set<std::string> seen;
  for (const FormatSpec* spec : registry.All()) {
    for (const std::string& extension : spec->extensions)
      EXPECT_TRUE(seen.insert(extension).second) << extension;
  }
}

std::vector<std::string> AllNames() {
  FormatRegistry registry;
  RegisterAll_formats(registry);
  std::vector<std::string> out;
  for (const FormatSpec* spec : registry.All()) out.push_back(spec->name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Every, FormatContractTest, ::testing::ValuesIn(AllNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace headrace
