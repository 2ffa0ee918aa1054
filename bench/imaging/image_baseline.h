// The loop that an image pipeline is measured against: what somebody writes who has the files in
// memory, one thread and no framework. libjpeg-turbo decodes the whole image (one decompressor for
// all, accurate DCT), the kernels of hr_imaging resize a part of it to size x size and scale it to
// float. One pass over all files a call; single-threaded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/imaging/image.h"

namespace headrace::bench {

// All the .JPEG, .jpeg and .jpg files of a folder, by name.
std::vector<std::string> ReadJpegs(const std::string& folder);

struct LoopTime {
  int64_t images = 0;
  double seconds = 0;  // CPU time of the thread: other work on the machine does not count
  double decode_seconds = 0;
  double resize_seconds = 0;
  double normalize_seconds = 0;
  float checksum = 0;  // of the floats, so that nothing is optimised away

  double images_per_second() const { return static_cast<double>(images) / seconds; }
};

// CPU seconds of the calling thread.
double ThreadSeconds();

class ImageLoop {
 public:
  explicit ImageLoop(int64_t size);
  // parts[i] of jpegs[i]; `out_height` x `out_width` floats an image, HWC, normalised with
  // ImageNet's mean and deviation.
  LoopTime Run(std::span<const std::string> jpegs, std::span<const Region> parts);
  // The same by DecodeRegionResampled: what fusing decode and crop gains at most.
  LoopTime RunFused(std::span<const std::string> jpegs, std::span<const Region> parts);

 private:
  void Normalize(LoopTime& time);

  int64_t size_;
  std::vector<uint8_t> whole_, part_;
  std::vector<float> out_;
};

}  // namespace headrace::bench
