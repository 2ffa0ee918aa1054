// The loop that an image pipeline is measured against: what somebody writes who wants batches of
// the files, with one thread and no framework. libjpeg-turbo decodes the whole image (one
// decompressor for all, accurate DCT), the kernels of hr_imaging resize a part of it to size x size
// and scale it to float, into its place in a batch whose memory is used again and again. One pass
// over all files a call; single-threaded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pipeline/imaging/image.h"

namespace headrace::bench {

// All the .JPEG, .jpeg and .jpg files of a folder and of those below it, by name.
std::vector<std::string> ListJpegs(const std::string& folder);
std::string ReadFile(const std::string& path);

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
  ImageLoop(int64_t size, int64_t batch);
  // Reads each file when its turn comes. parts[i] of paths[i]; `size` x `size` floats an image,
  // HWC, normalised with ImageNet's mean and deviation.
  LoopTime RunFiles(std::span<const std::string> paths, std::span<const Region> parts);
  // The same with the files in memory.
  LoopTime Run(std::span<const std::string> jpegs, std::span<const Region> parts);
  // The same by DecodeRegionResampled: what fusing decode and crop gains at most.
  LoopTime RunFused(std::span<const std::string> jpegs, std::span<const Region> parts);

 private:
  template <typename Jpeg>
  LoopTime RunOver(size_t images, Jpeg jpeg, std::span<const Region> parts);
  void Normalize(LoopTime& time);

  int64_t size_, batch_;
  std::vector<uint8_t> whole_, part_;
  std::vector<float> out_;  // a batch
};

}  // namespace headrace::bench
