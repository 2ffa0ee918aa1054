// tfrecord: TensorFlow's record files, both checksums of every record checked. Field `record`
// (bytes).
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "common/nearest.h"
#include "common/status.h"
#include "pipeline/formats/format.h"
#include "pipeline/formats/reading/header_hops.h"
#include "pipeline/formats/reading/split_file.h"
#include "pipeline/formats/reading/tfrecord_framing.h"

namespace headrace {
namespace {

constexpr size_t kFraming = kTfrecordHeaderBytes + kTfrecordFooterBytes;

struct TfrecordParams {
  std::string compression = "auto";
};

class TfrecordReader final : public RecordReader {
 public:
  TfrecordReader(const v1::Split& split, std::unique_ptr<RandomAccessFile> file, Codec codec)
      : cursor_(split, codec), buffer_(NewSplitBuffer(std::move(file), split, codec)) {}

  absl::StatusOr<bool> Read(const ReadLimits& limits, Block& block) override {
    const RecordBuffer::Lending lending(*buffer_, block.arena());
    const uint64_t begin = buffer_->offset();
    for (size_t rows = 0; rows < limits.max_rows && buffer_->offset() - begin < limits.max_bytes;
         ++rows) {
      if (lost_) return false;
      absl::StatusOr<bool> more = ReadOne(limits, block);
      if (!more.ok()) {
        // Damage of the compressed bytes below; the message has their path and offset.
        if (more.status().code() != absl::StatusCode::kDataLoss) return more.status();
        Lose(block, buffer_->offset(), MessageOf(more.status()));
        return false;
      }
      if (!*more) return false;
    }
    return !lost_;
  }

  bool records_lost() const override { return lost_; }

 private:
  // False at the end of the split.
  absl::StatusOr<bool> ReadOne(const ReadLimits& limits, Block& block) {
    const uint64_t offset = buffer_->offset();
    HR_ASSIGN_OR_RETURN(const size_t header, buffer_->Ensure(kTfrecordHeaderBytes));
    if (header == 0) return false;
    if (header < kTfrecordHeaderBytes) {
      Lose(block, offset,
           fmt::format("the file ends {} bytes into the record's header of 12; it was cut off, "
                       "copy it again",
                       header));
      return false;
    }
    const auto length = ParseTfrecordHeader(buffer_->data());
    if (!length) {
      Lose(block, offset,
           cursor_.index() == 0 && offset == 0 ? "the length's checksum is wrong: no TFRecord "
                                                 "file, or a damaged one; check `format`, or write "
                                                 "it again"
                                               : "the length's checksum is wrong, so the records "
                                                 "behind it cannot be found; write the file again");
      return false;
    }
    const auto remaining = buffer_->remaining();
    if (remaining && (*remaining < kFraming || *length > *remaining - kFraming)) {
      Lose(block, offset,
           fmt::format("the record has {} bytes and the file ends after {} of them; it was cut "
                       "off, copy it again",
                       *length, *remaining - kTfrecordHeaderBytes));
      return false;
    }
    if (*length > limits.max_record_bytes)
      return SkipOverlong(*length, limits.max_record_bytes, block);
    return Checked(offset, static_cast<size_t>(*length), block);
  }

  absl::StatusOr<bool> Checked(uint64_t offset, size_t length, Block& block) {
    HR_ASSIGN_OR_RETURN(const size_t there, buffer_->Ensure(length + kFraming));
    if (there < length + kFraming) {
      Lose(block, offset,
           fmt::format("the record has {} bytes and the data ends after {} of them; the file was "
                       "cut off, copy it again",
                       length, there - kTfrecordHeaderBytes));
      return false;
    }
    const std::byte* record = buffer_->data() + kTfrecordHeaderBytes;
    if (LoadU32(record + length) != MaskedCrc32c({record, length})) {
      cursor_.Fail(
          block, absl::StatusCode::kDataLoss, offset,
          fmt::format(
              "the checksum of its {} bytes is wrong; write the file again, or skip bad records "
              "with on_error: skip",
              length));
      buffer_->Pass(length + kFraming);
      return true;
    }
    buffer_->Pass(kTfrecordHeaderBytes);
    const Cell cell = buffer_->Take(length);
    buffer_->Pass(kTfrecordFooterBytes);
    cursor_.Append(block, {&cell, 1});
    return true;
  }

  absl::StatusOr<bool> SkipOverlong(uint64_t length, uint64_t limit, Block& block) {
    cursor_.Fail(
        block, absl::StatusCode::kOutOfRange, buffer_->offset(),
        fmt::format("the record of {} bytes is over the limit of {}; raise max_record_bytes",
                    length, limit));
    // A made-up length with a right checksum must not wrap.
    const uint64_t all = length > UINT64_MAX - kFraming ? UINT64_MAX : length + kFraming;
    HR_ASSIGN_OR_RETURN(const uint64_t passed, buffer_->Skip(all));
    if (passed < all) {
      lost_ = true;
      return false;
    }
    return true;
  }

  void Lose(Block& block, uint64_t offset, std::string_view what) {
    cursor_.Fail(block, absl::StatusCode::kDataLoss, offset, what);
    lost_ = true;
  }
  static std::string_view MessageOf(const absl::Status& status) {
    return {status.message().data(), status.message().size()};
  }

  RecordCursor cursor_;
  const std::unique_ptr<RecordBuffer> buffer_;
  bool lost_ = false;
};

class Tfrecord final : public Format {
 public:
  static absl::StatusOr<std::unique_ptr<Format>> Make(TfrecordParams params) {
    const std::array<std::string, 5> known = {"auto", "none", "gzip", "zlib", "zstd"};
    if (std::find(known.begin(), known.end(), params.compression) == known.end()) {
      const std::string nearest = NearestWord(params.compression, known);
      return InvalidArgument("compression: '{}' is none of auto, none, gzip, zlib, zstd{}",
                             params.compression,
                             nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
    }
    return std::make_unique<Tfrecord>(std::move(params.compression));
  }
  explicit Tfrecord(std::string compression) : compression_(std::move(compression)) {}

  absl::StatusOr<Schema> RecordSchema(FileSystem&, const std::vector<FileInfo>&) override {
    return Schema({{"record", DType::kBytes, Shape()}});
  }

  absl::StatusOr<std::vector<v1::Split>> Splits(FileSystem& files, const FileInfo& file,
                                                const SplitOptions& options) override {
    std::vector<v1::Split> out;
    if (file.size == 0) return out;
    const uint64_t target = std::max<uint64_t>(options.target_bytes, 1);
    uint64_t begin = 0;
    if (file.size / 2 > target) {
      HR_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> opened,
                          OpenUnchanged(files, file));
      HR_ASSIGN_OR_RETURN(const Codec codec, CodecOf(*opened));
      if (codec == Codec::kNone) {
        HR_RETURN_IF_ERROR(Hop(*opened, target, begin, out));
      }
    }
    out.push_back(SplitOf(file, begin, file.size));
    return out;
  }

  absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem& files, const v1::Split& split,
                                                     SchemaPtr) override {
    HR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, OpenSplitFile(files, split));
    Codec codec = Codec::kNone;
    if (IsWholeFile(split)) {
      HR_ASSIGN_OR_RETURN(codec, CodecOf(*file));
    }
    return std::make_unique<TfrecordReader>(split, std::move(file), codec);
  }

 private:
  // Cuts in front of the first record that starts `target` bytes behind the last cut. A damaged
  // header ends it: the rest is one split, and its reader tells of the damage.
  static absl::Status Hop(RandomAccessFile& file, uint64_t target, uint64_t& begin,
                          std::vector<v1::Split>& out) {
    const uint64_t size = file.info().size;
    HeaderHops hops(file);
    for (uint64_t at = 0; at < size;) {
      if (at - begin >= target && size - at > target / 2) {
        out.push_back(SplitOf(file.info(), begin, at));
        begin = at;
      }
      HR_ASSIGN_OR_RETURN(const auto header, hops.At(at, kTfrecordHeaderBytes));
      if (header.size() < kTfrecordHeaderBytes) break;
      const auto length = ParseTfrecordHeader(header.data());
      if (!length || *length > size - at) break;
      at += *length + kFraming;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Codec> CodecOf(RandomAccessFile& file) const {
    if (compression_ == "none") return Codec::kNone;
    if (compression_ == "gzip") return Codec::kGzip;
    if (compression_ == "zlib") return Codec::kZlib;
    if (compression_ == "zstd") return Codec::kZstd;
    std::array<std::byte, kTfrecordHeaderBytes> head;
    HR_ASSIGN_OR_RETURN(const size_t n, file.ReadAt(0, head));
    // A plain record's header proves itself by its checksum; zlib has no more than two bytes to
    // show.
    if (n == head.size() && ParseTfrecordHeader(head.data())) return Codec::kNone;
    HR_ASSIGN_OR_RETURN(const Codec codec, DetectCodec(file));
    if (codec != Codec::kNone) return codec;
    return LooksLikeZlib({head.data(), n}) ? Codec::kZlib : Codec::kNone;
  }

  const std::string compression_;
};

int Likeness(std::span<const std::byte> head) {
  return head.size() >= kTfrecordHeaderBytes && ParseTfrecordHeader(head.data()) ? 100 : 0;
}

}  // namespace

void Register_tfrecord(FormatRegistry& registry) {
  ParamSet<TfrecordParams> params;
  params.Optional("compression", &TfrecordParams::compression,
                  "auto (by the file's first bytes), none, gzip, zlib or zstd");
  FormatSpec& spec = registry.Add<TfrecordParams>(
      "tfrecord", "TensorFlow record files, checksums checked.", std::move(params), Tfrecord::Make);
  spec.extensions = {".tfrecord",    ".tfrecords",    ".tfrec",         ".tfr",
                     ".tfrecord.gz", ".tfrecords.gz", ".tfrecord.zlib", ".tfrecord.zst"};
  spec.checksums = "records";
  spec.likeness = Likeness;
}

}  // namespace headrace
