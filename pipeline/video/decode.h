// Video clip -> frames, by contents (never by file name): MP4/MOV, Matroska/WebM, AVI, MPEG-TS/PS,
// Ogg, FLV and IVF with the usual codecs (H.264, HEVC, VP8, VP9, AV1, MPEG-1/2/4, Theora, MJPEG,
// FFV1), by FFmpeg.
//
// What comes out is uint8 RGB, [frames, height, width, 3], in the orientation in which it is stored
// (a rotation tag is not applied). Colours follow what the stream says of its matrix and range;
// where it says nothing, BT.601 and limited range. A clip that changes its size in the middle is
// brought to that of its first frame.
//
// Thread-safe. Clips are outside bytes: only the formats and codecs above are opened, nothing
// beyond the given bytes is read (no file, no network), and pixels, frames, packets, memory and
// time are bounded. The first call turns FFmpeg's own messages off, for the whole process.
//
// Errors: INVALID_ARGUMENT (no clip of a known kind, no video in it), DATA_LOSS (damaged or cut
// off), OUT_OF_RANGE (over a limit; time_limit too, because another try takes as long),
// FAILED_PRECONDITION (FFmpeg's libraries are not installed: no clip can be decoded).
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headrace {

struct VideoOptions {
  int64_t start = 0;   // frames left out at the front
  int64_t every = 1;   // of the rest, the first, and each every-th after it
  int64_t frames = 0;  // at most so many come out, and no more is decoded; 0: all
  int64_t height = 0;  // 0: as stored
  int64_t width = 0;
  int64_t max_pixels = 35'389'440;       // of a stored frame: 8192 x 4320
  int64_t max_bytes = int64_t{1} << 30;  // of all that comes out
  int64_t max_decoded_frames = 100'000;  // half an hour at 50 a second
  absl::Duration time_limit = absl::Seconds(60);
};

// Where the frames go: called once, with the bytes needed; what it returns must not be null.
using FrameAllocator = absl::FunctionRef<std::byte*(size_t bytes)>;

struct DecodedVideo {
  const uint8_t* pixels = nullptr;  // in what the allocator gave
  int64_t frames = 0;               // 1 or more
  int64_t height = 0;
  int64_t width = 0;
};

absl::StatusOr<DecodedVideo> DecodeVideo(std::string_view bytes, const VideoOptions& options,
                                         FrameAllocator allocate);

}  // namespace headrace
