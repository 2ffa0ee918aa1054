#include "pipeline/formats/reading/header_hops.h"

#include <algorithm>
#include <cassert>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kNearBytes = 64 << 10;  // headers closer than this are read together ...
constexpr size_t kFarBytes = 4 << 10;    // ... others a page at a time

}  // namespace

HeaderHops::HeaderHops(RandomAccessFile& file) : file_(file), buffer_(kNearBytes) {}

absl::StatusOr<std::span<const std::byte>> HeaderHops::At(uint64_t offset, size_t bytes) {
  assert(offset >= begin_);
  if (bytes > buffer_.size()) buffer_.resize(bytes);
  if (offset + bytes > begin_ + filled_) {
    const bool near = offset < begin_ + filled_ + kNearBytes / 4;
    const size_t want = std::max(bytes, near ? kNearBytes : kFarBytes);
    HR_ASSIGN_OR_RETURN(filled_, file_.ReadAt(offset, {buffer_.data(), want}));
    begin_ = offset;
  }
  const size_t at = static_cast<size_t>(offset - begin_);
  return std::span<const std::byte>(buffer_.data() + at,
                                    std::min(bytes, filled_ - std::min(at, filled_)));
}

}  // namespace headrace
