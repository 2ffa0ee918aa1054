#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "pipeline/formats/testing/read_all.h"
#include "pipeline/sources/memory_file_system.h"

namespace headrace {
namespace {

using testing_formats::MakeFormat;
using testing_formats::NewFormat;
using testing_formats::ReadOutcome;
using testing_formats::ReadSplit;

SchemaPtr SchemaOf(Format& format) {
  MemoryFileSystem files;
  return std::make_shared<const Schema>(*format.RecordSchema(files, {}));
}

std::vector<ReadOutcome> ReadAll(Format& format, const SplitOptions& options = {},
                                 const ReadLimits& limits = {}) {
  MemoryFileSystem files;
  std::vector<ReadOutcome> out;
  uint64_t id = 0;
  const auto splits = format.SplitsWithoutFiles(options);
  for (v1::Split split : *splits) {
    split.set_id(id++);
    out.push_back(ReadSplit(format, files, split, SchemaOf(format), limits));
  }
  return out;
}

TEST(RangeTest, CountsOverAllSplits) {
  auto format = NewFormat("range", {{"elements", ToValue(int64_t{10})},
                                    {"bytes", ToValue(int64_t{12})},
                                    {"split_elements", ToValue(int64_t{4})}});
  EXPECT_EQ(SchemaOf(*format)->ToString(), "{index: int64 [], data: uint8 [12]}");
  const auto splits = ReadAll(*format);
  ASSERT_EQ(splits.size(), 3u);
  int64_t expected = 0;
  for (const ReadOutcome& split : splits) {
    for (const auto& row : split.rows) {
      int64_t index = -1;
      std::memcpy(&index, row.cells[0].data(), sizeof(index));
      EXPECT_EQ(index, expected++);
      EXPECT_EQ(row.cells[1].size(), 12u);
    }
  }
  EXPECT_EQ(expected, 10);
}

TEST(RangeTest, ContentDependsOnTheIndexAlone) {
  const auto content = [](int64_t split_elements, size_t max_rows) {
    auto format = NewFormat("range", {{"elements", ToValue(int64_t{50})},
                                      {"bytes", ToValue(int64_t{64})},
                                      {"split_elements", ToValue(split_elements)}});
    std::vector<std::string> out;
    const auto splits = ReadAll(*format, {}, {.max_rows = max_rows});
    for (const ReadOutcome& split : splits) {
      for (const auto& row : split.rows) out.push_back(row.cells[1]);
    }
    return out;
  };
  const auto whole = content(50, 64);
  EXPECT_EQ(content(7, 3), whole);
  EXPECT_EQ(std::set<std::string>(whole.begin(), whole.end()).size(), 50u);
}

TEST(RangeTest, FloatsAreFinite) {
  auto format = NewFormat("range", {{"elements", ToValue(int64_t{100})},
                                    {"bytes", ToValue(int64_t{32})},
                                    {"dtype", ToValue(std::string("float32"))}});
  EXPECT_EQ(SchemaOf(*format)->ToString(), "{index: int64 [], data: float32 [8]}");
  const auto splits = ReadAll(*format);
  for (const auto& row : splits[0].rows) {
    float values[8];
    std::memcpy(values, row.cells[1].data(), sizeof(values));
    for (float v : values) EXPECT_TRUE(std::isfinite(v) && v >= 0 && v < 2) << v;
  }
}

TEST(RangeTest, SplitsFollowTheTargetSize) {
  auto format =
      NewFormat("range", {{"elements", ToValue(int64_t{1000})}, {"bytes", ToValue(int64_t{1016})}});
  const auto splits = *format->SplitsWithoutFiles({.target_bytes = 100 << 10});
  EXPECT_EQ(splits.size(), 10u);
  EXPECT_EQ(splits.back().end(), 1000u);
}

TEST(RangeTest, EmptyAndWrongParameters) {
  EXPECT_TRUE(
      NewFormat("range", {{"elements", ToValue(int64_t{0})}})->SplitsWithoutFiles({})->empty());
  EXPECT_FALSE(MakeFormat("range").ok());
  EXPECT_FALSE(MakeFormat("range", {{"elements", ToValue(int64_t{-1})}}).ok());
  EXPECT_FALSE(MakeFormat("range", {{"elements", ToValue(int64_t{1})},
                                    {"bytes", ToValue(int64_t{6})},
                                    {"dtype", ToValue(std::string("int32"))}})
                   .ok());
  EXPECT_FALSE(MakeFormat("range", {{"elements", ToValue(int64_t{1})},
                                    {"dtype", ToValue(std::string("bytes"))}})
                   .ok());
}

}  // namespace
}  // namespace headrace
