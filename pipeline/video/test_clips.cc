#include "pipeline/video/test_clips.h"

#include <cmath>
#include <cstdio>
#include <cstring>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
#include <libswscale/swscale.h>
}

namespace headrace {
namespace {

struct Form {
  const char* container;
  const char* codec;
  AVPixelFormat pixels;
};
Form FormOf(ClipKind kind) {
  switch (kind) {
    case ClipKind::kMp4Mpeg4:
      return {"mp4", "mpeg4", AV_PIX_FMT_YUV420P};
    case ClipKind::kAviMjpeg:
      return {"avi", "mjpeg", AV_PIX_FMT_YUVJ444P};
    case ClipKind::kMatroskaFfv1:
      return {"matroska", "ffv1", AV_PIX_FMT_0RGB32};
  }
  return {"", "", AV_PIX_FMT_NONE};
}

// What the muxer writes: FFmpeg's own growing buffer loses parts of an AVI header.
struct Growing {
  std::string bytes;
  size_t at = 0;
};
int Write(void* user, uint8_t* data, int size) {
  auto& file = *static_cast<Growing*>(user);
  const auto n = static_cast<size_t>(size);
  if (file.bytes.size() < file.at + n) file.bytes.resize(file.at + n);
  std::memcpy(file.bytes.data() + file.at, data, n);
  file.at += n;
  return size;
}
int64_t Seek(void* user, int64_t offset, int whence) {
  auto& file = *static_cast<Growing*>(user);
  const auto size = static_cast<int64_t>(file.bytes.size());
  if (whence == AVSEEK_SIZE) return size;
  const int64_t base = whence == SEEK_SET   ? 0
                       : whence == SEEK_CUR ? static_cast<int64_t>(file.at)
                                            : size;
  file.at = static_cast<size_t>(base + offset);
  return base + offset;
}

// Sends one frame (nullptr: the end) and writes what comes out.
void Encode(AVCodecContext* encoder, AVFrame* frame, AVStream* stream, AVFormatContext* out) {
  avcodec_send_frame(encoder, frame);
  AVPacket* packet = av_packet_alloc();
  while (avcodec_receive_packet(encoder, packet) >= 0) {
    packet->duration = 1;  // or MP4 leaves the last frame out
    av_packet_rescale_ts(packet, encoder->time_base, stream->time_base);
    packet->stream_index = 0;
    av_interleaved_write_frame(out, packet);
  }
  av_packet_free(&packet);
}

void EncodeAll(const TestClip& clip, AVCodecContext* encoder, AVStream* stream,
               AVFormatContext* out) {
  const int width = static_cast<int>(clip.width), height = static_cast<int>(clip.height);
  SwsContext* scaler =
      sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height, encoder->pix_fmt,
                     SWS_POINT | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP, nullptr, nullptr, nullptr);
  AVFrame* frame = av_frame_alloc();
  frame->format = encoder->pix_fmt;
  frame->width = width;
  frame->height = height;
  av_frame_get_buffer(frame, 0);
  for (int64_t f = 0; f < clip.frames; ++f) {
    av_frame_make_writable(frame);
    const uint8_t* rgb[4] = {clip.pixels.data() + f * clip.height * clip.width * 3};
    const int stride[4] = {width * 3};
    sws_scale(scaler, rgb, stride, 0, height, frame->data, frame->linesize);
    frame->pts = f;
    Encode(encoder, frame, stream, out);
  }
  Encode(encoder, nullptr, stream, out);
  av_frame_free(&frame);
  sws_freeContext(scaler);
}

}  // namespace

TestClip MakeClip(int64_t frames, int64_t height, int64_t width) {
  TestClip clip{frames, height, width, {}};
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        const double t = static_cast<double>(f) * 0.4, u = static_cast<double>(x) / 9.0,
                     v = static_cast<double>(y) / 7.0;
        for (int c = 0; c < 3; ++c) {
          const double level = 128 + 80 * std::sin(u + t + c) * std::cos(v - t * 0.5 + 2 * c);
          clip.pixels.push_back(y < 8 ? static_cast<uint8_t>(10 * f % 250)
                                      : static_cast<uint8_t>(level));
        }
      }
    }
  }
  return clip;
}

std::string EncodeClip(ClipKind kind, const TestClip& clip) {
  av_log_set_level(AV_LOG_QUIET);
  const Form form = FormOf(kind);
  const AVCodec* codec = avcodec_find_encoder_by_name(form.codec);
  AVFormatContext* out = nullptr;
  if (codec == nullptr ||
      avformat_alloc_output_context2(&out, nullptr, form.container, nullptr) < 0)
    return "";
  Growing file;
  constexpr int kIoBytes = 4096;
  out->pb = avio_alloc_context(static_cast<uint8_t*>(av_malloc(kIoBytes)), kIoBytes, 1, &file,
                               nullptr, Write, Seek);
  AVCodecContext* encoder = avcodec_alloc_context3(codec);
  encoder->width = static_cast<int>(clip.width);
  encoder->height = static_cast<int>(clip.height);
  encoder->pix_fmt = form.pixels;
  encoder->time_base = {1, 25};
  encoder->framerate = {25, 1};
  encoder->gop_size = 6;
  encoder->max_b_frames = kind == ClipKind::kMp4Mpeg4 ? 2 : 0;
  encoder->flags |= AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT;
  encoder->global_quality = FF_QP2LAMBDA * 2;
  encoder->thread_count = 1;
  if ((out->oformat->flags & AVFMT_GLOBALHEADER) != 0)
    encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  AVStream* stream = avformat_new_stream(out, nullptr);
  bool made = avcodec_open2(encoder, codec, nullptr) >= 0;
  if (made) {
    avcodec_parameters_from_context(stream->codecpar, encoder);
    stream->time_base = encoder->time_base;
    made = avformat_write_header(out, nullptr) >= 0;
  }
  if (made) {
    EncodeAll(clip, encoder, stream, out);
    av_write_trailer(out);
    avio_flush(out->pb);
  }
  av_freep(&out->pb->buffer);
  avio_context_free(&out->pb);
  avcodec_free_context(&encoder);
  avformat_free_context(out);
  return made ? file.bytes : "";
}

}  // namespace headrace
