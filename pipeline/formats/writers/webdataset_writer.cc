#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/status.h"
#include "pipeline/formats/reading/member_name.h"
#include "pipeline/formats/reading/tar_header.h"
#include "pipeline/formats/writers/byte_sink.h"
#include "pipeline/formats/writers/record_writer.h"

namespace headrace {
namespace {

std::string Quoted(std::string_view name) {
  return "'" + absl::Utf8SafeCEscape(absl::string_view(name.data(), name.size())) + "'";
}

class WebdatasetWriter final : public RecordWriter {
 public:
  explicit WebdatasetWriter(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {}

  absl::Status Append(std::string_view key, std::span<const NamedBytes> fields) override {
    HR_RETURN_IF_ERROR(Check(key, fields));
    for (const NamedBytes& field : fields) {
      HR_RETURN_IF_ERROR(Member(fmt::format("{}.{}", key, field.name), field.bytes));
    }
    last_key_ = key;
    return absl::OkStatus();
  }
  uint64_t bytes() const override { return bytes_; }
  absl::Status Finish() override {
    HR_RETURN_IF_ERROR(Zeros(2 * kTarBlock));
    return sink_->Finish();
  }

 private:
  // What is written must be what will be read.
  absl::Status Check(std::string_view key, std::span<const NamedBytes> fields) const {
    if (fields.empty())
      return InvalidArgument("record {} has no fields, so an archive cannot hold it", Quoted(key));
    if (key == last_key_) {
      return InvalidArgument("two records in a row have the key {}: they would be read as one",
                             Quoted(key));
    }
    std::string lower;
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::string name = fmt::format("{}.{}", key, fields[i].name);
      const auto read = SplitMemberName(name);
      AssignLower(fields[i].name, lower);
      if (!read || read->key != key || lower != fields[i].name ||
          name.find('\0') != std::string::npos) {
        return InvalidArgument(
            "member {} would not be read back as field {} of record {}: a key has no dot behind "
            "its last slash, a "
            "field's name is lower case and has no slash",
            Quoted(name), Quoted(fields[i].name), Quoted(key));
      }
      for (size_t k = 0; k < i; ++k) {
        if (fields[k].name == fields[i].name) {
          return InvalidArgument("record {} has two fields {}", Quoted(key), Quoted(lower));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Member(const std::string& name, std::string_view data) {
    if (name.size() > kTarNameBytes) {
      // GNU's way: the name is the data, NUL included, of a member in front.
      HR_RETURN_IF_ERROR(
          Block("././@LongLink", std::string_view(name.c_str(), name.size() + 1), 'L'));
    }
    return Block(name, data, '0');
  }

  absl::Status Block(std::string_view name, std::string_view data, char type) {
    std::array<std::byte, kTarBlock> header;
    WriteTarHeader(name, data.size(), type, header);
    HR_RETURN_IF_ERROR(sink_->Write({reinterpret_cast<const char*>(header.data()), header.size()}));
    HR_RETURN_IF_ERROR(sink_->Write(data));
    bytes_ += header.size() + data.size();
    return Zeros(TarPadded(data.size()) - data.size());
  }

  absl::Status Zeros(size_t n) {
    static constexpr std::array<char, 2 * kTarBlock> kZeros{};
    bytes_ += n;
    return sink_->Write({kZeros.data(), n});
  }

  const std::unique_ptr<ByteSink> sink_;
  uint64_t bytes_ = 0;
  std::string last_key_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecordWriter>> NewWebdatasetWriter(const std::string& path,
                                                                  Codec codec) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<ByteSink> sink, NewFileSink(path, codec));
  return std::make_unique<WebdatasetWriter>(std::move(sink));
}

}  // namespace headrace
