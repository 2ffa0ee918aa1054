#include "pipeline/formats/reading/lines.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "common/status.h"
#include "pipeline/formats/reading/split_file.h"
#include "pipeline/graph/utf8.h"

namespace headrace {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kSearchBytes = 64 << 10;

// The first byte behind a newline that is at `from - 1` or later; `end` when there is none.
absl::StatusOr<uint64_t> BehindNewline(RandomAccessFile& file, uint64_t from, uint64_t end) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kSearchBytes);
  uint64_t at = from - 1;
  while (at < end) {
    const size_t want = static_cast<size_t>(std::min<uint64_t>(kSearchBytes, end - at));
    HR_ASSIGN_OR_RETURN(const size_t n, file.ReadAt(at, {buffer.get(), want}));
    if (n == 0) {
      return FailedPrecondition(
          "{}: ends at byte {} and had {} bytes when it was listed; list it again",
          file.info().path, at, end);
    }
    if (const void* hit = std::memchr(buffer.get(), '\n', n)) {
      return at + static_cast<uint64_t>(static_cast<const std::byte*>(hit) - buffer.get()) + 1;
    }
    at += n;
  }
  return end;
}

bool IsBlank(std::string_view line) {
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
}

class LineReader final : public RecordReader {
 public:
  LineReader(const v1::Split& split, std::unique_ptr<RandomAccessFile> file, Codec codec,
             bool skip_blank)
      : skip_blank_(skip_blank),
        cursor_(split, codec),
        buffer_(NewSplitBuffer(std::move(file), split, codec)),
        check_mark_(split.begin() == 0) {}

  absl::StatusOr<bool> Read(const ReadLimits& limits, Block& block) override {
    if (lost_) return false;
    const RecordBuffer::Lending lending(*buffer_, block.arena());
    if (check_mark_) HR_RETURN_IF_ERROR(PassByteOrderMark());
    const uint64_t begin = buffer_->offset();
    for (size_t rows = 0; rows < limits.max_rows && buffer_->offset() - begin < limits.max_bytes;) {
      absl::StatusOr<Line> line = Next(limits.max_record_bytes);
      if (!line.ok()) {
        if (line.status().code() != absl::StatusCode::kDataLoss) return line.status();
        cursor_.Fail(block, absl::StatusCode::kDataLoss, buffer_->offset(),
                     MessageOf(line.status()));
        lost_ = true;
        return false;
      }
      if (line->kind == Line::kEnd) return false;
      if (line->kind == Line::kTooLong) {
        cursor_.Fail(
            block, absl::StatusCode::kOutOfRange, line->offset,
            fmt::format("a line of {} bytes is over the limit of {}; raise max_record_bytes or "
                        "cut the line",
                        line->size, limits.max_record_bytes));
      } else if (skip_blank_ && IsBlank(line->cell.string())) {
        cursor_.Settle(block);
      } else {
        cursor_.Append(block, {&line->cell, 1});
        ++rows;
      }
    }
    return true;
  }

  bool records_lost() const override { return lost_; }

 private:
  struct Line {
    enum Kind { kLine, kTooLong, kEnd } kind = kEnd;
    Cell cell;
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  static std::string_view MessageOf(const absl::Status& status) {
    return {status.message().data(), status.message().size()};
  }

  absl::Status PassByteOrderMark() {
    HR_ASSIGN_OR_RETURN(const size_t there, EnsureIgnoringDamage(kByteOrderMark.size()));
    check_mark_ = false;
    if (there >= kByteOrderMark.size() &&
        std::memcmp(buffer_->data(), kByteOrderMark.data(), kByteOrderMark.size()) == 0) {
      buffer_->Pass(kByteOrderMark.size());
    }
    return absl::OkStatus();
  }
  // Damage in the first bytes is told by the first Next.
  absl::StatusOr<size_t> EnsureIgnoringDamage(size_t want) {
    absl::StatusOr<size_t> there = buffer_->Ensure(want);
    if (there.status().code() == absl::StatusCode::kDataLoss) return buffer_->available();
    return there;
  }

  absl::StatusOr<Line> Next(uint64_t max_bytes) {
    size_t searched = 0;
    while (true) {
      const size_t there = buffer_->available();
      const void* hit = there == searched
                            ? nullptr
                            : std::memchr(buffer_->data() + searched, '\n', there - searched);
      if (hit != nullptr) {
        const auto bytes =
            static_cast<size_t>(static_cast<const std::byte*>(hit) - buffer_->data());
        return Whole(bytes, 1, max_bytes);
      }
      searched = there;
      if (searched > max_bytes + 1) return TooLong();
      HR_ASSIGN_OR_RETURN(const size_t now, buffer_->Ensure(there + 1));
      if (now > there) continue;
      if (there == 0) return Line{};
      return Whole(there, 0, max_bytes);
    }
  }

  // The line of `bytes` bytes in front, with `newline` more to pass over.
  Line Whole(size_t bytes, size_t newline, uint64_t max_bytes) {
    Line line{Line::kLine, {}, buffer_->offset(), bytes};
    size_t kept = bytes;
    if (newline > 0 && kept > 0 && buffer_->data()[kept - 1] == std::byte{'\r'}) --kept;
    if (kept > max_bytes) {
      line.kind = Line::kTooLong;
      buffer_->Pass(bytes + newline);
      return line;
    }
    line.cell = buffer_->Take(kept);
    buffer_->Pass(bytes - kept + newline);
    return line;
  }

  // Goes on behind the next newline, holding one buffer at a time.
  absl::StatusOr<Line> TooLong() {
    Line line{Line::kTooLong, {}, buffer_->offset(), 0};
    while (true) {
      const void* hit = buffer_->available() == 0
                            ? nullptr
                            : std::memchr(buffer_->data(), '\n', buffer_->available());
      const size_t step =
          hit == nullptr
              ? buffer_->available()
              : static_cast<size_t>(static_cast<const std::byte*>(hit) - buffer_->data());
      buffer_->Pass(step);
      line.size += step;
      if (hit != nullptr) {
        buffer_->Pass(1);
        return line;
      }
      HR_ASSIGN_OR_RETURN(const size_t more, buffer_->Ensure(1));
      if (more == 0) return line;
    }
  }

  const bool skip_blank_;
  RecordCursor cursor_;
  const std::unique_ptr<RecordBuffer> buffer_;
  bool check_mark_;
  bool lost_ = false;
};

}  // namespace

bool LooksLikeText(std::span<const std::byte> head) {
  constexpr size_t kCutCharacter =
      3;  // bytes of a character of four that may be there without the last
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const size_t other = FirstNonText(text);
  return !text.empty() && (other == std::string_view::npos || other + kCutCharacter >= text.size());
}

absl::StatusOr<std::vector<v1::Split>> LineSplits(FileSystem& files, const FileInfo& file,
                                                  const SplitOptions& options) {
  std::vector<v1::Split> out;
  if (file.size == 0) return out;
  const uint64_t target = std::max<uint64_t>(options.target_bytes, 1);
  if (file.size / 2 <= target || CodecByName(file.path) != Codec::kNone) {
    out.push_back(SplitOf(file));
    return out;
  }
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> opened, OpenUnchanged(files, file));
  HR_ASSIGN_OR_RETURN(const Codec codec, DetectCodec(*opened));
  uint64_t begin = 0;
  while (codec == Codec::kNone && file.size - begin > target + target / 2) {
    HR_ASSIGN_OR_RETURN(const uint64_t cut, BehindNewline(*opened, begin + target, file.size));
    if (cut >= file.size) break;
    out.push_back(SplitOf(file, begin, cut));
    begin = cut;
  }
  out.push_back(SplitOf(file, begin, file.size));
  return out;
}

absl::StatusOr<std::unique_ptr<RecordReader>> OpenLines(FileSystem& files, const v1::Split& split,
                                                        bool skip_blank) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, OpenSplitFile(files, split));
  Codec codec = Codec::kNone;
  if (IsWholeFile(split)) {
    HR_ASSIGN_OR_RETURN(codec, DetectCodec(*file));
  }
  return std::make_unique<LineReader>(split, std::move(file), codec, skip_blank);
}

}  // namespace headrace
