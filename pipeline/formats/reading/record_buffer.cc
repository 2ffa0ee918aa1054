#include "pipeline/formats/reading/record_buffer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kIdleBuffers = 8;

}  // namespace

RecordBuffer::RecordBuffer(std::unique_ptr<ByteStream> stream, uint64_t begin,
                           std::optional<uint64_t> end)
    : stream_(std::move(stream)),
      pool_(BufferPool::Create(kBufferBytes, kIdleBuffers)),
      end_(end),
      offset_(begin) {}

std::optional<uint64_t> RecordBuffer::remaining() const {
  if (!end_) return std::nullopt;
  return *end_ > offset_ ? *end_ - offset_ : 0;
}

void RecordBuffer::Lend() {
  if (lent_ > 0) arena_->Adopt(buffer_, lent_);
  lent_ = 0;
}

void RecordBuffer::MakeRoom(size_t want) {
  if (capacity_ - at_ >= want) return;
  size_t capacity = std::max(kBufferBytes, 2 * available());
  if (const auto left = remaining()) {
    // A length that the file is known to hold gets its memory at once; a small file gets little.
    if (want <= *left) capacity = std::max(capacity, want);
    capacity = static_cast<size_t>(std::min<uint64_t>(capacity, std::max<uint64_t>(*left, 1)));
  }
  std::shared_ptr<std::byte[]> bigger = capacity == kBufferBytes
                                            ? pool_->Get()
                                            : std::make_shared_for_overwrite<std::byte[]>(capacity);
  const size_t kept = available();
  if (kept > 0) std::memcpy(bigger.get(), data(), kept);
  Lend();
  buffer_ = std::move(bigger);
  capacity_ = capacity;
  at_ = 0;
  filled_ = kept;
}

absl::StatusOr<size_t> RecordBuffer::Ensure(size_t want) {
  while (available() < want && !ended_) {
    if (!failed_.ok()) return failed_;
    if (remaining() == available()) {
      ended_ = true;
      break;
    }
    MakeRoom(want);
    // Other blocks may be reading the part before filled_; what lies behind it is nobody's yet.
    const auto read = stream_->Read({buffer_.get() + filled_, capacity_ - filled_});
    if (!read.ok()) {
      failed_ = read.status();
      return failed_;
    }
    ended_ = *read == 0;
    filled_ += *read;
  }
  return available();
}

Cell RecordBuffer::Take(size_t n) {
  assert(n <= available() && arena_ != nullptr);
  Cell cell{data(), n, Shape()};
  lent_ += n;
  Pass(n);
  return cell;
}

absl::StatusOr<uint64_t> RecordBuffer::Skip(uint64_t n) {
  uint64_t done = 0;
  while (done < n) {
    if (available() == 0) {
      HR_ASSIGN_OR_RETURN(const size_t more, Ensure(1));
      if (more == 0) break;
    }
    const size_t step = static_cast<size_t>(std::min<uint64_t>(n - done, available()));
    Pass(step);
    done += step;
  }
  return done;
}

}  // namespace headrace
