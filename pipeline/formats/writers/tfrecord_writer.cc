#include <array>
#include <utility>

#include "common/status.h"
#include "pipeline/formats/reading/tfrecord_framing.h"
#include "pipeline/formats/writers/byte_sink.h"
#include "pipeline/formats/writers/record_writer.h"

namespace headrace {
namespace {

class TfrecordWriter final : public RecordWriter {
 public:
  explicit TfrecordWriter(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {}

  absl::Status Append(std::string_view key, std::span<const NamedBytes> fields) override {
    if (fields.size() != 1) {
      return InvalidArgument(
          "record '{}' has {} fields and TFRecord keeps one: encode them as an Example", key,
          fields.size());
    }
    const std::string_view record = fields[0].bytes;
    std::array<std::byte, kTfrecordHeaderBytes> header;
    WriteTfrecordHeader(record.size(), header.data());
    const uint32_t crc = MaskedCrc32c(std::as_bytes(std::span(record.data(), record.size())));
    HR_RETURN_IF_ERROR(sink_->Write({reinterpret_cast<const char*>(header.data()), header.size()}));
    HR_RETURN_IF_ERROR(sink_->Write(record));
    HR_RETURN_IF_ERROR(sink_->Write({reinterpret_cast<const char*>(&crc), sizeof(crc)}));
    bytes_ += record.size() + kTfrecordHeaderBytes + kTfrecordFooterBytes;
    return absl::OkStatus();
  }
  uint64_t bytes() const override { return bytes_; }
  absl::Status Finish() override { return sink_->Finish(); }

 private:
  const std::unique_ptr<ByteSink> sink_;
  uint64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecordWriter>> NewTfrecordWriter(const std::string& path,
                                                                Codec codec) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<ByteSink> sink, NewFileSink(path, codec));
  return std::make_unique<TfrecordWriter>(std::move(sink));
}

}  // namespace headrace
