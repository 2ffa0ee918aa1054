// Strings with a number each, walked byte by byte. Immutable, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

class PieceTrie {
 public:
  static constexpr int32_t kNone = -1;
  static constexpr int32_t kRoot = 0;

  PieceTrie() : PieceTrie(std::vector<std::pair<std::string_view, int32_t>>()) {}
  // Distinct, none empty, numbers >= 0.
  explicit PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces);

  bool empty() const { return label_.size() == 1; }
  // The node behind `node` by `byte`, or kNone.
  int32_t Next(int32_t node, char byte) const {
    const auto b = static_cast<uint8_t>(byte);
    if (node == kRoot) return root_[b];
    uint32_t low = children_[static_cast<size_t>(node)];
    uint32_t high = children_[static_cast<size_t>(node) + 1];
    while (low < high) {
      const uint32_t middle = (low + high) / 2;
      if (label_[middle] == b) return static_cast<int32_t>(middle);
      (label_[middle] < b ? low : high) = label_[middle] < b ? middle + 1 : middle;
    }
    return kNone;
  }
  // The number of the string that ends at `node`, or kNone.
  int32_t At(int32_t node) const { return value_[static_cast<size_t>(node)]; }
  // The number of `text`, or kNone.
  int32_t Find(std::string_view text) const;
  // Bytes of the longest string that `text` starts with; 0: none.
  size_t LongestPrefix(std::string_view text) const;

 private:
  // Nodes level by level: those behind node i are children_[i] .. children_[i + 1].
  std::vector<uint8_t> label_;
  std::vector<int32_t> value_;
  std::vector<uint32_t> children_;
  int32_t root_[256];
};

}  // namespace headrace
