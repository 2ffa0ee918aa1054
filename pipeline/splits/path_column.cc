#include "pipeline/splits/path_column.h"

#include <algorithm>

namespace headrace {
namespace {

void PutVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

uint64_t GetVarint(std::string_view in, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(in[at++]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

}  // namespace

size_t SharedPrefix(std::string_view a, std::string_view b) {
  const auto ends = std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin());
  return static_cast<size_t>(ends.first - a.begin());
}

void PathColumn::Add(std::string_view path) {
  size_t keep = 0;
  if (size_++ % kRestart == 0) {
    restarts_.push_back(encoded_.size());
  } else {
    keep = SharedPrefix(last_, path);
  }
  PutVarint(keep, encoded_);
  PutVarint(path.size() - keep, encoded_);
  encoded_.append(path.substr(keep));
  last_.assign(path);
}

std::string PathColumn::At(size_t index) const {
  std::string path;
  size_t at = restarts_[index / kRestart];
  for (size_t i = index / kRestart * kRestart; i <= index; ++i) {
    const size_t keep = GetVarint(encoded_, at);
    const size_t tail = GetVarint(encoded_, at);
    path.resize(keep);
    path.append(encoded_, at, tail);
    at += tail;
  }
  return path;
}

}  // namespace headrace
