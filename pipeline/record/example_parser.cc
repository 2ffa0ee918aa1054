#include "pipeline/record/example_parser.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "common/status.h"
#include "pipeline/record/wire_reader.h"

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "floats are read as they lie");

enum Kind : uint32_t { kNoKind = 0, kBytesList = 1, kFloatList = 2, kInt64List = 3 };

std::string_view KindName(uint32_t kind) {
  constexpr std::string_view kNames[] = {"nothing", "a bytes list", "a float list",
                                         "an int64 list"};
  return kNames[kind];
}

Kind KindOf(DType dtype) {
  return dtype == DType::kBytes ? kBytesList : dtype == DType::kFloat32 ? kFloatList : kInt64List;
}

absl::Status Damaged(std::string_view example, const char* at, std::string_view where) {
  return DataLoss("no tf.train.Example: {} is damaged at byte {} of {}", where, at - example.data(),
                  example.size());
}

bool ShorterOrLess(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Calls on_list(bytes of the list) for each list of the last kind in `feature`; kNoKind when there
// is none. False when the bytes are damaged. The usual Feature is one list, looked at once.
template <typename F>
bool ForLists(std::string_view feature, Kind& kind, F&& on_list) {
  uint32_t field = 0;
  WireType type{};
  std::string_view list;
  kind = kNoKind;
  const char* from = feature.data();  // where the lists of `kind` begin
  size_t lists = 0;
  std::string_view only;
  for (WireReader reader(feature); !reader.done();) {
    const char* at = reader.position();
    if (!reader.Tag(field, type)) return false;
    if (type != WireType::kLength || field > kInt64List) {
      if (!reader.Skip(field, type)) return false;
      continue;
    }
    if (!reader.Length(list)) return false;
    if (field != kind) {
      kind = static_cast<Kind>(field);
      from = at;
      lists = 0;
    }
    only = list;
    ++lists;
  }
  if (lists == 1) return on_list(only);
  WireReader reader(feature.substr(static_cast<size_t>(from - feature.data())));
  while (!reader.done()) {
    reader.Tag(field, type);  // went well before
    if (type != WireType::kLength || field != kind) {
      reader.Skip(field, type);
      continue;
    }
    reader.Length(list);
    if (!on_list(list)) return false;
  }
  return true;
}

// on_packed(bytes) for each packed stretch of a number list, on_single(reader) for each value that
// stands alone.
template <typename P, typename S>
bool ForNumbers(std::string_view list, WireType single, P&& on_packed, S&& on_single) {
  uint32_t field = 0;
  WireType type{};
  std::string_view packed;
  for (WireReader reader(list); !reader.done();) {
    if (!reader.Tag(field, type)) return false;
    if (field == 1 && type == WireType::kLength) {
      if (!reader.Length(packed) || !on_packed(packed)) return false;
    } else if (field == 1 && type == single) {
      if (!on_single(reader)) return false;
    } else if (!reader.Skip(field, type)) {
      return false;
    }
  }
  return true;
}

bool CountVarints(std::string_view packed, size_t& count) {
  if (packed.empty()) return true;
  if (static_cast<uint8_t>(packed.back()) >= 0x80) return false;
  count += static_cast<size_t>(
      std::count_if(packed.begin(), packed.end(), [](char c) { return (c & 0x80) == 0; }));
  return true;
}

bool CountInt64(std::string_view list, size_t& count) {
  return ForNumbers(
      list, WireType::kVarint, [&](std::string_view packed) { return CountVarints(packed, count); },
      [&](WireReader& reader) {
        uint64_t value = 0;
        ++count;
        return reader.Varint(value);
      });
}
bool ReadInt64(std::string_view list, int64_t*& out) {
  const auto next = [&out](WireReader& reader) {
    uint64_t value = 0;
    if (!reader.Varint(value)) return false;
    *out++ = static_cast<int64_t>(value);
    return true;
  };
  return ForNumbers(
      list, WireType::kVarint,
      [&](std::string_view packed) {
        for (WireReader reader(packed); !reader.done();) {
          if (!next(reader)) return false;
        }
        return true;
      },
      next);
}

// `whole` is the packed stretch when it is the only thing in the list.
bool CountFloats(std::string_view list, size_t& count, std::string_view& whole) {
  return ForNumbers(
      list, WireType::kFixed32,
      [&](std::string_view packed) {
        if (packed.size() % sizeof(float) != 0) return false;
        whole = count == 0 ? packed : std::string_view();
        count += packed.size() / sizeof(float);
        return true;
      },
      [&](WireReader& reader) {
        uint32_t bits = 0;
        whole = {};
        ++count;
        return reader.Fixed32(bits);
      });
}
bool ReadFloats(std::string_view list, std::byte*& out) {
  return ForNumbers(
      list, WireType::kFixed32,
      [&](std::string_view packed) {
        if (!packed.empty()) std::memcpy(out, packed.data(), packed.size());
        out += packed.size();
        return true;
      },
      [&](WireReader& reader) {
        uint32_t bits = 0;
        if (!reader.Fixed32(bits)) return false;
        std::memcpy(out, &bits, sizeof(bits));
        out += sizeof(bits);
        return true;
      });
}

bool ReadStrings(std::string_view list, std::vector<std::string_view>& out) {
  uint32_t field = 0;
  WireType type{};
  for (WireReader reader(list); !reader.done();) {
    if (!reader.Tag(field, type)) return false;
    if (field == 1 && type == WireType::kLength) {
      if (!reader.Length(out.emplace_back())) return false;
    } else if (!reader.Skip(field, type)) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<ExampleParser> ExampleParser::Create(std::vector<Feature> features) {
  for (const Feature& feature : features) {
    const DType dtype = feature.type.dtype;
    if (dtype != DType::kBytes && dtype != DType::kInt64 && dtype != DType::kFloat32) {
      return InvalidArgument(
          "feature '{}': a tf.train.Example holds bytes, int64 and float32, not {}; cast it "
          "afterwards",
          feature.name, Name(dtype));
    }
  }
  ExampleParser parser(std::move(features));
  for (size_t i = 1; i < parser.by_name_.size(); ++i) {
    const std::string& name = parser.features_[parser.by_name_[i]].name;
    if (name == parser.features_[parser.by_name_[i - 1]].name)
      return InvalidArgument("feature '{}' stands twice", name);
  }
  return parser;
}

ExampleParser::ExampleParser(std::vector<Feature> features)
    : features_(std::move(features)), by_name_(features_.size()) {
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::sort(by_name_.begin(), by_name_.end(), [this](uint32_t a, uint32_t b) {
    return ShorterOrLess(features_[a].name, features_[b].name);
  });
}

size_t ExampleParser::IndexOf(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [this](uint32_t i, std::string_view wanted) {
                                     return ShorterOrLess(features_[i].name, wanted);
                                   });
  return at != by_name_.end() && features_[*at].name == name ? *at : features_.size();
}

absl::Status ExampleParser::Parse(std::string_view example, Arena& arena, Scratch& scratch,
                                  std::span<Cell> cells) const {
  HR_RETURN_IF_ERROR(Find(example, scratch));
  for (size_t i = 0; i < features_.size(); ++i)
    HR_RETURN_IF_ERROR(Read(i, example, arena, scratch, cells[i]));
  return absl::OkStatus();
}

absl::Status ExampleParser::Find(std::string_view example, Scratch& scratch) const {
  scratch.found_.assign(features_.size(), {});
  uint32_t field = 0;
  WireType type{};
  std::string_view features, entry;
  for (WireReader outer(example); !outer.done();) {
    if (!outer.Tag(field, type)) return Damaged(example, outer.position(), "the message");
    if (field != 1 || type != WireType::kLength) {
      if (!outer.Skip(field, type)) return Damaged(example, outer.position(), "the message");
      continue;
    }
    if (!outer.Length(features)) return Damaged(example, outer.position(), "the message");
    for (WireReader inner(features); !inner.done();) {
      if (!inner.Tag(field, type))
        return Damaged(example, inner.position(), "the list of features");
      const bool is_entry = field == 1 && type == WireType::kLength;
      if (is_entry ? !inner.Length(entry) : !inner.Skip(field, type)) {
        return Damaged(example, inner.position(), "the list of features");
      }
      if (is_entry) HR_RETURN_IF_ERROR(FindInEntry(example, entry, scratch));
    }
  }
  return absl::OkStatus();
}

absl::Status ExampleParser::FindInEntry(std::string_view example, std::string_view entry,
                                        Scratch& scratch) const {
  uint32_t field = 0;
  WireType type{};
  std::string_view name;
  std::string_view value =
      entry.substr(0, 0);  // an entry may lack its value: then it is an empty Feature
  for (WireReader reader(entry); !reader.done();) {
    bool ok = reader.Tag(field, type);
    if (ok && type == WireType::kLength && field <= 2) {
      ok = reader.Length(field == 1 ? name : value);
    } else {
      ok = ok && reader.Skip(field, type);
    }
    if (!ok)
      return Damaged(example, reader.position(), fmt::format("feature '{}'", name.substr(0, 60)));
  }
  const size_t i = IndexOf(name);
  if (i < features_.size()) scratch.found_[i] = value;
  return absl::OkStatus();
}

absl::Status ExampleParser::Read(size_t i, std::string_view example, Arena& arena, Scratch& scratch,
                                 Cell& cell) const {
  const Feature& wanted = features_[i];
  const std::string_view bytes = scratch.found_[i];
  const Kind expected = KindOf(wanted.type.dtype);
  size_t count = 0;
  std::string_view whole;  // floats that may stay where they are
  scratch.strings_.clear();
  Kind kind = kNoKind;
  size_t lists = 0;
  const auto count_list = [&](std::string_view list) {
    if (++lists > 1) whole = {};
    if (kind == kBytesList) return kind != expected || ReadStrings(list, scratch.strings_);
    if (kind == kFloatList) return kind != expected || CountFloats(list, count, whole);
    return kind != expected || CountInt64(list, count);
  };
  if (!ForLists(bytes, kind, count_list))
    return Damaged(example, bytes.data(), fmt::format("feature '{}'", wanted.name));
  if (kind == kNoKind) {
    if (!wanted.type.default_text) return Missing(i, example);
    cell = DefaultCell(wanted.type, arena);
    return absl::OkStatus();
  }
  if (kind != expected) {
    return InvalidArgument("feature '{}' is {}; {} was asked", wanted.name, KindName(kind),
                           wanted.type.ToString());
  }
  if (kind == kBytesList) count = scratch.strings_.size();
  const absl::StatusOr<Shape> shape = ShapeOfValues(wanted.type, count);
  if (!shape.ok())
    return InvalidArgument("feature '{}' {}", wanted.name, std::string(shape.status().message()));
  cell.shape = *shape;
  if (kind == kBytesList) {
    if (shape->rank() > 0) {
      cell = MakeBytesCell(arena, scratch.strings_, *shape);
    } else {
      cell.data = reinterpret_cast<const std::byte*>(scratch.strings_[0].data());
      cell.bytes = scratch.strings_[0].size();
    }
    return absl::OkStatus();
  }
  cell.bytes = count * ItemSize(wanted.type.dtype);
  if (kind == kFloatList && count > 0 && whole.size() == cell.bytes &&
      reinterpret_cast<uintptr_t>(whole.data()) % alignof(float) == 0) {
    cell.data = reinterpret_cast<const std::byte*>(whole.data());
    return absl::OkStatus();
  }
  std::byte* out = arena.AllocatePacked(cell.bytes, alignof(int64_t));
  cell.data = out;
  auto* numbers = reinterpret_cast<int64_t*>(out);
  const bool read = ForLists(bytes, kind, [&](std::string_view list) {
    return kind == kFloatList ? ReadFloats(list, out) : ReadInt64(list, numbers);
  });
  if (!read) return Damaged(example, bytes.data(), fmt::format("feature '{}'", wanted.name));
  return absl::OkStatus();
}

// Only when a row fails: walks the record again for the names that are there.
absl::Status ExampleParser::Missing(size_t i, std::string_view example) const {
  constexpr size_t kMaxNames = 20;
  std::string names;
  size_t count = 0;
  uint32_t field = 0;
  WireType type{};
  std::string_view features, entry, name;
  for (WireReader outer(example); !outer.done();) {
    outer.Tag(field, type);
    if (field != 1 || type != WireType::kLength) {
      outer.Skip(field, type);
      continue;
    }
    outer.Length(features);
    for (WireReader inner(features); !inner.done();) {
      inner.Tag(field, type);
      if (field != 1 || type != WireType::kLength) {
        inner.Skip(field, type);
        continue;
      }
      inner.Length(entry);
      for (WireReader reader(entry); !reader.done();) {
        reader.Tag(field, type);
        if (field == 1 && type == WireType::kLength) {
          reader.Length(name);
        } else {
          reader.Skip(field, type);
        }
      }
      if (++count <= kMaxNames)
        names += fmt::format("{}{}", count > 1 ? ", " : "", name.substr(0, 60));
    }
  }
  if (count > kMaxNames) names += fmt::format(", and {} more", count - kMaxNames);
  return InvalidArgument("no feature '{}' in the record (features: {})", features_[i].name, names);
}

}  // namespace headrace
