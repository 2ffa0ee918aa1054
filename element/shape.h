// Shapes: of a tensor (all dims known) and of a field in a schema (a dim may be -1, the rank may be
// unknown).
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace headrace {

// At most kMaxRank dims, kept inline: shapes are copied per record and must not allocate.
class Shape {
 public:
  static constexpr size_t kMaxRank = 6;
  static constexpr int64_t kDynamic = -1;

  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    assert(dims.size() <= kMaxRank);
    for (int64_t d : dims) dims_[rank_++] = d;
  }
  // In a schema only: nothing is known, not even the rank.
  static Shape Unknown() {
    Shape s;
    s.rank_ = -1;
    return s;
  }

  bool has_rank() const { return rank_ >= 0; }
  size_t rank() const { return rank_ < 0 ? 0 : static_cast<size_t>(rank_); }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  std::span<const int64_t> dims() const { return {dims_.data(), rank()}; }
  // True when every dim is known (a tensor's shape always is).
  bool is_static() const {
    if (!has_rank()) return false;
    for (int64_t d : dims()) {
      if (d < 0) return false;
    }
    return true;
  }
  // Product of the dims; 1 for a scalar. Static shapes only.
  int64_t items() const {
    int64_t n = 1;
    for (int64_t d : dims()) n *= d;
    return n;
  }
  // True when a tensor of shape `actual` may stand where this schema shape is asked.
  bool Admits(const Shape& actual) const;
  // This shape with `dim` in front ([3,4] -> [dim,3,4]); unknown rank stays unknown. Rank must be <
  // kMaxRank.
  Shape WithFront(int64_t dim) const;
  // "[224, 224, 3]", "[?, 3]", "[...]" for unknown rank.
  std::string ToString() const;

  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (size_t i = 0; i < rank(); ++i) {
      if (dims_[i] != other.dims_[i]) return false;
    }
    return true;
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int8_t rank_ = 0;
};

}  // namespace headrace
