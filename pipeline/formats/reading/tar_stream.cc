#include "pipeline/formats/reading/tar_stream.h"

#include <algorithm>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

absl::Status CutOff(uint64_t there) {
  return DataLoss("the archive ends {} bytes into a tar header; it was cut off, copy it again",
                  there);
}

}  // namespace

absl::StatusOr<bool> TarStream::Next() {
  HR_RETURN_IF_ERROR(PassData());
  offset_ = buffer_.offset();
  auto step = TarHeaderParser::Step::kExtended;
  while (step == TarHeaderParser::Step::kExtended) {
    HR_ASSIGN_OR_RETURN(const size_t there, buffer_.Ensure(kTarBlock));
    if (there == 0 && buffer_.offset() == offset_) return false;
    if (there < kTarBlock) return CutOff(buffer_.offset() + there - offset_);
    HR_RETURN_IF_ERROR(parser_.Header({buffer_.data(), kTarBlock}, step));
    if (step == TarHeaderParser::Step::kEnd) return false;
    buffer_.Pass(kTarBlock);
    while (step == TarHeaderParser::Step::kExtended && parser_.payload() > 0) {
      HR_RETURN_IF_ERROR(Extended(step));
    }
  }
  data_ = member().size;
  padding_ = TarPadded(data_) - data_;
  return true;
}

absl::Status TarStream::PassData() {
  const uint64_t data = std::exchange(data_, 0);
  const uint64_t padding = std::exchange(padding_, 0);
  if (data + padding == 0) return absl::OkStatus();
  const absl::StatusOr<uint64_t> passed = buffer_.Skip(data + padding);
  HR_RETURN_IF_ERROR(passed.status());
  // Some writers leave out the last padding.
  if (*passed >= data) return absl::OkStatus();
  return DataLoss("the archive ends after {} of a member's {} bytes; it was cut off, copy it again",
                  *passed, data);
}

absl::Status TarStream::Extended(TarHeaderParser::Step& step) {
  const size_t payload = parser_.payload();
  const absl::StatusOr<size_t> there = buffer_.Ensure(TarPadded(payload));
  HR_RETURN_IF_ERROR(there.status());
  if (*there < payload) return CutOff(buffer_.offset() + *there - offset_);
  HR_RETURN_IF_ERROR(parser_.Extended({buffer_.data(), payload}, step));
  buffer_.Pass(std::min<size_t>(TarPadded(payload), *there));
  return absl::OkStatus();
}

absl::StatusOr<bool> TarStream::Take(Cell& out) {
  const auto size = static_cast<size_t>(member().size);
  if (const auto remaining = buffer_.remaining(); remaining && size > *remaining) return false;
  HR_ASSIGN_OR_RETURN(const size_t there, buffer_.Ensure(size));
  if (there < size) return false;
  out = buffer_.Take(size);
  data_ = 0;
  return true;
}

}  // namespace headrace
