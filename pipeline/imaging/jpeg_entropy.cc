#include "pipeline/imaging/jpeg_entropy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pipeline/imaging/scratch.h"

namespace headrace {
namespace {

constexpr size_t kWindowBytes = 16 << 10;
// How far a refill reads beyond what it takes.
constexpr size_t kRefillBytes = 8;
// What it gives at least.
constexpr uint32_t kRefillBits = 56;
constexpr size_t kMostBlockBytes =
    (HuffmanTable::kMostDcBits + 63 * HuffmanTable::kMostAcBits + 7) / 8;
constexpr size_t kMostMcuBytes = D_MAX_BLOCKS_IN_MCU * kMostBlockBytes + 2 * kRefillBytes;
static_assert(kMostMcuBytes < kWindowBytes / 2);
// So many bytes of a file gain more than its tables cost.
constexpr size_t kWorthTables = 8 << 10;

// Zigzag place -> place in the block.
constexpr std::array<uint8_t, 64> kNaturalOrder = [] {
  std::array<uint8_t, 64> order{};
  int row = 0, column = 0;
  for (size_t i = 0; i < 64; ++i) {
    order[i] = static_cast<uint8_t>(8 * row + column);
    const bool up = (row + column) % 2 == 0;
    if (up && column == 7) {
      ++row;
    } else if (!up && row == 7) {
      ++column;
    } else if (up) {
      row -= row > 0;
      ++column;
    } else {
      column -= column > 0;
      ++row;
    }
  }
  return order;
}();

uint64_t LoadBigEndian(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word;
}

}  // namespace

// The reader's place, in registers while an MCU is read.
struct JpegEntropyDecoder::Bits {
  uint64_t buffer;
  uint32_t buffered;
  const uint8_t* in;

  // To 56 bits or more. Bits beyond the counted ones are right too, so adding them again is no
  // harm.
  void Refill() {
    buffer |= LoadBigEndian(in) >> buffered;
    in += (63 - buffered) >> 3;
    buffered |= 56;
  }
  void Drop(uint32_t n) {
    buffer <<= n;
    buffered -= n;
  }
};

namespace {

// The value behind the symbol's code; 0 where there is none.
int32_t ValueOf(uint64_t buffer, HuffmanSymbol symbol) {
  const uint64_t top = buffer << symbol.code_bits();
  // A first bit of 0 says negative, and the bits are those of its size, inverted.
  const uint64_t minus = ~static_cast<uint64_t>(static_cast<int64_t>(top) >> 63);
  const uint64_t size = ((top ^ minus) >> 1) >> symbol.shift();
  return static_cast<int32_t>(static_cast<int64_t>((size ^ minus) - minus));
}

// A symbol that the look-up does not know, or that may be a block's last: `k` is the place of the
// coefficient before it, then its own, 63 at the end. False: nothing that belongs here. Apart from
// the loops, which would have to keep their variables in memory for it.
template <typename Bits>
[[gnu::noinline, gnu::cold]] bool ReadOneSymbol(Bits& bits, const HuffmanTable& table, uint32_t& k,
                                                JCOEF* out) {
  const HuffmanSymbol symbol = table.Find(bits.buffer);
  const bool end = symbol.advance() == HuffmanSymbol::kEndOfBlock;
  k = end ? 63 : k + symbol.advance();
  if (k > 63) return false;
  if (!end && out != nullptr) {
    out[kNaturalOrder[k]] = static_cast<JCOEF>(ValueOf(bits.buffer, symbol));
  }
  bits.Drop(symbol.bits());
  return true;
}

// The AC coefficients of a block; false: give up.
template <typename Bits>
[[gnu::always_inline]] inline bool ReadSymbols(Bits& bits, const HuffmanTable& table, JCOEF* out) {
  static_assert(2 * HuffmanTable::kMostAcBits <= kRefillBits);
  const HuffmanSymbol* const lookup = table.lookup();
  uint32_t k = 0;
  for (;;) {
    bits.Refill();
    for (int i = 0; i < 2; ++i) {
      const HuffmanSymbol symbol = lookup[bits.buffer >> (64 - HuffmanTable::kLookupBits)];
      const uint32_t place = k + symbol.advance();
      if (place >= 63) [[unlikely]] {
        if (symbol.advance() == HuffmanSymbol::kEndOfBlock) {
          bits.Drop(symbol.bits());
          return true;
        }
        Bits copy = bits;
        uint32_t k_copy = k;
        if (!ReadOneSymbol(copy, table, k_copy, out)) return false;
        bits = copy;
        k = k_copy;
        if (k == 63) return true;
        continue;
      }
      out[kNaturalOrder[place]] = static_cast<JCOEF>(ValueOf(bits.buffer, symbol));
      bits.Drop(symbol.bits());
      k = place;
    }
  }
}

// The same without values, several symbols at a time.
template <typename Bits>
[[gnu::always_inline]] inline bool PassOverSymbols(Bits& bits, const HuffmanTable& table) {
  static_assert(2 * HuffmanTable::kMostAcBits <= kRefillBits);
  static_assert(HuffmanTable::kHopBits + HuffmanTable::kMostAcValueBits <=
                HuffmanTable::kMostAcBits);
  const HuffmanHop* const hops = table.hops();
  uint32_t k = 0;
  for (;;) {
    bits.Refill();
    for (int i = 0; i < 2; ++i) {
      const HuffmanHop hop = hops[bits.buffer >> (64 - HuffmanTable::kHopBits)];
      const uint32_t place = k + hop.advance();
      if (place >= 63) [[unlikely]] {
        if (place == 63 || (place >= HuffmanHop::kEnd && place < HuffmanHop::kEnd + 63)) {
          bits.Drop(hop.bits());
          return true;
        }
        Bits copy = bits;
        uint32_t k_copy = k;
        if (!ReadOneSymbol(copy, table, k_copy, nullptr)) return false;
        bits = copy;
        k = k_copy;
        if (k == 63) return true;
        continue;
      }
      bits.Drop(hop.bits());
      k = place;
    }
  }
}

}  // namespace

bool JpegEntropyDecoder::Start(const jpeg_decompress_struct& info, bool part) {
  const jpeg_source_mgr& source = *info.src;
  const bool plain = !info.progressive_mode && !info.arith_code && !info.buffered_image &&
                     info.data_precision == 8 && info.comps_in_scan == info.num_components &&
                     info.Ss == 0 && info.Se == 63 && info.Ah == 0 && info.Al == 0 &&
                     info.unread_marker == 0;
  if (!plain || !SetUpBlocks(info, part)) return false;
  file_ = source.next_input_byte;
  file_end_ = file_ + source.bytes_in_buffer;
  window_ = reinterpret_cast<uint8_t*>(
      ThreadScratch(ScratchUse::kEntropyWindow).Get(kWindowBytes + kMostMcuBytes));
  part_ = part;
  mcus_left_ = info.MCUs_per_row * info.MCU_rows_in_scan;
  restart_interval_ = info.restart_interval;
  mcus_to_restart_ = restart_interval_ == 0 ? mcus_left_ : restart_interval_;
  BeginSegment();
  return true;
}

bool JpegEntropyDecoder::SetUpBlocks(const jpeg_decompress_struct& info, bool part) {
  thread_local HuffmanTableCache cache;
  cache.BeginFile();
  using Kind = HuffmanTable::Kind;
  const bool worth_tables = info.src->bytes_in_buffer >= kWorthTables;
  const auto find = [&](Kind kind, JHUFF_TBL* const* tables, int number) -> HuffmanTable* {
    if (number < 0 || number >= NUM_HUFF_TBLS || tables[number] == nullptr) return nullptr;
    return cache.Get(kind, tables[number]->bits + 1, tables[number]->huffval, worth_tables);
  };
  std::array<Block, MAX_COMPS_IN_SCAN> components{};
  bool all = true;  // are asked for even if one is not there: the next file finds them
  for (int c = 0; c < info.comps_in_scan; ++c) {
    const jpeg_component_info& component = *info.cur_comp_info[c];
    Block& block = components[static_cast<size_t>(c)];
    HuffmanTable* const dc = find(Kind::kDc, info.dc_huff_tbl_ptrs, component.dc_tbl_no);
    HuffmanTable* const ac = find(Kind::kAc, info.ac_huff_tbl_ptrs, component.ac_tbl_no);
    all = all && dc != nullptr && ac != nullptr;
    if (!all) continue;
    block.last_dc = &last_dc_[static_cast<size_t>(c)];
    block.dc_needed = component.component_needed;
#if JPEG_LIB_VERSION >= 70
    const int scaled_size = component.DCT_h_scaled_size;
#else
    const int scaled_size = component.DCT_scaled_size;
#endif
    block.ac_needed = component.component_needed && scaled_size > 1;
    dc->BuildLookup();
    if (block.ac_needed) ac->BuildLookup();
    if (part || !block.ac_needed) ac->BuildHops();
    block.dc = dc;
    block.ac = ac;
  }
  if (!all) return false;
  blocks_in_mcu_ = info.blocks_in_MCU;
  for (int i = 0; i < blocks_in_mcu_; ++i) {
    blocks_[static_cast<size_t>(i)] = components[static_cast<size_t>(info.MCU_membership[i])];
  }
  most_mcu_bytes_ = static_cast<size_t>(blocks_in_mcu_) * kMostBlockBytes + 2 * kRefillBytes;
  return true;
}

void JpegEntropyDecoder::BeginSegment() {
  in_ = window_end_ = window_;
  buffer_ = 0;
  buffered_ = 0;
  segment_ended_ = false;
  last_dc_.fill(0);
}

// Stuffed zeros go, so that whoever takes bits need not look for them.
void JpegEntropyDecoder::FillWindow() {
  const auto kept = static_cast<size_t>(window_end_ - in_);
  std::memmove(window_, in_, kept);
  in_ = window_;
  uint8_t* end = window_ + kept;
  uint8_t* const room_end = window_ + kWindowBytes;
  while (end < room_end) {
    const auto most = static_cast<size_t>(std::min(room_end - end, file_end_ - file_));
    const void* found = std::memchr(file_, 0xff, most);
    const size_t plain =
        found == nullptr ? most : static_cast<size_t>(static_cast<const uint8_t*>(found) - file_);
    std::memcpy(end, file_, plain);
    end += plain;
    file_ += plain;
    if (plain == most && file_ != file_end_) break;  // no more room
    if (file_end_ - file_ < 2 || file_[1] != 0) {
      segment_ended_ = true;
      break;
    }
    *end++ = 0xff;
    file_ += 2;
  }
  window_end_ = end;
}

// Bits that were taken although there were none.
bool JpegEntropyDecoder::TookTooMuch() const {
  return segment_ended_ && 8 * (in_ - window_end_) > static_cast<ptrdiff_t>(buffered_);
}

bool JpegEntropyDecoder::Restart() {
  // Nothing but the padding of the last byte is left, and the right marker follows.
  if (!segment_ended_) FillWindow();
  const ptrdiff_t left = 8 * (window_end_ - in_) + static_cast<ptrdiff_t>(buffered_);
  if (!segment_ended_ || left >= 8) return false;
  if (file_end_ - file_ < 2 || file_[1] != JPEG_RST0 + next_restart_) return false;
  file_ += 2;
  next_restart_ = (next_restart_ + 1) % 8;
  mcus_to_restart_ = restart_interval_;
  BeginSegment();
  return true;
}

[[gnu::always_inline]] inline bool JpegEntropyDecoder::ReadBlock(Bits& bits, const Block& block,
                                                                 JCOEF* out) {
  bits.Refill();
  HuffmanSymbol symbol = block.dc->lookup()[bits.buffer >> (64 - HuffmanTable::kLookupBits)];
  if (symbol.advance() == HuffmanSymbol::kUnknown) [[unlikely]] {
    symbol = block.dc->Find(bits.buffer);
    if (symbol.advance() == HuffmanSymbol::kUnknown) return false;
  }
  const int32_t dc = *block.last_dc + ValueOf(bits.buffer, symbol);
  bits.Drop(symbol.bits());
  if (block.dc_needed) {
    *block.last_dc = dc;
    if (dc != static_cast<JCOEF>(dc)) [[unlikely]]
      return false;
    if (out != nullptr) out[0] = static_cast<JCOEF>(dc);
  }
  if (out != nullptr && block.ac_needed) return ReadSymbols(bits, *block.ac, out);
  return PassOverSymbols(bits, *block.ac);
}

bool JpegEntropyDecoder::DecodeMcu(jpeg_decompress_struct& info, JBLOCKROW* blocks) {
  // Not what the caller or the library does; nothing is at hand for it.
  if (mcus_left_ == 0 || (blocks == nullptr && !part_)) return false;
  if (mcus_to_restart_ == 0 && !Restart()) return false;
  if (!segment_ended_ && window_end_ - in_ < static_cast<ptrdiff_t>(most_mcu_bytes_)) FillWindow();
  Bits bits{buffer_, buffered_, in_};
  for (int i = 0; i < blocks_in_mcu_; ++i) {
    JCOEF* out = blocks == nullptr ? nullptr : *blocks[i];
    if (!ReadBlock(bits, blocks_[static_cast<size_t>(i)], out)) return false;
  }
  buffer_ = bits.buffer;
  buffered_ = bits.buffered;
  in_ = bits.in;
  if (TookTooMuch()) return false;
  --mcus_to_restart_;
  if (--mcus_left_ == 0) {
    info.src->next_input_byte = file_;
    info.src->bytes_in_buffer = static_cast<size_t>(file_end_ - file_);
  }
  return true;
}

}  // namespace headrace
