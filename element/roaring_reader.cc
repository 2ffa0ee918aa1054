#include "element/roaring_reader.h"

#include <bit>
#include <cstring>

#include "common/status.h"

namespace headrace {
namespace {

// github.com/RoaringBitmap/RoaringFormatSpec
constexpr uint32_t kCookie = 12347;         // with run containers
constexpr uint32_t kCookieNoRuns = 12346;   // without
constexpr uint32_t kNoOffsetThreshold = 4;  // with runs and fewer containers, no offsets follow
constexpr uint32_t kMostInArray = 4096;
constexpr size_t kBitsetWords = 1024;

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool Read(T& value) {
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
    return true;
  }
  bool Skip(size_t count) {
    if (bytes_.size() < count) return false;
    bytes_.remove_prefix(count);
    return true;
  }
  std::string_view Take(size_t count) {
    const std::string_view taken = bytes_.substr(0, count);
    Skip(count);
    return taken;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

using Each = absl::FunctionRef<void(uint64_t, uint64_t)>;

bool ReadRuns(Reader& in, uint64_t base, uint32_t cardinality, Each each) {
  uint16_t runs = 0;
  if (!in.Read(runs)) return false;
  uint32_t next = 0;  // the least that may follow
  uint32_t sum = 0;
  for (uint32_t i = 0; i < runs; ++i) {
    uint16_t first = 0;
    uint16_t more = 0;
    if (!in.Read(first) || !in.Read(more)) return false;
    const uint32_t end = uint32_t{first} + more + 1;
    if (first < next || end > 65536) return false;
    next = end;
    sum += more + 1u;
    each(base + first, more + 1u);
  }
  return sum == cardinality;
}

bool ReadArray(Reader& in, uint64_t base, uint32_t cardinality, Each each) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < cardinality; ++i) {
    uint16_t value = 0;
    if (!in.Read(value) || value < next) return false;
    next = uint32_t{value} + 1;
    each(base + value, 1);
  }
  return true;
}

bool ReadBitset(Reader& in, uint64_t base, uint32_t cardinality, Each each) {
  uint32_t sum = 0;
  for (size_t i = 0; i < kBitsetWords; ++i) {
    uint64_t word = 0;
    if (!in.Read(word)) return false;
    sum += static_cast<uint32_t>(std::popcount(word));
    while (word != 0) {
      const int first = std::countr_zero(word);
      const int count = std::countr_one(word >> first);
      each(base + 64 * i + static_cast<uint64_t>(first), static_cast<uint64_t>(count));
      if (first + count == 64) break;
      word &= ~uint64_t{0} << (first + count);
    }
  }
  return sum == cardinality;
}

bool ReadAll(Reader in, Each each) {
  uint32_t cookie = 0;
  if (!in.Read(cookie)) return false;
  const bool has_runs = (cookie & 0xFFFF) == kCookie;
  uint32_t containers = (cookie >> 16) + 1;
  if (!has_runs && (cookie != kCookieNoRuns || !in.Read(containers))) return false;
  if (containers > 65536) return false;
  const std::string_view is_run = has_runs ? in.Take((containers + 7) / 8) : std::string_view();
  if (has_runs && is_run.size() != (containers + 7) / 8) return false;
  Reader headers = in;
  if (!in.Skip(size_t{4} * containers)) return false;
  if ((!has_runs || containers >= kNoOffsetThreshold) && !in.Skip(size_t{4} * containers)) {
    return false;
  }
  uint32_t next_key = 0;
  for (uint32_t i = 0; i < containers; ++i) {
    uint16_t key = 0;
    uint16_t less = 0;
    headers.Read(key);
    headers.Read(less);
    if (key < next_key) return false;
    next_key = uint32_t{key} + 1;
    const uint64_t base = uint64_t{key} << 16;
    const uint32_t cardinality = uint32_t{less} + 1;
    const bool run = has_runs && ((static_cast<uint8_t>(is_run[i / 8]) >> (i % 8)) & 1) != 0;
    if (!(run                           ? ReadRuns(in, base, cardinality, each)
          : cardinality <= kMostInArray ? ReadArray(in, base, cardinality, each)
                                        : ReadBitset(in, base, cardinality, each))) {
      return false;
    }
  }
  return in.left() == 0;
}

}  // namespace

absl::Status ReadPortableRoaring(std::string_view bytes, Each each) {
  if (ReadAll(Reader(bytes), each)) return absl::OkStatus();
  return InvalidArgument("{} bytes are no portable Roaring bitmap", bytes.size());
}

}  // namespace headrace
