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

// An object or a list that starts in the first line.
int Likeness(std::span<const std::byte> head) {
  if (!LooksLikeText(head)) return 0;
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && (text[start] == '{' || text[start] == '[') ? 50 : 0;
}

}  // namespace

void Register_jsonl(FormatRegistry& registry) {
  FormatSpec& spec = registry.Add<NoParams>(
      "jsonl", "One JSON value a line, as bytes; .gz and .zst are decompressed.", {},
      [](NoParams) -> absl::StatusOr<std::unique_ptr<Format>> {
        return std::make_unique<Jsonl>();
      });
  spec.extensions = {".jsonl",     ".ndjson",    ".jsonlines", ".jsonl.gz",
                     ".jsonl.zst", ".ndjson.gz", ".ndjson.zst"};
  spec.likeness = Likeness;
}

}  // namespace headrace
