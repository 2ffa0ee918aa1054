#include "pipeline/tokenizer/piece_trie.h"

#include <algorithm>

namespace headrace {

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces) {
  std::sort(pieces.begin(), pieces.end());
  struct Range {  // the strings below a node, alike in their first `depth` bytes
    size_t begin, end, depth;
  };
  std::vector<Range> nodes = {{0, pieces.size(), 0}};
  label_.push_back(0);
  for (size_t node = 0; node < nodes.size(); ++node) {
    Range range = nodes[node];
    int32_t value = kNone;
    if (range.begin < range.end && pieces[range.begin].first.size() == range.depth)
      value = pieces[range.begin++].second;
    value_.push_back(value);
    children_.push_back(static_cast<uint32_t>(nodes.size()));
    while (range.begin < range.end) {
      const char label = pieces[range.begin].first[range.depth];
      size_t end = range.begin;
      while (end < range.end && pieces[end].first[range.depth] == label) ++end;
      label_.push_back(static_cast<uint8_t>(label));
      nodes.push_back({range.begin, end, range.depth + 1});
      range.begin = end;
    }
  }
  children_.push_back(static_cast<uint32_t>(nodes.size()));
  std::fill(std::begin(root_), std::end(root_), kNone);
  for (uint32_t child = children_[0]; child < children_[1]; ++child)
    root_[label_[child]] = static_cast<int32_t>(child);
}

int32_t PieceTrie::Find(std::string_view text) const {
  int32_t node = kRoot;
  for (const char c : text) {
    node = Next(node, c);
    if (node == kNone) return kNone;
  }
  return At(node);
}

size_t PieceTrie::LongestPrefix(std::string_view text) const {
  size_t longest = 0;
  int32_t node = kRoot;
  for (size_t i = 0; i < text.size(); ++i) {
    node = Next(node, text[i]);
    if (node == kNone) break;
    if (At(node) != kNone) longest = i + 1;
  }
  return longest;
}

}  // namespace headrace
