#include "pipeline/video/decode.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "pipeline/video/ffmpeg.h"

namespace headrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr const char* kFormats = "mov,matroska,avi,mpegts,mpeg,ogg,flv,ivf";
constexpr int kIoBytes = 64 << 10;
// Decoders count the edges around a frame too.
constexpr int64_t kMarginPixels = 1 << 22;
constexpr int64_t kPacketsPerFrame = 16;  // empty and foreign ones included

const Ffmpeg& Av() { return LoadFfmpeg(); }

struct Closer {
  void operator()(AVFormatContext* p) const { Av().avformat_close_input(&p); }
  void operator()(AVCodecContext* p) const { Av().avcodec_free_context(&p); }
  void operator()(AVFrame* p) const { Av().av_frame_free(&p); }
  void operator()(AVPacket* p) const { Av().av_packet_free(&p); }
  void operator()(SwsContext* p) const { Av().sws_freeContext(p); }
  void operator()(AVIOContext* p) const {
    Av().av_freep(&p->buffer);
    Av().avio_context_free(&p);
  }
};
template <typename T>
using Owned = std::unique_ptr<T, Closer>;

std::string ErrorText(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = "";
  Av().av_strerror(code, text, sizeof(text));
  return text;
}

bool IsKnownCodec(AVCodecID id) {
  switch (id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_THEORA:
    case AV_CODEC_ID_MJPEG:
    case AV_CODEC_ID_FFV1:
      return true;
    default:
      return false;
  }
}

// The clip as FFmpeg reads it, and how long it may go on.
struct MemoryFile {
  std::string_view bytes;
  int64_t at = 0;
  SteadyClock::time_point deadline;

  bool late() const { return SteadyClock::now() > deadline; }
};

int Read(void* user, uint8_t* out, int size) {
  auto& file = *static_cast<MemoryFile*>(user);
  const int64_t left = static_cast<int64_t>(file.bytes.size()) - file.at;
  if (left <= 0 || file.late()) return AVERROR_EOF;
  const int n = static_cast<int>(std::min<int64_t>(left, size));
  std::memcpy(out, file.bytes.data() + file.at, static_cast<size_t>(n));
  file.at += n;
  return n;
}
int64_t Seek(void* user, int64_t offset, int whence) {
  auto& file = *static_cast<MemoryFile*>(user);
  const auto size = static_cast<int64_t>(file.bytes.size());
  if (whence == AVSEEK_SIZE) return size;
  whence &= ~AVSEEK_FORCE;
  const int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file.at : size;
  int64_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < 0 || to > size) return AVERROR(EINVAL);
  return file.at = to;
}
int Interrupt(void* user) { return static_cast<MemoryFile*>(user)->late() ? 1 : 0; }
// A clip may name other files: they are not opened.
int RefuseToOpen(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

class ClipReader {
 public:
  ClipReader(std::string_view bytes, const VideoOptions& options)
      : options_(options),
        file_{bytes, 0, SteadyClock::now() + absl::ToChronoMicroseconds(options.time_limit)} {}

  absl::Status Open();
  // Decodes until all that was asked for is in pixels().
  absl::Status ReadFrames();

  const std::vector<uint8_t>& pixels() const { return pixels_; }
  int64_t frames() const { return taken_; }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

 private:
  absl::Status OpenContainer();
  absl::Status OpenDecoder();
  absl::Status Decode(const AVPacket* packet);
  absl::Status Take(const AVFrame& frame);
  absl::Status CheckSize(int64_t height, int64_t width) const {
    if (height * width <= options_.max_pixels) return absl::OkStatus();
    return OutOfRange("frames of {} x {} (height x width) are over the limit of {} pixels", height,
                      width, options_.max_pixels);
  }
  absl::Status CheckTime() const {
    if (!file_.late()) return absl::OkStatus();
    return OutOfRange("decoding took longer than the limit of {} after {} frames",
                      absl::FormatDuration(options_.time_limit), seen_);
  }
  bool done() const { return options_.frames > 0 && taken_ == options_.frames; }

  VideoOptions options_;
  MemoryFile file_;
  Owned<AVIOContext> io_;  // used by format_: declared before it
  Owned<AVFormatContext> format_;
  Owned<AVCodecContext> decoder_;
  Owned<SwsContext> scaler_;
  int stream_ = -1;
  int64_t seen_ = 0;   // frames decoded
  int64_t taken_ = 0;  // frames kept
  int64_t height_ = 0, width_ = 0;
  std::vector<uint8_t> pixels_;
};

absl::Status ClipReader::OpenContainer() {
  auto* buffer = static_cast<uint8_t*>(Av().av_malloc(kIoBytes));
  if (buffer == nullptr) return ResourceExhausted("no memory to open a clip");
  io_.reset(Av().avio_alloc_context(buffer, kIoBytes, 0, &file_, Read, nullptr, Seek));
  AVFormatContext* format = io_ != nullptr ? Av().avformat_alloc_context() : nullptr;
  if (format == nullptr) return ResourceExhausted("no memory to open a clip");
  format->pb = io_.get();
  format->flags |= AVFMT_FLAG_CUSTOM_IO;
  format->interrupt_callback = {Interrupt, &file_};
  format->io_open = RefuseToOpen;
  format->format_whitelist = Av().av_strdup(kFormats);
  const int opened =
      Av().avformat_open_input(&format, nullptr, nullptr, nullptr);  // frees it on failure
  if (opened < 0) {
    HR_RETURN_IF_ERROR(CheckTime());
    return InvalidArgument("no video clip of a known kind: {}", ErrorText(opened));
  }
  format_.reset(format);
  if (const int found = Av().avformat_find_stream_info(format, nullptr); found < 0) {
    HR_RETURN_IF_ERROR(CheckTime());
    return DataLoss("{} clip: {}", format->iformat->name, ErrorText(found));
  }
  return absl::OkStatus();
}

absl::Status ClipReader::OpenDecoder() {
  stream_ = Av().av_find_best_stream(format_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (stream_ < 0) return InvalidArgument("{} clip without video", format_->iformat->name);
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    if (static_cast<int>(i) != stream_) format_->streams[i]->discard = AVDISCARD_ALL;
  }
  const AVCodecParameters& about = *format_->streams[stream_]->codecpar;
  const AVCodec* codec = Av().avcodec_find_decoder(about.codec_id);
  if (!IsKnownCodec(about.codec_id) || codec == nullptr)
    return InvalidArgument("video of codec '{}' is not decoded",
                           Av().avcodec_get_name(about.codec_id));
  HR_RETURN_IF_ERROR(CheckSize(about.height, about.width));
  decoder_.reset(Av().avcodec_alloc_context3(codec));
  if (decoder_ == nullptr) return ResourceExhausted("no memory for a decoder");
  int error = Av().avcodec_parameters_to_context(decoder_.get(), &about);
  decoder_->thread_count = 1;  // the engine's threads are the only ones
  decoder_->max_pixels = options_.max_pixels + kMarginPixels;
  if (error >= 0) error = Av().avcodec_open2(decoder_.get(), codec, nullptr);
  if (error < 0) return DataLoss("{} video: {}", codec->name, ErrorText(error));
  return absl::OkStatus();
}

absl::Status ClipReader::Open() {
  HR_RETURN_IF_ERROR(OpenContainer());
  return OpenDecoder();
}

absl::Status ClipReader::ReadFrames() {
  const Owned<AVPacket> packet(Av().av_packet_alloc());
  if (packet == nullptr) return ResourceExhausted("no memory for a packet");
  const int64_t most_packets = options_.max_decoded_frames * kPacketsPerFrame;
  for (int64_t packets = 0; !done(); ++packets) {
    HR_RETURN_IF_ERROR(CheckTime());
    if (packets > most_packets) return OutOfRange("clip of more than {} packets", most_packets);
    const int read = Av().av_read_frame(format_.get(), packet.get());
    if (read == AVERROR_EOF) {
      HR_RETURN_IF_ERROR(CheckTime());
      HR_RETURN_IF_ERROR(Decode(nullptr));
      break;
    }
    if (read < 0) return DataLoss("damaged after {} frames: {}", seen_, ErrorText(read));
    absl::Status status;
    if (packet->stream_index == stream_) {
      status = (packet->flags & AV_PKT_FLAG_CORRUPT) != 0
                   ? DataLoss("damaged or cut off after {} frames", seen_)
                   : Decode(packet.get());
    }
    Av().av_packet_unref(packet.get());
    HR_RETURN_IF_ERROR(status);
  }
  if (seen_ == 0) return DataLoss("clip without a frame");
  if (taken_ == 0) return InvalidArgument("clip of {} frames, start is {}", seen_, options_.start);
  return absl::OkStatus();
}

// nullptr: what the decoder still holds.
absl::Status ClipReader::Decode(const AVPacket* packet) {
  int error = Av().avcodec_send_packet(decoder_.get(), packet);
  const Owned<AVFrame> frame(Av().av_frame_alloc());
  if (frame == nullptr) return ResourceExhausted("no memory for a frame");
  while (error >= 0 && !done()) {
    error = Av().avcodec_receive_frame(decoder_.get(), frame.get());
    if (error < 0) break;
    if (frame->decode_error_flags != 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0)
      return DataLoss("frame {} is damaged", seen_);
    HR_RETURN_IF_ERROR(CheckSize(frame->height, frame->width));
    if (seen_ >= options_.max_decoded_frames)
      return OutOfRange("clip of more than {} frames", options_.max_decoded_frames);
    const int64_t place = seen_++ - options_.start;
    if (place >= 0 && place % options_.every == 0) HR_RETURN_IF_ERROR(Take(*frame));
    Av().av_frame_unref(frame.get());
    HR_RETURN_IF_ERROR(CheckTime());
  }
  if (error >= 0 || error == AVERROR(EAGAIN) || error == AVERROR_EOF) return absl::OkStatus();
  return DataLoss("damaged after {} frames: {}", seen_, ErrorText(error));
}

// swscale calls full-range formats deprecated: the plain one, and the range apart.
AVPixelFormat PlainFormat(const AVFrame& frame, bool& full_range) {
  full_range = frame.color_range == AVCOL_RANGE_JPEG;
  const auto format = static_cast<AVPixelFormat>(frame.format);
  switch (format) {
    case AV_PIX_FMT_YUVJ420P:
      full_range = true;
      return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
      full_range = true;
      return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
      full_range = true;
      return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P:
      full_range = true;
      return AV_PIX_FMT_YUV440P;
    default:
      return format;
  }
}

int Matrix(const AVFrame& frame) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
      return SWS_CS_ITU709;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return SWS_CS_BT2020;
    case AVCOL_SPC_SMPTE240M:
      return SWS_CS_SMPTE240M;
    default:
      return SWS_CS_ITU601;
  }
}

absl::Status ClipReader::Take(const AVFrame& frame) {
  if (taken_ == 0) {
    height_ = options_.height > 0 ? options_.height : frame.height;
    width_ = options_.width > 0 ? options_.width : frame.width;
  }
  const int64_t frame_bytes = height_ * width_ * 3;
  const auto before = static_cast<int64_t>(pixels_.size());
  if (before + frame_bytes > options_.max_bytes) {
    return OutOfRange(
        "{} frames of {} x {} (height x width) are over the limit of {} bytes; take fewer (frames, "
        "every) or smaller ones (size)",
        taken_ + 1, height_, width_, options_.max_bytes);
  }
  bool full_range = false;
  const AVPixelFormat from = PlainFormat(frame, full_range);
  const bool same_size = frame.height == height_ && frame.width == width_;
  const int flags = (same_size ? SWS_POINT : SWS_AREA) | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT |
                    SWS_FULL_CHR_H_INP;
  const bool yuv = (Av().av_pix_fmt_desc_get(from)->flags & AV_PIX_FMT_FLAG_RGB) == 0;
  scaler_.reset(Av().sws_getCachedContext(scaler_.release(), frame.width, frame.height, from,
                                          static_cast<int>(width_), static_cast<int>(height_),
                                          AV_PIX_FMT_RGB24, flags, nullptr, nullptr, nullptr));
  if (scaler_ == nullptr)
    return InvalidArgument("frames of {} cannot be made RGB", Av().av_get_pix_fmt_name(from));
  if (yuv) {
    const int* matrix = Av().sws_getCoefficients(Matrix(frame));
    Av().sws_setColorspaceDetails(scaler_.get(), matrix, full_range ? 1 : 0, matrix, 1, 0, 1 << 16,
                                  1 << 16);
  }
  pixels_.resize(static_cast<size_t>(before + frame_bytes));
  uint8_t* const out[4] = {pixels_.data() + before};
  const int stride[4] = {static_cast<int>(width_ * 3)};
  const int lines =
      Av().sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, out, stride);
  if (lines != height_) return DataLoss("frame {} cannot be made RGB", seen_ - 1);
  ++taken_;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DecodedVideo> DecodeVideo(std::string_view bytes, const VideoOptions& options,
                                         FrameAllocator allocate) {
  if (bytes.empty()) return InvalidArgument("0 bytes: no video clip");
  HR_RETURN_IF_ERROR(LoadFfmpeg().status);
  ClipReader clip(bytes, options);
  HR_RETURN_IF_ERROR(clip.Open());
  HR_RETURN_IF_ERROR(clip.ReadFrames());
  DecodedVideo out;
  std::byte* copy = allocate(clip.pixels().size());
  std::memcpy(copy, clip.pixels().data(), clip.pixels().size());
  out.pixels = reinterpret_cast<const uint8_t*>(copy);
  out.frames = clip.frames();
  out.height = clip.height();
  out.width = clip.width();
  return out;
}

}  // namespace headrace
