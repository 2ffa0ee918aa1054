#include "element/shape.h"

namespace headrace {

bool Shape::Admits(const Shape& actual) const {
  if (!has_rank()) return true;
  if (!actual.has_rank() || actual.rank() != rank()) return false;
  for (size_t i = 0; i < rank(); ++i) {
    if (dims_[i] != kDynamic && dims_[i] != actual[i]) return false;
  }
  return true;
}

Shape Shape::WithFront(int64_t dim) const {
  if (!has_rank()) return Unknown();
  assert(rank() < kMaxRank);
  Shape out;
  out.rank_ = static_cast<int8_t>(rank_ + 1);
  out.dims_[0] = dim;
  for (size_t i = 0; i < rank(); ++i) out.dims_[i + 1] = dims_[i];
  return out;
}

std::string Shape::ToString() const {
  if (!has_rank()) return "[...]";
  std::string out = "[";
  for (size_t i = 0; i < rank(); ++i) {
    if (i > 0) out += ", ";
    out += dims_[i] == kDynamic ? "?" : std::to_string(dims_[i]);
  }
  return out + "]";
}

}  // namespace headrace
