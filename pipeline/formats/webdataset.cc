// webdataset: tar archives whose neighbouring members of one base name are a record. Fields:
// `__key__` and one bytes field per extension.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "pipeline/formats/format.h"
#include "pipeline/formats/reading/header_hops.h"
#include "pipeline/formats/reading/member_name.h"
#include "pipeline/formats/reading/split_file.h"
#include "pipeline/formats/reading/tar_group_reader.h"
#include "pipeline/formats/reading/tar_header.h"
#include "pipeline/formats/reading/tar_stream.h"

namespace headrace {
namespace {

constexpr size_t kSampledGroups = 16;  // records of the first file that the fields are taken from
constexpr uint64_t kSampledBytes = 256ull << 20;  // ... or so much of it

struct WebdatasetParams {
  std::vector<std::string> fields;
  std::string missing = "error";
};

// Only a whole file may be compressed.
absl::StatusOr<Codec> CodecOf(RandomAccessFile& file, const v1::Split& split) {
  if (!IsWholeFile(split)) return Codec::kNone;
  return DetectCodec(file);
}

// A field's name travels in messages that must be valid text; control letters are nobody's
// extension.
bool IsPlainName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

class Webdataset final : public Format {
 public:
  static absl::StatusOr<std::unique_ptr<Format>> Make(WebdatasetParams params) {
    if (params.missing != "error" && params.missing != "empty") {
      return InvalidArgument("missing: '{}' is neither error nor empty", params.missing);
    }
    for (size_t i = 0; i < params.fields.size(); ++i) {
      std::string lower;
      AssignLower(params.fields[i], lower);
      if (lower.empty() || lower == kKeyField) {
        return InvalidArgument(
            "fields: '{}' is no extension; list extensions such as jpg (__key__ is always there)",
            params.fields[i]);
      }
      if (std::count(params.fields.begin(), params.fields.begin() + static_cast<ptrdiff_t>(i),
                     lower) > 0) {
        return InvalidArgument("fields: '{}' is listed twice", lower);
      }
      params.fields[i] = std::move(lower);
    }
    return std::make_unique<Webdataset>(std::move(params));
  }
  explicit Webdataset(WebdatasetParams params) : params_(std::move(params)) {}

  absl::StatusOr<Schema> RecordSchema(FileSystem& files,
                                      const std::vector<FileInfo>& listing) override {
    std::vector<std::string> fields = params_.fields;
    for (size_t i = 0; i < listing.size() && fields.empty(); ++i) {
      if (listing[i].size > 0) HR_RETURN_IF_ERROR(SampleFields(files, listing[i], fields));
    }
    Schema schema({{std::string(kKeyField), DType::kBytes, Shape()}});
    for (std::string& field : fields) schema.Add({std::move(field), DType::kBytes, Shape()});
    return schema;
  }

  absl::StatusOr<std::vector<v1::Split>> Splits(FileSystem& files, const FileInfo& file,
                                                const SplitOptions& options) override {
    std::vector<v1::Split> out;
    if (file.size == 0) return out;
    const uint64_t target = std::max<uint64_t>(options.target_bytes, 1);
    if (file.size / 2 > target && CodecByName(file.path) == Codec::kNone) {
      HR_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> opened,
                          OpenUnchanged(files, file));
      HR_ASSIGN_OR_RETURN(const Codec codec, DetectCodec(*opened));
      if (codec == Codec::kNone) HR_RETURN_IF_ERROR(Hop(*opened, target, out));
    }
    const uint64_t begin = out.empty() ? 0 : out.back().end();
    out.push_back(SplitOf(file, begin, file.size));
    return out;
  }

  absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem& files, const v1::Split& split,
                                                     SchemaPtr schema) override {
    if (schema->size() == 0 || (*schema)[0].name != kKeyField) {
      return InvalidArgument("{}: a webdataset's schema starts with __key__, got {}", split.path(),
                             schema->ToString());
    }
    HR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, OpenSplitFile(files, split));
    HR_ASSIGN_OR_RETURN(const Codec codec, CodecOf(*file, split));
    return NewTarGroupReader(split, codec, NewSplitBuffer(std::move(file), split, codec),
                             std::move(schema), params_.missing == "empty");
  }

 private:
  // The extensions of the first records, in the order in which they come. Damage ends the sample;
  // reading tells of it.
  static absl::Status SampleFields(FileSystem& files, const FileInfo& info,
                                   std::vector<std::string>& out) {
    HR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, OpenUnchanged(files, info));
    HR_ASSIGN_OR_RETURN(const Codec codec, DetectCodec(*file));
    const std::unique_ptr<RecordBuffer> buffer =
        NewSplitBuffer(std::move(file), SplitOf(info), codec);
    TarStream tar(*buffer);
    std::string key;
    std::string extension;
    size_t groups = 0;
    while (buffer->offset() < kSampledBytes) {
      const absl::StatusOr<bool> more = tar.Next();
      if (!more.ok() && more.status().code() != absl::StatusCode::kDataLoss) return more.status();
      if (!more.ok() || !*more) break;
      const auto name = SplitMemberName(tar.member().name);
      if (!tar.member().regular || !name) continue;
      if (groups == 0 || key != name->key) {
        if (++groups > kSampledGroups) break;
        key = name->key;
      }
      AssignLower(name->extension, extension);
      if (!IsPlainName(extension) || extension == kKeyField) continue;
      if (std::find(out.begin(), out.end(), extension) == out.end()) out.push_back(extension);
    }
    return absl::OkStatus();
  }

  // Cuts in front of the first record that starts `target` bytes behind the last cut. Damage ends
  // it: the rest is one split, and its reader tells of it.
  static absl::Status Hop(RandomAccessFile& file, uint64_t target, std::vector<v1::Split>& out) {
    const uint64_t size = file.info().size;
    HeaderHops hops(file);
    TarHeaderParser parser;
    std::string key;
    uint64_t begin = 0;
    for (uint64_t at = 0; at < size;) {
      const uint64_t header = at;
      HR_ASSIGN_OR_RETURN(const bool more, HopOver(hops, parser, at));
      if (!more) break;
      const auto name = SplitMemberName(parser.member().name);
      if (parser.member().regular && name && name->key != key) {
        key = name->key;
        if (header - begin >= target && size - header > target / 2) {
          out.push_back(SplitOf(file.info(), begin, header));
          begin = header;
        }
      }
      if (parser.global_names()) {
        out.clear();
        break;
      }
    }
    return absl::OkStatus();
  }

  // Reads the header at `at` and moves `at` behind its member; false at the end or at damage.
  static absl::StatusOr<bool> HopOver(HeaderHops& hops, TarHeaderParser& parser, uint64_t& at) {
    auto step = TarHeaderParser::Step::kExtended;
    while (step == TarHeaderParser::Step::kExtended) {
      HR_ASSIGN_OR_RETURN(const auto block, hops.At(at, kTarBlock));
      if (block.size() < kTarBlock || !parser.Header(block, step).ok()) return false;
      if (step == TarHeaderParser::Step::kEnd) return false;
      at += kTarBlock;
      while (step == TarHeaderParser::Step::kExtended && parser.payload() > 0) {
        const size_t payload = parser.payload();
        HR_ASSIGN_OR_RETURN(const auto bytes, hops.At(at, payload));
        if (bytes.size() < payload || !parser.Extended(bytes, step).ok()) return false;
        at += TarPadded(payload);
      }
    }
    at += TarPadded(parser.member().size);
    return true;
  }

  const WebdatasetParams params_;
};

int Likeness(std::span<const std::byte> head) {
  if (head.size() < kTarBlock) return 0;
  TarHeaderParser parser;
  auto step = TarHeaderParser::Step::kEnd;
  const bool header = parser.Header(head.first(kTarBlock), step).ok();
  return header && step != TarHeaderParser::Step::kEnd ? 100 : 0;
}

}  // namespace

void Register_webdataset(FormatRegistry& registry) {
  ParamSet<WebdatasetParams> params;
  params
      .Optional("fields", &WebdatasetParams::fields,
                "extensions to read, e.g. [jpg, cls]; empty: those of the first records")
      .Optional("missing", &WebdatasetParams::missing,
                "what a record without one of the fields is: error (it fails) or empty (an empty "
                "string)");
  FormatSpec& spec = registry.Add<WebdatasetParams>(
      "webdataset", "Tar archives: neighbouring members of one base name are a record.",
      std::move(params), Webdataset::Make);
  spec.extensions = {".tar", ".tgz", ".tar.gz", ".tar.zst", ".tzst"};
  spec.checksums = "headers";
  spec.likeness = Likeness;
}

}  // namespace headrace
