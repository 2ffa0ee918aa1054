// text: lines of a text file, plain or compressed. Field `line` (bytes).
#include <memory>
#include <utility>

#include "pipeline/formats/format.h"
#include "pipeline/formats/reading/lines.h"

namespace headrace {
namespace {

struct NoParams {};

class Text final : public Format {
 public:
  absl::StatusOr<Schema> RecordSchema(FileSystem&, const std::vector<FileInfo>&) override {
    return Schema({{"line", DType::kBytes, Shape()}});
  }
  absl::StatusOr<std::vector<v1::Split>> Splits(FileSystem& files, const FileInfo& file,
                                                const SplitOptions& options) override {
    return LineSplits(files, file, options);
  }
  absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem& files, const v1::Split& split,
                                                     SchemaPtr) override {
    return OpenLines(files, split, /*skip_blank=*/false);
  }
};

int Likeness(std::span<const std::byte> head) { return LooksLikeText(head) ? 10 : 0; }

}  // namespace

void Register_text(FormatRegistry& registry) {
  FormatSpec& spec = registry.Add<NoParams>(
      "text", "Lines of text, without their line ends; .gz and .zst are decompressed.", {},
      [](NoParams) -> absl::StatusOr<std::unique_ptr<Format>> { return std::make_unique<Text>(); });
  spec.extensions = {".txt", ".text", ".txt.gz", ".txt.zst"};
  spec.likeness = Likeness;
}

}  // namespace headrace
