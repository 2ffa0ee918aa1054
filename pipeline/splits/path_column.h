// Sorted paths in little memory: each is kept as what it does not share with the one before it,
// with a whole one every few. Appended to, read at random.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class PathColumn {
 public:
  void Add(std::string_view path);
  std::string At(size_t index) const;
  // The last one that was added; empty before.
  const std::string& back() const { return last_; }
  size_t size() const { return size_; }
  size_t bytes() const { return encoded_.capacity() + 8 * restarts_.capacity(); }

 private:
  static constexpr size_t kRestart = 16;  // every so many a whole path

  std::string encoded_;             // per path: varint kept, varint length of the tail, the tail
  std::vector<uint64_t> restarts_;  // offsets of paths 0, 16, 32, ...
  std::string last_;
  size_t size_ = 0;
};

// How many bytes two paths begin with alike.
size_t SharedPrefix(std::string_view a, std::string_view b);

}  // namespace headrace
