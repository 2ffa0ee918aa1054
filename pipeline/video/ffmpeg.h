// FFmpeg's libraries, loaded when the first clip is decoded: with all they depend on they are 130
// shared libraries and 30 MB, which no other pipeline and no `import headrace` should pay for. For
// decode.cc alone.
#pragma once

#include "absl/status/status.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

namespace headrace {

// X(library, function)
#define HR_FFMPEG_CALLS(X)                  \
  X(avutil, av_frame_alloc)                 \
  X(avutil, av_frame_free)                  \
  X(avutil, av_frame_unref)                 \
  X(avutil, av_freep)                       \
  X(avutil, av_get_pix_fmt_name)            \
  X(avutil, av_log_set_level)               \
  X(avutil, av_malloc)                      \
  X(avutil, av_max_alloc)                   \
  X(avutil, av_pix_fmt_desc_get)            \
  X(avutil, av_strdup)                      \
  X(avutil, av_strerror)                    \
  X(avcodec, av_packet_alloc)               \
  X(avcodec, av_packet_free)                \
  X(avcodec, av_packet_unref)               \
  X(avcodec, avcodec_alloc_context3)        \
  X(avcodec, avcodec_find_decoder)          \
  X(avcodec, avcodec_free_context)          \
  X(avcodec, avcodec_get_name)              \
  X(avcodec, avcodec_open2)                 \
  X(avcodec, avcodec_parameters_to_context) \
  X(avcodec, avcodec_receive_frame)         \
  X(avcodec, avcodec_send_packet)           \
  X(avformat, av_find_best_stream)          \
  X(avformat, av_read_frame)                \
  X(avformat, avformat_alloc_context)       \
  X(avformat, avformat_close_input)         \
  X(avformat, avformat_find_stream_info)    \
  X(avformat, avformat_open_input)          \
  X(avformat, avio_alloc_context)           \
  X(avformat, avio_context_free)            \
  X(swscale, sws_freeContext)               \
  X(swscale, sws_getCachedContext)          \
  X(swscale, sws_getCoefficients)           \
  X(swscale, sws_scale)                     \
  X(swscale, sws_setColorspaceDetails)

// The functions that are used, under their own names.
struct Ffmpeg {
#define HR_FFMPEG_MEMBER(library, function) decltype(&::function) function = nullptr;
  HR_FFMPEG_CALLS(HR_FFMPEG_MEMBER)
#undef HR_FFMPEG_MEMBER

  absl::Status status;  // FAILED_PRECONDITION: which library is missing, and what to install
};

// Loaded by the first call, by any thread; never unloaded.
const Ffmpeg& LoadFfmpeg();

}  // namespace headrace
