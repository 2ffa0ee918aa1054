// Any bytes as gzip, zlib and zstd: no harm, whatever the steps; and where zlib finds a whole
// stream, so do we, with the same content.
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "pipeline/sources/byte_stream.h"

namespace headrace {
namespace {

constexpr size_t kMostBytes = 64 << 10;  // of output: small inputs can hold a lot

class Steps final : public ByteStream {
 public:
  Steps(std::string bytes, size_t step) : bytes_(std::move(bytes)), step_(step) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    const size_t n = std::min({step_, out.size(), bytes_.size() - at_});
    std::copy_n(reinterpret_cast<const std::byte*>(bytes_.data()) + at_, n, out.data());
    at_ += n;
    return n;
  }
  uint64_t file_offset() const override { return at_; }

 private:
  const std::string bytes_;
  const size_t step_;
  size_t at_ = 0;
};

// Nothing when it is damaged, or large.
std::optional<std::string> Ours(Codec codec, const std::string& bytes, size_t in, size_t out) {
  const auto stream = NewDecompressingStream(codec, std::make_unique<Steps>(bytes, in), "/a");
  std::string text;
  std::string buffer(out, '\0');
  while (text.size() < kMostBytes) {
    const auto n = stream->Read(std::as_writable_bytes(std::span(buffer.data(), buffer.size())));
    if (!n.ok()) return std::nullopt;
    if (*n == 0) return text;
    text.append(buffer, 0, *n);
  }
  return std::nullopt;
}

// Of exactly one member.
std::optional<std::string> Zlibs(Codec codec, const std::string& bytes) {
  z_stream z{};
  inflateInit2(&z, codec == Codec::kGzip ? MAX_WBITS + 16 : MAX_WBITS);
  std::string text(kMostBytes, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(text.data());
  z.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&z, Z_FINISH);
  text.resize(z.total_out);
  const bool whole = result == Z_STREAM_END && z.avail_in == 0 && text.size() < kMostBytes;
  inflateEnd(&z);
  if (!whole) return std::nullopt;
  return text;
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  if (size < 2) return 0;
  const size_t in = 1 + data[0];
  const size_t out = 1 + data[1] * 16u;
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  for (Codec codec : {Codec::kGzip, Codec::kZlib, Codec::kZstd}) {
    const auto ours = Ours(codec, bytes, in, out);
    if (codec == Codec::kZstd || bytes.empty()) continue;
    const auto zlibs = Zlibs(codec, bytes);
    if (zlibs && ours != zlibs) std::abort();
  }
  return 0;
}
