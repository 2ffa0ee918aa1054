// jsonl: one JSON value a line, not parsed here (the parse_json step does). Field `record` (bytes).
// Blank lines yield nothing but keep their record index.
#include <memory>
#include <utility>

#include "pipeline/formats/format.h"
#include "pipeline/formats/reading/lines.h"

namespace headrace {
namespace {

struct NoParams {};

class Jsonl final : public Format {
 public:
  absl::StatusOr<Schema> RecordSchema(FileSystem&, const std::vector<FileInfo>&) override {
    return Schema({{"record", DType::kBytes, Shape()}});
  }
  absl::StatusOr<std::vector<v1::Split>> Splits(FileSystem& files, const FileInfo& file,
                                                const SplitOptions& options) override {
    return LineSplits(files, file, options);
  }
  absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem& files, const v1::Split& split,
                                                     SchemaPtr) override {
    return OpenLines(files, split, /*skip_blank=*/true);
  }
};

}  // namespace

void Register_jsonl(FormatRegistry& registry) {
  registry
      .Add<NoParams>("jsonl", "One JSON value a line, as bytes; .gz and .zst are decompressed.", {},
                     [](NoParams) -> absl::StatusOr<std::unique_ptr<Format>> {
                       return std::make_unique<Jsonl>();
                     })
      .extensions = {".jsonl",     ".ndjson",    ".jsonlines", ".jsonl.gz",
                     ".jsonl.zst", ".ndjson.gz", ".ndjson.zst"};
}

}  // namespace headrace
