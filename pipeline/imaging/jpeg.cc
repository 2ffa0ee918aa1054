// libjpeg reports errors by longjmp. All of that stays in this file: every call into the library
// runs inside JpegReader::Guarded, whose lambdas hold nothing with a destructor.
#include <cstddef>
#include <cstdio>
// jpeglib.h wants size_t and FILE to be there already.
#include <jpeglib.h>
// ... and these want jpeglib.h.
#include <jerror.h>
#include <jpegint.h>

#include <algorithm>
#include <csetjmp>
#include <optional>
#include <string>

#include "common/status.h"
#include "pipeline/imaging/codecs.h"
#include "pipeline/imaging/jpeg_entropy.h"
#include "pipeline/imaging/scratch.h"

namespace headrace {
namespace {

// A progressive file of a few kB may hold thousands of scans, each a pass over all coefficients.
// Real ones have about ten.
constexpr int kMaxScans = 500;
// Rows handed to libjpeg per call; it fills one or two of them at a time.
constexpr int kRowsPerCall = 16;
// Pixels decoded around a region: at the cut, chroma is upsampled as at an image's edge, which
// reaches one pixel.
constexpr int64_t kMargin = 2;

class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes) : bytes_(bytes) {}
  ~JpegReader() {
    if (created_) jpeg_destroy_decompress(&info_);
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  absl::Status Open();
  // Sets scale, colour space and the cut; afterwards window() is what ReadWindow() gives.
  absl::Status Start(const DecodeOptions& options, bool own_entropy_decoder);
  absl::Status ReadWindow(uint8_t* out, int64_t channels);

  ImageHeader header() const {
    return {ImageFormat::kJpeg, info_.image_height, info_.image_width, info_.num_components};
  }
  const Region& window() const { return window_; }
  int scale() const { return scale_; }
  // After Start(): a failure to read is not the library's verdict then.
  bool own_entropy_decoder() const { return own_entropy_; }

 private:
  struct Errors : jpeg_error_mgr {
    std::jmp_buf jump;
  };

  // False when the library gave up inside `call`; Failure() says why.
  template <typename Call>
  bool Guarded(Call call) {
    if (setjmp(errors_.jump) != 0) return false;
    call();
    return true;
  }
  absl::Status Failure();
  bool ChromaKeepsUp() const;
  bool EndsWithEndMarker() const;
  // Decodes what follows the window without keeping it: proves that the data is whole.
  void ReadToTheEnd(uint8_t* row);
  void ReadRows(uint8_t* out, int64_t channels, uint8_t* cmyk_row);

  static JpegReader& Self(j_common_ptr info) {
    return *static_cast<JpegReader*>(info->client_data);
  }
  void StepInFrontOfEntropyDecoder(bool own, bool part);
  static boolean DecodeMcu(j_decompress_ptr info, JBLOCKROW* blocks);
  [[noreturn]] static void OnError(j_common_ptr info);
  static void OnMessage(j_common_ptr info, int level);
  static void OnProgress(j_common_ptr info);

  std::string_view bytes_;
  jpeg_decompress_struct info_{};
  Errors errors_{};
  jpeg_progress_mgr progress_{};
  decltype(jpeg_entropy_decoder::decode_mcu) decode_mcu_ = nullptr;  // the library's
  JpegEntropyDecoder entropy_;
  bool own_entropy_ = false;
  JDIMENSION mcu_column_ = 0;  // of the one that is decoded next
  bool created_ = false;
  bool data_ended_ = false;  // all bytes were read and the library made up an end marker
  bool too_many_scans_ = false;
  int scale_ = 8;
  Region window_;
};

void JpegReader::OnError(j_common_ptr info) { std::longjmp(Self(info).errors_.jump, 1); }

// Warnings come here, with level -1. Those after which libjpeg makes pixels up are errors.
void JpegReader::OnMessage(j_common_ptr info, int level) {
  if (level >= 0) return;
  JpegReader& self = Self(info);
  switch (self.errors_.msg_code) {
    case JWRN_JPEG_EOF:
      // A file that lacks nothing but its end marker still has all its pixels; with several scans
      // nobody can tell.
      self.data_ended_ = true;
      if (self.info_.output_height == 0 || jpeg_has_multiple_scans(&self.info_)) OnError(info);
      return;
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      OnError(info);
    default:
      return;  // extraneous bytes between segments, odd versions: the pixels are whole
  }
}

void JpegReader::OnProgress(j_common_ptr info) {
  JpegReader& self = Self(info);
  if (self.info_.input_scan_number <= kMaxScans) return;
  self.too_many_scans_ = true;
  OnError(info);
}

absl::Status JpegReader::Failure() {
  if (errors_.msg_code == JERR_OUT_OF_MEMORY)
    return ResourceExhausted("JPEG: no memory to decode it");
  if (too_many_scans_) return DataLoss("JPEG has more than {} scans; refused", kMaxScans);
  const size_t at = info_.src == nullptr || info_.src->bytes_in_buffer > bytes_.size()
                        ? bytes_.size()
                        : bytes_.size() - info_.src->bytes_in_buffer;
  if (data_ended_) {
    if (info_.output_height == 0) {
      return DataLoss("JPEG ends early: its {} bytes end before the pixels begin", bytes_.size());
    }
    if (jpeg_has_multiple_scans(&info_)) {
      return DataLoss("JPEG ends early: its {} bytes end in scan {}", bytes_.size(),
                      info_.input_scan_number);
    }
    return DataLoss("JPEG ends early: its {} bytes end in row {} of {}", bytes_.size(),
                    info_.output_scanline, info_.output_height);
  }
  char text[JMSG_LENGTH_MAX];
  (*info_.err->format_message)(reinterpret_cast<j_common_ptr>(&info_), text);
  return DataLoss("JPEG cannot be decoded, near byte {} of {}: {}", at, bytes_.size(), text);
}

absl::Status JpegReader::Open() {
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = OnError;
  errors_.emit_message = OnMessage;
  info_.client_data = this;
  const bool ok = Guarded([this] {
    jpeg_create_decompress(&info_);
    created_ = true;
    progress_.progress_monitor = OnProgress;
    info_.progress = &progress_;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
  });
  return ok ? absl::OkStatus() : Failure();
}

// At a coarser scale libjpeg decodes halved chroma at twice that scale, so that none is lost, but
// only where it is halved both ways. Halved one way (4:2:2), it would have half the width that was
// asked for.
bool JpegReader::ChromaKeepsUp() const {
  for (int c = 0; c < info_.num_components; ++c) {
    const jpeg_component_info& component = info_.comp_info[c];
    const bool across = component.h_samp_factor < info_.comp_info[0].h_samp_factor;
    const bool down = component.v_samp_factor < info_.comp_info[0].v_samp_factor;
    if (across != down) return false;
  }
  return true;
}

absl::Status JpegReader::Start(const DecodeOptions& options, bool own_entropy_decoder) {
  const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  if (cmyk) {
    info_.out_color_space = JCS_CMYK;
  } else {
    info_.out_color_space = options.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  }
  scale_ = ChromaKeepsUp() ? options.scale_eighths : std::min(2 * options.scale_eighths, 8);
  info_.scale_num = static_cast<unsigned>(scale_);
  info_.scale_denom = 8;
  info_.dct_method = JDCT_ISLOW;  // the accurate one; with SIMD it costs no more than the fast one
  if (!Guarded([this] { jpeg_start_decompress(&info_); })) return Failure();

  window_ = {0, 0, info_.output_width, info_.output_height};
  StepInFrontOfEntropyDecoder(own_entropy_decoder, options.region.has_value());
  if (!options.region) return absl::OkStatus();
  const int64_t m = scale_;
  const int64_t left = std::max<int64_t>(options.region->left * m / 8 - kMargin, 0);
  const int64_t right = std::min((options.region->right() * m + 7) / 8 + kMargin, window_.width);
  window_.top = std::max<int64_t>(options.region->top * m / 8 - kMargin, 0);
  window_.height =
      std::min((options.region->bottom() * m + 7) / 8 + kMargin, window_.height) - window_.top;
  if (left > 0 || right < window_.width) {
    JDIMENSION crop_left = static_cast<JDIMENSION>(left);
    JDIMENSION crop_width = static_cast<JDIMENSION>(right - left);
    // Moves the left edge out to a block border.
    if (!Guarded([&] { jpeg_crop_scanline(&info_, &crop_left, &crop_width); })) return Failure();
    window_.left = crop_left;
    window_.width = crop_width;
  }
  return absl::OkStatus();
}

// Our decoder of the entropy code takes the place of the library's (docs/design/010). And left and
// right of a cut, the library decodes the coefficients and then drops them; above it, it asks to
// pass over them. This asks for the same beside the cut, by the very condition by which the library
// drops them. Only the order of calls in a file of one scan is known: rows of MCUs from left to
// right, those that are skipped too.
void JpegReader::StepInFrontOfEntropyDecoder(bool own, bool part) {
#if LIBJPEG_TURBO_VERSION_NUMBER >= 2001000 && LIBJPEG_TURBO_VERSION_NUMBER < 3000000
  if (info_.progressive_mode || info_.arith_code || jpeg_has_multiple_scans(&info_)) return;
  own_entropy_ = own && entropy_.Start(info_, part);
  decode_mcu_ = info_.entropy->decode_mcu;
  info_.entropy->decode_mcu = DecodeMcu;
#endif
}

boolean JpegReader::DecodeMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  JpegReader& self = Self(reinterpret_cast<j_common_ptr>(info));
  const JDIMENSION column = self.mcu_column_;
  const jpeg_decomp_master& master = *info->master;
  if (column < master.first_iMCU_col || column > master.last_iMCU_col) blocks = nullptr;
  if (self.own_entropy_) {
    if (!self.entropy_.DecodeMcu(*info, blocks)) std::longjmp(self.errors_.jump, 1);
  } else if (!self.decode_mcu_(info, blocks)) {
    return FALSE;
  }
  self.mcu_column_ = column + 1 == info->MCUs_per_row ? 0 : column + 1;
  return TRUE;
}

bool JpegReader::EndsWithEndMarker() const {
  const std::string_view end = bytes_.substr(std::max<size_t>(bytes_.size(), 64) - 64);
  return end.rfind("\xff\xd9") != std::string_view::npos;
}

void JpegReader::ReadToTheEnd(uint8_t* row) {
  // Skipping to the very end decodes nothing at all, so the last row is read.
  if (info_.output_scanline + 1 < info_.output_height) {
    jpeg_skip_scanlines(&info_, info_.output_height - 1 - info_.output_scanline);
  }
  while (info_.output_scanline < info_.output_height) jpeg_read_scanlines(&info_, &row, 1);
}

// a * b / 255, rounded.
uint8_t MulDiv255(uint32_t a, uint32_t b) {
  const uint32_t t = a * b + 128;
  return static_cast<uint8_t>(((t >> 8) + t) >> 8);
}

// Adobe's files hold 255 - ink, so that the product of the two values is the light that is left.
void CmykToRgb(const uint8_t* cmyk, int64_t pixels, bool inverted, uint8_t* rgb) {
  const uint8_t flip = inverted ? 0 : 255;
  for (int64_t i = 0; i < pixels; ++i, cmyk += 4, rgb += 3) {
    const uint32_t light = cmyk[3] ^ flip;
    for (int c = 0; c < 3; ++c) rgb[c] = MulDiv255(cmyk[c] ^ flip, light);
  }
}

void JpegReader::ReadRows(uint8_t* out, int64_t channels, uint8_t* cmyk_row) {
  const int64_t row_bytes = window_.width * channels;
  const auto bottom = static_cast<JDIMENSION>(window_.bottom());
  JSAMPROW rows[kRowsPerCall];
  while (info_.output_scanline < bottom) {
    uint8_t* at = out + (static_cast<int64_t>(info_.output_scanline) - window_.top) * row_bytes;
    if (cmyk_row == nullptr) {
      const JDIMENSION n = std::min<JDIMENSION>(kRowsPerCall, bottom - info_.output_scanline);
      for (JDIMENSION i = 0; i < n; ++i) rows[i] = at + i * row_bytes;
      jpeg_read_scanlines(&info_, rows, n);
      continue;
    }
    jpeg_read_scanlines(&info_, &cmyk_row, 1);
    uint8_t* rgb = channels == 3 ? at : cmyk_row;
    CmykToRgb(cmyk_row, window_.width, info_.saw_Adobe_marker, rgb);
    if (channels == 1) RgbToGrey(rgb, window_.width, at);
  }
}

absl::Status JpegReader::ReadWindow(uint8_t* out, int64_t channels) {
  const bool cmyk = info_.out_color_space == JCS_CMYK;
  uint8_t* row = nullptr;
  const bool rest = window_.bottom() < info_.output_height && !EndsWithEndMarker();
  if (cmyk || rest) {
    row = reinterpret_cast<uint8_t*>(
        ThreadScratch(ScratchUse::kDecoderRows).Get(static_cast<size_t>(window_.width) * 4));
  }
  const bool ok = Guarded([&] {
    if (window_.top > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(window_.top));
    ReadRows(out, channels, cmyk ? row : nullptr);
    if (rest) ReadToTheEnd(row);
  });
  return ok ? absl::OkStatus() : Failure();
}

// The frame header of an ordinary file, found by the segments' lengths alone: an image's size is
// asked for more than once, and the library would build its tables each time. Nothing: the library
// shall judge. ITU-T T.81, B.2.2.
std::optional<ImageHeader> WalkToFrameHeader(std::string_view bytes) {
  const auto byte = [&](size_t i) { return int64_t{static_cast<uint8_t>(bytes[i])}; };
  size_t at = 2;  // behind the start marker
  while (at + 4 <= bytes.size() && byte(at) == 0xff) {
    const int64_t marker = byte(at + 1);
    const auto length = static_cast<size_t>(byte(at + 2) << 8 | byte(at + 3));
    const bool frame = marker >= 0xc0 && marker <= 0xc2;  // baseline, extended, progressive
    const bool passed = marker == 0xc4 || marker == 0xdb || marker == 0xdd || marker >= 0xe0;
    if (length < 2 || !(frame || passed)) return std::nullopt;
    if (!frame) {
      at += 2 + length;
      continue;
    }
    if (length < 8 || at + 10 > bytes.size() || byte(at + 4) != 8) return std::nullopt;
    const ImageHeader header{ImageFormat::kJpeg, byte(at + 5) << 8 | byte(at + 6),
                             byte(at + 7) << 8 | byte(at + 8), byte(at + 9)};
    const bool whole = length == 8 + 3 * static_cast<size_t>(header.channels);
    const bool plain = header.channels == 1 || header.channels == 3 || header.channels == 4;
    if (!whole || !plain || header.height == 0 || header.width == 0) return std::nullopt;
    return header;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ImageHeader> PeekJpeg(std::string_view bytes) {
  if (const std::optional<ImageHeader> header = WalkToFrameHeader(bytes)) return *header;
  JpegReader reader(bytes);
  HR_RETURN_IF_ERROR(reader.Open());
  return reader.header();
}

absl::StatusOr<DecodedImage> DecodeJpeg(std::string_view bytes, const DecodeOptions& options,
                                        PixelAllocator allocate) {
  uint8_t* out = nullptr;
  const auto decode = [&](bool own_entropy_decoder, bool& own) -> absl::StatusOr<DecodedImage> {
    JpegReader reader(bytes);
    HR_RETURN_IF_ERROR(reader.Open());
    HR_RETURN_IF_ERROR(CheckPixels(reader.header(), options.max_pixels));
    HR_RETURN_IF_ERROR(reader.Start(options, own_entropy_decoder));
    own = reader.own_entropy_decoder();
    const Region& window = reader.window();
    if (out == nullptr) {
      out = reinterpret_cast<uint8_t*>(
          allocate(static_cast<size_t>(window.width * window.height * options.channels)));
    }
    HR_RETURN_IF_ERROR(reader.ReadWindow(out, options.channels));
    return DecodedImage{{out, window.height, window.width, options.channels},
                        window.left,
                        window.top,
                        reader.scale(),
                        own};
  };
  bool own = false;
  absl::StatusOr<DecodedImage> image = decode(options.own_entropy_decoder, own);
  // Ours gives up where the library may warn, mend or refuse: that is for the library to say.
  if (!image.ok() && own) return decode(false, own);
  return image;
}

}  // namespace headrace
