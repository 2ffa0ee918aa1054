#include "transport/tcp/codecs.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>

#include "common/status.h"

namespace headrace::tcp {
namespace {

// Under it the system calls cost more than the bytes.
constexpr size_t kSmallestCoded = 4 << 10;
constexpr int kZstdLevel = 1;
// Each codec is tried again after that many frames, to see data that has changed.
constexpr uint64_t kProbeEvery = 256;
// What a codec must save of the time on the link.
constexpr double kWorthIt = 0.9;
// Over it (500 MB/s: what lz4 compresses at best) no codec pays, so none is tried.
constexpr double kFastLink = 5e8;
constexpr double kNewest = 0.2;  // weight of a new measurement

double Blend(double old, double now) { return old == 0 ? now : old + kNewest * (now - old); }

}  // namespace

CodedFrame Compress(Codec codec, const Frame& frame) {
  if (frame.bytes > kMaxCodedBytes) return {};
  auto plain = AllocateFrameBytes(frame.bytes);
  auto coded = AllocateFrameBytes(frame.bytes);  // one that needs more is not worth it
  if (!plain.ok() || !coded.ok()) return {};
  CopyFrame(frame, plain->get());
  const auto* from = reinterpret_cast<const char*>(plain->get());
  auto* to = reinterpret_cast<char*>(coded->get());
  size_t size = 0;
  if (codec == Codec::kLz4) {
    const int bytes = static_cast<int>(frame.bytes);
    size = static_cast<size_t>(std::max(LZ4_compress_default(from, to, bytes, bytes - 1), 0));
  } else {
    size = ZSTD_compress(to, frame.bytes - 1, from, frame.bytes, kZstdLevel);
    if (ZSTD_isError(size) != 0) size = 0;
  }
  if (size == 0) return {};
  return {*std::move(coded), size};
}

absl::Status Decompress(Codec codec, std::span<const std::byte> from, std::span<std::byte> to) {
  const auto* in = reinterpret_cast<const char*>(from.data());
  auto* out = reinterpret_cast<char*>(to.data());
  bool whole = false;
  if (from.size() > kMaxCodedBytes || to.size() > kMaxCodedBytes) {
    whole = false;
  } else if (codec == Codec::kLz4) {
    const int size = static_cast<int>(to.size());
    whole = LZ4_decompress_safe(in, out, static_cast<int>(from.size()), size) == size;
  } else {
    whole = ZSTD_decompress(out, to.size(), in, from.size()) == to.size();
  }
  if (whole) return absl::OkStatus();
  return DataLoss("a compressed frame of {} bytes cannot be read", from.size());
}

absl::StatusOr<Compression> ParseCompression(std::string_view word) {
  if (word == "auto") return Compression::kAuto;
  if (word == "none") return Compression::kNone;
  if (word == "lz4") return Compression::kLz4;
  if (word == "zstd") return Compression::kZstd;
  return InvalidArgument("compression '{}': choose auto, none, lz4 or zstd", word);
}

CodecChooser::CodecChooser(Compression wanted, uint32_t features)
    : wanted_(wanted), features_(features) {}

Codec CodecChooser::Choose(size_t frame_bytes) {
  if (frame_bytes < kSmallestCoded || frame_bytes > kMaxCodedBytes) return Codec::kNone;
  const bool lz4 = (features_ & kLz4) != 0;
  const bool zstd = (features_ & kZstd) != 0;
  switch (wanted_) {
    case Compression::kNone:
      return Codec::kNone;
    case Compression::kLz4:
      return lz4 ? Codec::kLz4 : Codec::kNone;
    case Compression::kZstd:
      return zstd ? Codec::kZstd : Codec::kNone;
    case Compression::kAuto:
      break;
  }
  if (link_ == 0 || link_ > kFastLink) return Codec::kNone;
  const uint64_t turn = frames_++ % kProbeEvery;
  if (lz4 && (turn == 0 || !lz4_.known)) return Codec::kLz4;
  if (zstd && (turn == 1 || !zstd_.known)) return Codec::kZstd;
  // Seconds per byte of the frame, one after the other: compress, send.
  double best = kWorthIt / link_;
  Codec choice = Codec::kNone;
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    const Measured& measured = of(codec);
    if (!measured.known) continue;
    const double cost = measured.seconds_per_byte + measured.ratio / link_;
    if (cost >= best) continue;
    best = cost;
    choice = codec;
  }
  return choice;
}

void CodecChooser::OnCompressed(Codec codec, size_t in, size_t out, absl::Duration took) {
  if (in == 0) return;
  Measured& measured = of(codec);
  const double bytes = static_cast<double>(in);
  measured.seconds_per_byte = Blend(measured.seconds_per_byte, absl::ToDoubleSeconds(took) / bytes);
  measured.ratio = measured.known ? Blend(measured.ratio, static_cast<double>(out) / bytes)
                                  : static_cast<double>(out) / bytes;
  measured.known = true;
}

void CodecChooser::OnSent(size_t bytes, absl::Duration took) {
  const double seconds = absl::ToDoubleSeconds(took);
  if (bytes == 0 || seconds <= 0) return;
  link_ = Blend(link_, static_cast<double>(bytes) / seconds);
}

}  // namespace headrace::tcp
