// For the cache's tests: splits whose bytes follow from their number and version, written into a
// tier and checked when they come back. No binary links this.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cache/disk_tier.h"
#include "cache/memory_tier.h"
#include "cache/tier.h"
#include "common/fake_clock.h"
#include "common/status.h"
#include "gtest/gtest.h"

namespace headrace::cache_test {

inline std::string Hex(uint64_t number) { return fmt::format("{:032x}", number); }
inline CacheKey KeyOf(uint64_t split, uint64_t version = 1, uint64_t prefix = 7) {
  return {Hex(prefix), Hex(split), Hex(version)};
}

// A directory that goes with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string made = (std::filesystem::temp_directory_path() / "hr-cache-XXXXXX").string();
    EXPECT_NE(::mkdtemp(made.data()), nullptr);
    path_ = made;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Frame `i` of a split: bytes that only this key and frame give.
inline std::string FrameBytes(const CacheKey& key, uint64_t i, size_t bytes) {
  const std::string word = fmt::format("{}/{}/{}/{};", key.prefix, key.place, key.version, i);
  std::string out;
  while (out.size() < bytes) out += word;
  out.resize(bytes);
  return out;
}

struct SplitShape {
  uint64_t frames = 3;
  size_t frame_bytes = 1000;
  uint64_t records_a_frame = 10;
  size_t bytes(uint64_t frame) const {
    return frame % 5 == 3 ? 0 : frame_bytes;  // some frames have no rows
  }
};

// Appends all frames; false as soon as the tier will have no more.
inline bool AppendAll(CacheFill& fill, const CacheKey& key, const SplitShape& shape) {
  for (uint64_t i = 0; i < shape.frames; ++i) {
    const std::string bytes = FrameBytes(key, i, shape.bytes(i));
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    const size_t half = bytes.size() / 2;
    const FrameSlice pieces[] = {{data, half}, {data + half, bytes.size() - half}};
    const NewFrame frame{.first = i * shape.records_a_frame,
                         .count = shape.records_a_frame,
                         .bytes = bytes.size(),
                         .pieces = pieces};
    if (!fill.Append(frame).ok()) return false;
  }
  return true;
}

inline bool Fill(CacheTier& tier, const CacheKey& key, const SplitShape& shape = {}) {
  auto fill = tier.Begin(key, nullptr);
  if (!fill.ok() || !AppendAll(**fill, key, shape)) return false;
  (*fill)->Commit();
  return true;
}

// Reads a split to its end. Every byte must be the one that was written: a wrong one is a test
// failure. The status is that of the reading.
inline absl::Status ReadAll(CachedSplit& split, const CacheKey& key, const SplitShape& shape) {
  std::string got, expected;
  uint64_t record = 0;
  while (true) {
    absl::StatusOr<std::optional<StoredFrame>> frame = split.Next();
    if (!frame.ok()) {
      // What came before the damage must be right all the same.
      for (uint64_t i = 0; i < shape.frames; ++i) expected += FrameBytes(key, i, shape.bytes(i));
      EXPECT_TRUE(expected.starts_with(got)) << "damaged bytes were served";
      return frame.status();
    }
    if (!*frame) break;
    EXPECT_EQ((*frame)->first, record);
    record += (*frame)->count;
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*frame)->frame.data.get()) % kFrameAlignment, 0u);
    got.append(reinterpret_cast<const char*>((*frame)->frame.data.get()), (*frame)->frame.size);
  }
  for (uint64_t i = 0; i < shape.frames; ++i) expected += FrameBytes(key, i, shape.bytes(i));
  EXPECT_TRUE(got == expected) << "other bytes than were written";
  EXPECT_EQ(record, shape.frames * shape.records_a_frame);
  EXPECT_EQ(split.records(), record);
  return absl::OkStatus();
}

// The split is there and whole. Fails the test when what is there is wrong.
inline bool ReadsBack(CacheTier& tier, const CacheKey& key, const SplitShape& shape = {}) {
  const std::unique_ptr<CachedSplit> split = tier.Find(key);
  return split != nullptr && ReadAll(*split, key, shape).ok();
}

inline std::vector<std::filesystem::path> FilesIn(const std::string& directory,
                                                  const std::string& extension = ".hrseg") {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == extension) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace headrace::cache_test
