// What records are. A format is one file of this folder: it cuts files into splits and reads the
// records of a split.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/format_words.h"
#include "pipeline/graph/params.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

struct SplitOptions {
  uint64_t target_bytes =
      64ull << 20;  // files larger than twice this are cut, where the format can
};

// The files of a dataset, sorted by path, each once.
struct Listing {
  std::vector<FileInfo> files;
  // The directory that all of them lie below, as far as the patterns fix it ("/data/train" for
  // "/data/train/*/*.jpg").
  std::string root;
};

// How much of the stream to append to a block at once.
struct ReadLimits {
  size_t max_rows = 64;
  size_t max_bytes = 4 << 20;              // stop after the record that reaches it
  uint64_t max_record_bytes = 1ull << 30;  // a longer record is a failed record (OUT_OF_RANGE)
};

// Reads the records of one split, in order. One thread at a time.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // Appends rows (identity: split id and record index from 0) to `block`, whose schema is the
  // format's. False when the end of the split was reached; the block may hold its last rows then. A
  // record index without content (a blank JSON line) goes to block.settled(): rows, settled and
  // failed records together are all indices. A damaged record that can be stepped over:
  // block.FailRecord(run, status with path, offset and index), and it goes on. Damage after which
  // no further record of the split can be found: FailRecord for that record, then the end (false);
  // records_lost() is then true. A returned error is about the file as a whole (gone, no
  // permission).
  virtual absl::StatusOr<bool> Read(const ReadLimits& limits, Block& block) = 0;
  // True when damage made the rest of the split unreadable: the count of its records is unknown.
  virtual bool records_lost() const { return false; }
};

class Format {
 public:
  virtual ~Format() = default;
  // The schema of the records; may look into the first file (webdataset).
  virtual absl::StatusOr<Schema> RecordSchema(FileSystem& files,
                                              const std::vector<FileInfo>& listing) = 0;
  // Cuts one file into record-aligned ranges (path, begin, end, sizes filled; ids and file_index
  // are given by the caller). An empty file gives no split. Default: one split per file.
  virtual absl::StatusOr<std::vector<v1::Split>> Splits(FileSystem& files, const FileInfo& file,
                                                        const SplitOptions& options);
  // Takes the splits of a dataset one by one, in order: there may be millions.
  using SplitSink = absl::FunctionRef<void(v1::Split)>;
  // Cuts all files. Default: Splits() of each of them, with file_index. For formats of one record a
  // file to override (image_folder: many files a split).
  virtual absl::Status CutListing(FileSystem& files, const Listing& listing,
                                  const SplitOptions& options, SplitSink sink);
  // For formats without files (range): all their splits. Others: never called.
  virtual absl::Status CutWithoutFiles(const SplitOptions& options, SplitSink sink);
  // The same, collected.
  absl::StatusOr<std::vector<v1::Split>> SplitListing(FileSystem& files, const Listing& listing,
                                                      const SplitOptions& options);
  absl::StatusOr<std::vector<v1::Split>> SplitsWithoutFiles(const SplitOptions& options);
  virtual bool has_files() const { return true; }
  // `schema` is RecordSchema's answer, shared by all readers of the task.
  virtual absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem& files,
                                                             const v1::Split& split,
                                                             SchemaPtr schema) = 0;
};

struct FormatSpec {
  std::string name;
  std::string help;
  std::vector<ParamSpec> params;
  // ".tfrecord": tells the format where a pipeline names none, and to `inspect`.
  std::vector<std::string> extensions;
  // What the format's own checksums prove right: "records", "headers" or nothing.
  std::string checksums;
  // How much a file that begins with these (decompressed) bytes looks like one of the format: 0 not
  // at all, 100 beyond doubt. Where it is empty, only the name tells.
  std::function<int(std::span<const std::byte> head)> likeness;
  std::function<absl::StatusOr<std::unique_ptr<Format>>(const v1::ValueMap&)> make;
};

class FormatRegistry {
 public:
  template <typename P>
  FormatSpec& Add(std::string name, std::string help, ParamSet<P> params,
                  std::function<absl::StatusOr<std::unique_ptr<Format>>(P)> make_format) {
    FormatSpec spec;
    spec.name = std::move(name);
    spec.help = std::move(help);
    spec.params = params.specs();
    spec.make = [params = std::move(params), make_format = std::move(make_format)](
                    const v1::ValueMap& given) -> absl::StatusOr<std::unique_ptr<Format>> {
      absl::StatusOr<P> parsed = params.Parse(given);
      if (!parsed.ok()) return parsed.status();
      return make_format(*std::move(parsed));
    };
    return Insert(std::move(spec));
  }
  absl::StatusOr<const FormatSpec*> Find(std::string_view name) const;
  // The format with the longest extension that `path` ends in (any case); null when there is none.
  const FormatSpec* FindByExtension(std::string_view path) const;
  std::vector<const FormatSpec*> All() const;

 private:
  FormatSpec& Insert(FormatSpec spec);
  std::map<std::string, FormatSpec, std::less<>> formats_;
};

// What the YAML reader and the docs need to know of each format.
std::vector<FormatWords> WordsOf(const FormatRegistry& formats);

// Every format of pipeline/formats/ (generated; link hr_formats).
void RegisterAll_formats(FormatRegistry& registry);

}  // namespace headrace
