#include "pipeline/formats/inspect/inspect.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"
#include "pipeline/formats/reading/split_file.h"
#include "pipeline/sources/byte_stream.h"

namespace headrace {
namespace {

constexpr size_t kHeadBytes = 4096;  // what formats judge a file's likeness by

// The first bytes, decompressed; fewer where they are damaged.
absl::StatusOr<std::vector<std::byte>> Head(FileSystem& files, const std::string& path) {
  HR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, files.Open(path));
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenWholeStream(std::move(file)));
  std::vector<std::byte> head(kHeadBytes);
  size_t filled = 0;
  while (filled < head.size()) {
    const absl::StatusOr<size_t> n = stream->Read(std::span(head).subspan(filled));
    if (!n.ok() && n.status().code() != absl::StatusCode::kDataLoss) return n.status();
    if (!n.ok() || *n == 0) break;
    filled += *n;
  }
  head.resize(filled);
  return head;
}

absl::StatusOr<FileInfo> InfoOf(FileSystem& files, const std::string& path) {
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, files.Open(path));
  return file->info();
}

void AddFailure(const RowFailure& failure, const InspectOptions& options, InspectReport& report) {
  ++report.damaged_count;
  if (report.damaged.size() >= options.max_damaged) return;
  report.damaged.push_back(
      {failure.record.first, OffsetOf(failure.status).value_or(0), OneLine(failure.status)});
}

void AddBlock(const Block& block, const InspectOptions& options, InspectReport& report) {
  for (size_t row = 0; row < block.rows(); ++row) {
    uint64_t bytes = 0;
    for (const auto& column : block.columns()) bytes += column[row].bytes;
    report.record_bytes += bytes;
    report.largest_record = std::max(report.largest_record, bytes);
  }
  report.records += block.rows();
  uint64_t settled = 0;
  for (const Run& run : block.settled()) settled += run.count;
  report.blank += settled - std::min<uint64_t>(settled, block.failures().size());
  for (const RowFailure& failure : block.failures()) AddFailure(failure, options, report);
}

absl::Status Walk(RecordReader& reader, SchemaPtr schema, const InspectOptions& options,
                  InspectProgress progress, InspectReport& report) {
  for (bool more = true; more;) {
    Block block(schema);
    HR_ASSIGN_OR_RETURN(more, reader.Read(options.limits, block));
    AddBlock(block, options, report);
    if (!progress(report))
      return Cancelled("{}: inspection was stopped after {} records", report.path, report.records);
  }
  report.records_lost = report.records_lost || reader.records_lost();
  return absl::OkStatus();
}

// One split of the whole file, so that record indices are those of the file.
absl::StatusOr<std::vector<v1::Split>> WholeFile(Format& format, FileSystem& files,
                                                 const FileInfo& info) {
  return format.SplitListing(files, {{info}, ""}, {.target_bytes = UINT64_MAX / 4});
}

std::string Checksums(const FormatSpec& spec, Codec codec) {
  std::string out = spec.checksums;
  // zstd's checksum is optional.
  if (codec == Codec::kGzip || codec == Codec::kZlib)
    out += out.empty() ? "compressed data" : " and compressed data";
  return out.empty() ? "none" : out;
}

}  // namespace

absl::StatusOr<const FormatSpec*> GuessFormat(FileSystem& files, const FormatRegistry& formats,
                                              const std::string& path) {
  if (const FormatSpec* spec = formats.FindByExtension(path)) return spec;
  HR_ASSIGN_OR_RETURN(const std::vector<std::byte> head, Head(files, path));
  const FormatSpec* found = nullptr;
  int likest = 0;
  std::string known;
  for (const FormatSpec* spec : formats.All()) {
    if (!spec->likeness) continue;
    known += (known.empty() ? "" : ", ") + spec->name;
    const int likeness = spec->likeness(head);
    if (likeness <= likest) continue;
    likest = likeness;
    found = spec;
  }
  if (found == nullptr) {
    return InvalidArgument(
        "{}: byte 0: neither its name nor its first bytes tell its format; name the format (by "
        "their "
        "bytes are known: {})",
        path, known);
  }
  return found;
}

absl::StatusOr<InspectReport> InspectFile(FileSystem& files, const FormatRegistry& formats,
                                          const std::string& path, const InspectOptions& options,
                                          InspectProgress progress) {
  InspectReport report;
  HR_ASSIGN_OR_RETURN(const FileInfo info, InfoOf(files, path));
  report.path = info.path;
  report.file_bytes = info.size;
  HR_ASSIGN_OR_RETURN(const FormatSpec* spec, options.format.empty()
                                                  ? GuessFormat(files, formats, path)
                                                  : formats.Find(options.format));
  report.format = spec->name;
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Format> format, spec->make(options.params));
  if (!format->has_files())
    return InvalidArgument("{}: format '{}' reads no files", path, spec->name);
  HR_ASSIGN_OR_RETURN(report.schema, format->RecordSchema(files, {info}));
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, files.Open(path));
  HR_ASSIGN_OR_RETURN(const Codec codec, DetectCodec(*file));
  report.codec = Name(codec);
  report.checksums = Checksums(*spec, codec);
  HR_ASSIGN_OR_RETURN(const std::vector<v1::Split> splits, WholeFile(*format, files, info));
  const auto schema = std::make_shared<const Schema>(report.schema);
  for (const v1::Split& split : splits) {
    HR_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader,
                        format->Open(files, split, schema));
    HR_RETURN_IF_ERROR(Walk(*reader, schema, options, progress, report));
  }
  return report;
}

absl::StatusOr<InspectReport> InspectFile(FileSystem& files, const FormatRegistry& formats,
                                          const std::string& path, const InspectOptions& options) {
  return InspectFile(files, formats, path, options, [](const InspectReport&) { return true; });
}

}  // namespace headrace
