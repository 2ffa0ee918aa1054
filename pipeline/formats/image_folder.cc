// image_folder: one image a file. Fields `image` (bytes, still encoded), `label` (bytes: the folder
// that the file lies in, below the dataset's common directory; "" at its top) and `path` (bytes). A
// split is a run of files.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "common/status.h"
#include "pipeline/formats/format.h"
#include "pipeline/formats/reading/file_run.h"
#include "pipeline/formats/reading/split_file.h"

namespace headrace {
namespace {

constexpr size_t kMaxFilesOfSplit = 4096;
constexpr std::array<std::string_view, 4> kExtensions = {".jpg", ".jpeg", ".png", ".webp"};

struct NoParams {};

bool IsImage(std::string_view path) {
  return std::any_of(kExtensions.begin(), kExtensions.end(), [&](std::string_view extension) {
    return absl::EndsWithIgnoreCase({path.data(), path.size()},
                                    {extension.data(), extension.size()});
  });
}

// The folder directly above the file, "" when that is the root (of `root` bytes) or above it.
std::string_view LabelOf(std::string_view path, size_t root) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash <= root) return "";
  const std::string_view folder = path.substr(0, slash);
  return folder.substr(folder.rfind('/') + 1);
}

class ImageFolderReader final : public RecordReader {
 public:
  ImageFolderReader(FileSystem& files, v1::Split split)
      : files_(files), split_(std::move(split)), cursor_(split_), run_(split_) {}

  absl::StatusOr<bool> Read(const ReadLimits& limits, Block& block) override {
    uint64_t bytes = 0;
    for (size_t rows = 0; rows < limits.max_rows && bytes < limits.max_bytes; ++rows) {
      HR_ASSIGN_OR_RETURN(const bool more, run_.Next(file_));
      if (!more) return false;
      bytes += file_.size;
      const absl::Status read = ReadFile(limits, block);
      if (read.ok()) continue;
      // One lost or changed file is one lost record; what hits every file alike is an error of the
      // dataset.
      if (IsTransient(read) || read.code() == absl::StatusCode::kPermissionDenied) return read;
      const std::string_view what(read.message().data(), read.message().size());
      block.FailRecord(cursor_.run(), MakeStatus(read.code(), "byte 0, record {} of split {}: {}",
                                                 cursor_.index(), split_.id(), what));
      cursor_.Pass();
    }
    return true;
  }

 private:
  absl::Status ReadFile(const ReadLimits& limits, Block& block) {
    if (file_.size > limits.max_record_bytes) {
      return OutOfRange("{}: the image of {} bytes is over the limit of {}; raise max_record_bytes",
                        file_.path, file_.size, limits.max_record_bytes);
    }
    HR_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, OpenUnchanged(files_, file_));
    const auto size = static_cast<size_t>(file_.size);
    std::byte* image = block.arena().AllocatePacked(size, 1);
    HR_ASSIGN_OR_RETURN(const size_t n, file->ReadAt(0, {image, size}));
    if (n < size) {
      return FailedPrecondition(
          "{}: ended at byte {} of {} while being read; start the job again so that it is listed "
          "anew",
          file_.path, n, size);
    }
    const Cell cells[] = {{image, size, Shape()},
                          MakeBytesCell(block.arena(), LabelOf(file_.path, split_.root_length())),
                          MakeBytesCell(block.arena(), file_.path)};
    cursor_.Append(block, cells);
    return absl::OkStatus();
  }

  FileSystem& files_;
  const v1::Split split_;
  RecordCursor cursor_;
  FileRunReader run_;
  FileInfo file_;
};

class ImageFolder final : public Format {
 public:
  absl::StatusOr<Schema> RecordSchema(FileSystem&, const std::vector<FileInfo>&) override {
    return Schema({{"image", DType::kBytes, Shape()},
                   {"label", DType::kBytes, Shape()},
                   {"path", DType::kBytes, Shape()}});
  }

  absl::StatusOr<std::vector<v1::Split>> Splits(FileSystem& files, const FileInfo& file,
                                                const SplitOptions& options) override {
    return SplitListing(files, {{file}, ""}, options);
  }

  absl::Status CutListing(FileSystem&, const Listing& listing, const SplitOptions& options,
                          SplitSink sink) override {
    v1::Split split;
    std::unique_ptr<FileRunWriter> run;  // into `split`; null: none is begun
    const auto finish = [&] {
      if (run == nullptr) return;
      run = nullptr;
      sink(std::exchange(split, {}));
    };
    size_t files = 0;
    uint64_t bytes = 0;
    // The label of files in "/" is "", like that of files at the root.
    const size_t root = listing.root == "/" ? 0 : listing.root.size();
    bool images = false;
    for (size_t i = 0; i < listing.files.size(); ++i) {
      if (!IsImage(listing.files[i].path)) continue;
      if (run == nullptr || files >= kMaxFilesOfSplit || bytes >= options.target_bytes) {
        finish();
        images = true;
        split.set_file_index(i);
        split.set_root_length(static_cast<uint32_t>(root));
        run = std::make_unique<FileRunWriter>(split);
        files = 0;
        bytes = 0;
      }
      run->Add(listing.files[i]);
      ++files;
      bytes += listing.files[i].size;
    }
    finish();
    if (!images && !listing.files.empty()) {
      return NotFound(
          "{}: none of the {} files listed is an image (.jpg, .jpeg, .png, .webp); check the path",
          listing.files[0].path, listing.files.size());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<RecordReader>> Open(FileSystem& files, const v1::Split& split,
                                                     SchemaPtr) override {
    return std::make_unique<ImageFolderReader>(files, split);
  }
};

int Likeness(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const bool webp =
      text.starts_with("RIFF") && text.substr(std::min<size_t>(8, text.size())).starts_with("WEBP");
  return webp || text.starts_with("\xff\xd8\xff") || text.starts_with("\x89PNG\r\n") ? 100 : 0;
}

}  // namespace

void Register_image_folder(FormatRegistry& registry) {
  FormatSpec& spec = registry.Add<NoParams>(
      "image_folder", "One image a file; the folder it lies in is its label.", {},
      [](NoParams) -> absl::StatusOr<std::unique_ptr<Format>> {
        return std::make_unique<ImageFolder>();
      });
  spec.extensions = {kExtensions.begin(), kExtensions.end()};
  spec.likeness = Likeness;
}

}  // namespace headrace
