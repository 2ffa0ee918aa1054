#include "cli/convert/shard_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"
#include "pipeline/formats/writers/example_encoder.h"
#include "pipeline/formats/writers/record_writer.h"
#include "pipeline/graph/random.h"

namespace headrace {
namespace {

// A record on its way into a shard.
struct Packed {
  std::string key;
  std::vector<std::pair<std::string, std::string>> fields;
  size_t bytes() const {
    size_t n = key.size();
    for (const auto& [name, value] : fields) n += name.size() + value.size();
    return n;
  }
};

bool IsTar(const std::string& path) {
  return path.find(".tar") != std::string::npos || path.ends_with(".tgz");
}

absl::StatusOr<std::unique_ptr<RecordWriter>> OpenWriter(const std::string& path) {
  const Codec codec = path.ends_with(".gz") || path.ends_with(".tgz") ? Codec::kGzip
                      : path.ends_with(".zst")                        ? Codec::kZstd
                                                                      : Codec::kNone;
  return IsTar(path) ? NewWebdatasetWriter(path, codec) : NewTfrecordWriter(path, codec);
}

// "class0/img.x.JPG" -> "class0/img_x" and "jpg": webdataset cuts a name at the first dot of its
// last part.
std::pair<std::string, std::string> KeyAndEnding(std::string_view path) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  const bool has_ending =
      dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
  std::string key(has_ending ? path.substr(0, dot) : path);
  std::string ending(has_ending ? path.substr(dot + 1) : "bin");
  for (size_t i = slash == std::string_view::npos ? 0 : slash + 1; i < key.size(); ++i) {
    if (key[i] == '.') key[i] = '_';
  }
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (ending == "jpeg") ending = "jpg";
  return {std::move(key), std::move(ending)};
}

class Packer {
 public:
  Packer(const Dataset& dataset, bool tar) : schema_(dataset.schema), tar_(tar) {
    path_ = schema_.Find("path");
    key_ = schema_.Find("__key__");
  }

  absl::StatusOr<Packed> Pack(const Block& block, size_t row, size_t root) {
    Packed packed;
    if (!tar_) return PackRecord(block, row);
    std::string ending;
    if (path_ != Schema::kNone) {
      std::string_view path = block.column(path_)[row].string();
      path.remove_prefix(std::min(path.size(), root == 0 ? 0 : root + 1));
      std::tie(packed.key, ending) = KeyAndEnding(path);
    } else if (key_ != Schema::kNone) {
      packed.key = block.column(key_)[row].string();
    } else {
      const Run& run = block.provenance(row).front();
      packed.key = fmt::format("{:06}_{:09}", run.split, run.first);
    }
    for (size_t i = 0; i < schema_.size(); ++i) {
      if (i == path_ || i == key_) continue;
      if (schema_[i].dtype != DType::kBytes || block.column(i)[row].shape.rank() != 0) {
        return InvalidArgument(
            "field '{}' is {} {}: a tar takes fields of bytes; convert to .tfrecord",
            schema_[i].name, Name(schema_[i].dtype), schema_[i].shape.ToString());
      }
      std::string name = schema_[i].name;
      if (path_ != Schema::kNone) name = name == "image" ? ending : name == "label" ? "cls" : name;
      packed.fields.emplace_back(std::move(name), block.column(i)[row].string());
    }
    return packed;
  }

 private:
  absl::StatusOr<Packed> PackRecord(const Block& block, size_t row) {
    Packed packed;
    if (schema_.size() == 1 && schema_[0].name == "record") {
      packed.fields.emplace_back("record", block.column(0)[row].string());
      return packed;
    }
    std::vector<Cell> cells;
    for (size_t i = 0; i < schema_.size(); ++i) cells.push_back(block.column(i)[row]);
    HR_ASSIGN_OR_RETURN(std::string example, EncodeExample(schema_, cells));
    packed.fields.emplace_back("record", std::move(example));
    return packed;
  }

  const Schema& schema_;
  const bool tar_;
  size_t path_ = Schema::kNone;
  size_t key_ = Schema::kNone;
};

absl::Status WriteAll(std::vector<Packed>& records, const ShardOptions& options, uint64_t part,
                      RecordWriter& writer) {
  RandomStream random({options.seed, 0, 1}, records.size(), part);
  for (size_t i = records.size(); options.shuffle && i > 1; --i)
    std::swap(records[i - 1], records[random.Below(i)]);
  std::vector<NamedBytes> fields;
  for (const Packed& record : records) {
    fields.clear();
    for (const auto& [name, value] : record.fields) fields.push_back({name, value});
    HR_RETURN_IF_ERROR(writer.Append(record.key, fields));
  }
  records.clear();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardResult> WriteShard(const Dataset& dataset, const std::vector<size_t>& splits,
                                       FileSystem& files, const std::string& path,
                                       const ShardOptions& options,
                                       const std::function<bool(uint64_t)>& progress) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<RecordWriter> writer, OpenWriter(path));
  Packer packer(dataset, IsTar(path));
  const auto schema = std::make_shared<const Schema>(dataset.schema);
  ShardResult result;
  std::vector<Packed> held;
  uint64_t held_bytes = 0;
  uint64_t part = splits.empty() ? 0 : splits.front();
  for (size_t index : splits) {
    const v1::Split& split = dataset.splits[index];
    HR_ASSIGN_OR_RETURN(std::unique_ptr<RecordReader> reader,
                        dataset.format->Open(files, split, schema));
    bool more = true;
    while (more) {
      Block block(schema);
      HR_ASSIGN_OR_RETURN(more, reader->Read({}, block));
      for (const RowFailure& failure : block.failures())
        result.damaged.emplace_back(failure.status.message());
      for (size_t row = 0; row < block.rows(); ++row) {
        HR_ASSIGN_OR_RETURN(Packed packed, packer.Pack(block, row, split.root_length()));
        held_bytes += packed.bytes();
        result.bytes += packed.bytes();
        ++result.records;
        held.push_back(std::move(packed));
      }
      if (held_bytes > (options.shuffle ? options.shuffle_bytes : uint64_t{4} << 20)) {
        HR_RETURN_IF_ERROR(WriteAll(held, options, part++, *writer));
        held_bytes = 0;
      }
      if (!progress(result.records))
        return Cancelled("stopped while writing {}; nothing of it is left", path);
    }
  }
  HR_RETURN_IF_ERROR(WriteAll(held, options, part, *writer));
  HR_RETURN_IF_ERROR(writer->Finish());
  return result;
}

}  // namespace headrace
