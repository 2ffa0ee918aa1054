#include "bench/imaging/image_baseline.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
// jpeglib.h wants size_t and FILE to be there already.
#include <jpeglib.h>

#include "pipeline/imaging/convert.h"
#include "pipeline/imaging/decode_part.h"
#include "pipeline/imaging/resample.h"

namespace headrace::bench {
namespace {

constexpr std::array<float, 3> kFactor{1 / (255 * 0.229f), 1 / (255 * 0.224f), 1 / (255 * 0.225f)};
constexpr std::array<float, 3> kOffset{-0.485f / 0.229f, -0.456f / 0.224f, -0.406f / 0.225f};

// libjpeg's default error handler: prints and exits, fit for a benchmark.
ImageView DecodeWhole(jpeg_decompress_struct& info, const std::string& jpeg,
                      std::vector<uint8_t>& pixels) {
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const size_t row_bytes = size_t{info.output_width} * 3;
  if (pixels.size() < row_bytes * info.output_height) pixels.resize(row_bytes * info.output_height);
  JSAMPROW rows[16];
  while (info.output_scanline < info.output_height) {
    const JDIMENSION n = std::min<JDIMENSION>(16, info.output_height - info.output_scanline);
    for (JDIMENSION i = 0; i < n; ++i)
      rows[i] = pixels.data() + (info.output_scanline + i) * row_bytes;
    jpeg_read_scanlines(&info, rows, n);
  }
  const ImageView view{pixels.data(), info.output_height, info.output_width, 3};
  jpeg_finish_decompress(&info);
  return view;
}

}  // namespace

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<std::string> ListJpegs(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".JPEG" || extension == ".jpeg" || extension == ".jpg")
      paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

static void ReadInto(const std::string& path, std::string& contents) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0) std::abort();
  contents.resize(static_cast<size_t>(about.st_size));
  size_t done = 0;
  while (done < contents.size()) {
    const ssize_t n = read(file, contents.data() + done, contents.size() - done);
    if (n <= 0) std::abort();
    done += static_cast<size_t>(n);
  }
  close(file);
}

std::string ReadFile(const std::string& path) {
  std::string contents;
  ReadInto(path, contents);
  return contents;
}

ImageLoop::ImageLoop(int64_t size, int64_t batch)
    : size_(size),
      batch_(batch),
      part_(static_cast<size_t>(size * size * 3)),
      out_(static_cast<size_t>(batch * size * size * 3)) {}

void ImageLoop::Normalize(LoopTime& time) {
  float* out = out_.data() + (time.images % batch_) * size_ * size_ * 3;
  ScalePixels(part_.data(), size_ * size_, kFactor, kOffset, Layout::kHwc, out);
  time.checksum += out[0] + out[part_.size() / 2] + out[part_.size() - 1];
  ++time.images;
}

template <typename Jpeg>
LoopTime ImageLoop::RunOver(size_t images, Jpeg jpeg, std::span<const Region> parts) {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  LoopTime time;
  for (size_t i = 0; i < images; ++i) {
    const double start = ThreadSeconds();
    const ImageView whole = DecodeWhole(info, jpeg(i), whole_);
    const double decoded = ThreadSeconds();
    Resample(whole, BoxOf(parts[i]), ResampleMethod::kBilinear, size_, size_, part_.data());
    const double resized = ThreadSeconds();
    Normalize(time);
    const double end = ThreadSeconds();
    time.decode_seconds += decoded - start;
    time.resize_seconds += resized - decoded;
    time.normalize_seconds += end - resized;
    time.seconds += end - start;
  }
  jpeg_destroy_decompress(&info);
  return time;
}

LoopTime ImageLoop::Run(std::span<const std::string> jpegs, std::span<const Region> parts) {
  return RunOver(jpegs.size(), [&](size_t i) -> const std::string& { return jpegs[i]; }, parts);
}

LoopTime ImageLoop::RunFiles(std::span<const std::string> paths, std::span<const Region> parts) {
  std::string contents;
  return RunOver(
      paths.size(),
      [&](size_t i) -> const std::string& {
        ReadInto(paths[i], contents);
        return contents;
      },
      parts);
}

LoopTime ImageLoop::RunFused(std::span<const std::string> jpegs, std::span<const Region> parts) {
  LoopTime time;
  for (size_t i = 0; i < jpegs.size(); ++i) {
    const double start = ThreadSeconds();
    const absl::StatusOr<ImageView> part = DecodeRegionResampled(
        jpegs[i], parts[i], ResampleMethod::kBilinear, size_, size_, {},
        [this](size_t) { return reinterpret_cast<std::byte*>(part_.data()); });
    if (!part.ok()) std::abort();
    const double resized = ThreadSeconds();
    Normalize(time);
    const double end = ThreadSeconds();
    time.decode_seconds += resized - start;
    time.normalize_seconds += end - resized;
    time.seconds += end - start;
  }
  return time;
}

}  // namespace headrace::bench
