// A source, resolved: its files listed, cut into numbered splits, its record schema known. Made
// once per job by the dispatcher (or by `explain` and benchmarks, in process); a pure function of
// the files' paths, sizes and times and of the split options.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "element/schema.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/formats/format.h"
#include "pipeline/sources/file_system.h"
#include "pipeline/splits/split_list.h"

namespace headrace {

struct Dataset {
  std::string format_name;
  std::shared_ptr<Format> format;
  Schema schema;     // of its records
  SplitList splits;  // ids 0, 1, 2, ...
  uint64_t files = 0;
  uint64_t bytes = 0;
  // 32 hex digits over (path, size, mtime) of every file, their common directory, the format with
  // its parameters, and the split options.
  std::string version;
};

// Lists and cuts. Errors carry the source's location where it has one: NOT_FOUND (no file matches),
// PERMISSION_DENIED, INVALID_ARGUMENT (unknown format, format parameters, files of a format without
// files).
absl::StatusOr<Dataset> ListDataset(const v1::Source& source, const FormatRegistry& formats,
                                    FileSystem& files, const SplitOptions& options);

// The format that a source names, or the one that the extensions of its patterns stand for
// ("a/*.jsonl.gz": jsonl). Looks at no files: ListDataset and RecordSchemaOf also take the format
// from the files of a directory.
absl::StatusOr<const FormatSpec*> FormatOf(const v1::Source& source, const FormatRegistry& formats);

// Just the record schema, for type checks while a pipeline is written. Looks into the first file
// where the format has to.
absl::StatusOr<Schema> RecordSchemaOf(const v1::Source& source, const FormatRegistry& formats,
                                      FileSystem& files);

}  // namespace headrace
