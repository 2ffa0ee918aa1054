// The Huffman decoder of sequential 8-bit JPEGs of one scan: stands in for libjpeg-turbo's, which
// takes over half of a decode. It is faster on blocks that are wanted (code, run and value in one
// look-up, and bits come eight bytes at a time) and much faster on those that are only passed over
// (several symbols a look-up).
//
// It never judges a file. What is not exactly as the standard has it makes it give up, and the
// caller decodes again with the library's decoder alone, whose verdict, message and pixels count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
// jpeglib.h wants size_t and FILE to be there already.
#include <jpeglib.h>

#include "pipeline/imaging/jpeg_huffman.h"

namespace headrace {

// Of one file, in one thread, and one at a time in a thread.
class JpegEntropyDecoder {
 public:
  JpegEntropyDecoder() = default;
  JpegEntropyDecoder(const JpegEntropyDecoder&) = delete;
  JpegEntropyDecoder& operator=(const JpegEntropyDecoder&) = delete;

  // After jpeg_start_decompress, before any MCU was read, with the whole rest of the file in the
  // source's buffer. `part`: some MCUs will only be passed over. False: not a file for this
  // decoder.
  bool Start(const jpeg_decompress_struct& info, bool part);

  // The next MCU of the scan into `blocks`, which are zero; null passes over it. False: gave up.
  // Behind the last one the source stands where the library's own reader might have left it.
  bool DecodeMcu(jpeg_decompress_struct& info, JBLOCKROW* blocks);

 private:
  struct Bits;
  struct Block {
    const HuffmanTable* dc;
    const HuffmanTable* ac;
    int32_t* last_dc;
    bool dc_needed;  // for an output that has this component
    bool ac_needed;  // ... and more than the mean of a block
  };

  bool SetUpBlocks(const jpeg_decompress_struct& info, bool part);
  void BeginSegment();
  bool Restart();
  void FillWindow();
  bool TookTooMuch() const;
  bool ReadBlock(Bits& bits, const Block& block, JCOEF* out);

  const uint8_t* file_ = nullptr;  // what is not in the window yet
  const uint8_t* file_end_ = nullptr;
  // Data without stuffed zeros, always enough for the largest MCU unless the segment ends.
  uint8_t* window_ = nullptr;
  const uint8_t* window_end_ = nullptr;
  const uint8_t* in_ = nullptr;  // the next byte that is not in buffer_ as a whole
  uint64_t buffer_ = 0;          // from the top
  uint32_t buffered_ = 0;        // bits
  bool segment_ended_ = false;   // a marker or the end of the file stands at file_
  size_t most_mcu_bytes_ = 0;
  bool part_ = false;
  uint32_t mcus_left_ = 0;  // of the scan
  uint32_t restart_interval_ = 0;
  uint32_t mcus_to_restart_ = 0;
  uint32_t next_restart_ = 0;
  int blocks_in_mcu_ = 0;
  std::array<Block, D_MAX_BLOCKS_IN_MCU> blocks_{};
  std::array<int32_t, MAX_COMPS_IN_SCAN> last_dc_{};
};

}  // namespace headrace
