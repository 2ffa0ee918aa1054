// A window over a byte stream in big shared buffers, so that records become cells without being
// copied: a reader looks at the bytes in front, takes what belongs to a record, and the buffers
// live as long as the blocks that borrow them. Owned by one RecordReader, used by one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "pipeline/formats/reading/buffer_pool.h"
#include "pipeline/sources/byte_stream.h"

namespace headrace {

class RecordBuffer {
 public:
  static constexpr size_t kBufferBytes = 1 << 20;

  // `begin`: the stream's offset of its first byte, for messages. `end`: where it ends, if that is
  // known before.
  RecordBuffer(std::unique_ptr<ByteStream> stream, uint64_t begin, std::optional<uint64_t> end);
  RecordBuffer(const RecordBuffer&) = delete;
  RecordBuffer& operator=(const RecordBuffer&) = delete;

  // While it lives, what is taken is kept alive by `arena`. One at a time.
  class Lending {
   public:
    Lending(RecordBuffer& buffer, Arena& arena) : buffer_(buffer) { buffer.arena_ = &arena; }
    ~Lending() {
      buffer_.Lend();
      buffer_.arena_ = nullptr;
    }
    Lending(const Lending&) = delete;
    Lending& operator=(const Lending&) = delete;

   private:
    RecordBuffer& buffer_;
  };

  // Brings at least `want` bytes in front, or all up to the end of the stream; returns how many
  // there are (often more). Memory grows with what is really there, not with what a damaged length
  // asks for. An error repeats itself; what is in front already stays there. Pointers from data()
  // are void afterwards, those from Take are not.
  absl::StatusOr<size_t> Ensure(size_t want);
  const std::byte* data() const { return buffer_.get() + at_; }
  size_t available() const { return filled_ - at_; }
  // The stream's offset of data().
  uint64_t offset() const { return offset_; }
  // Bytes from data() to the end of the stream, where that is known.
  std::optional<uint64_t> remaining() const;

  // The next n (<= available()) bytes, as a cell that the lending's arena keeps alive. They are
  // passed over.
  Cell Take(size_t n);
  // Passes over n (<= available()) bytes.
  void Pass(size_t n) {
    at_ += n;
    offset_ += n;
  }
  // Passes over n bytes, holding one buffer at most; returns how many there were.
  absl::StatusOr<uint64_t> Skip(uint64_t n);

 private:
  void Lend();
  void MakeRoom(size_t want);

  const std::unique_ptr<ByteStream> stream_;
  const std::shared_ptr<BufferPool> pool_;
  const std::optional<uint64_t> end_;
  uint64_t offset_;
  std::shared_ptr<std::byte[]> buffer_;
  size_t capacity_ = 0;
  size_t at_ = 0;
  size_t filled_ = 0;
  Arena* arena_ = nullptr;
  size_t lent_ = 0;  // bytes of buffer_ taken under the present lending and not adopted yet
  bool ended_ = false;
  absl::Status failed_;
};

}  // namespace headrace
