#include "pipeline/video/ffmpeg.h"

#include <dlfcn.h>

#include <string>

#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kMaxBlockBytes = 512 << 20;  // of one allocation inside FFmpeg

// The version that the headers are of; another one may lay its structs out otherwise.
void* Open(const char* name, int version, absl::Status& status) {
  const std::string file = fmt::format("lib{}.so.{}", name, version);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr && status.ok()) {
    status = FailedPrecondition(
        "decoding video needs FFmpeg's {}: {}; on Debian 12: apt-get install libavformat59 "
        "libswscale6",
        file, dlerror());
  }
  return library;
}

Ffmpeg Load() {
  Ffmpeg out;
  void* avutil = Open("avutil", LIBAVUTIL_VERSION_MAJOR, out.status);
  void* avcodec = Open("avcodec", LIBAVCODEC_VERSION_MAJOR, out.status);
  void* avformat = Open("avformat", LIBAVFORMAT_VERSION_MAJOR, out.status);
  void* swscale = Open("swscale", LIBSWSCALE_VERSION_MAJOR, out.status);
  if (!out.status.ok()) return out;
#define HR_FFMPEG_FIND(library, function)                                             \
  out.function = reinterpret_cast<decltype(out.function)>(dlsym(library, #function)); \
  if (out.function == nullptr) out.status = FailedPrecondition("FFmpeg lacks {}", #function);
  HR_FFMPEG_CALLS(HR_FFMPEG_FIND)
#undef HR_FFMPEG_FIND
  if (!out.status.ok()) return out;
  // FFmpeg keeps these for the whole process: no messages on stderr, no huge block for a lie in a
  // header.
  out.av_log_set_level(AV_LOG_QUIET);
  out.av_max_alloc(kMaxBlockBytes);
  return out;
}

}  // namespace

const Ffmpeg& LoadFfmpeg() {
  static const Ffmpeg* const loaded = new Ffmpeg(Load());
  return *loaded;
}

}  // namespace headrace
