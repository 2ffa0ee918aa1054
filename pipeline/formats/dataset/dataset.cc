#include "pipeline/formats/dataset/dataset.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "xxhash.h"

namespace headrace {
namespace {

absl::Status AtSource(const v1::Source& source, const absl::Status& status) {
  return source.location().empty() ? status : Annotate(status, source.location() + ": source");
}

// The name of `path` without a compression suffix.
std::string_view Uncompressed(std::string_view path) {
  for (std::string_view suffix : {".gz", ".zst", ".zlib"}) {
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

std::string_view FirstDirectory(const std::string& path) {
  return std::string_view(path).substr(0, path.rfind('/'));
}

// The longest directory that all files lie below.
std::string CommonRoot(const std::vector<FileInfo>& files) {
  if (files.empty()) return "";
  std::string_view root = FirstDirectory(files.front().path);
  for (const FileInfo& file : files) {
    while (!root.empty() && !(file.path.starts_with(root) && file.path.size() > root.size() &&
                              file.path[root.size()] == '/')) {
      const size_t slash = root.rfind('/');
      root = slash == std::string_view::npos ? std::string_view() : root.substr(0, slash);
    }
  }
  return std::string(root);
}

// The directory part of a pattern before its first wildcard.
std::string FixedRoot(const std::string& pattern) {
  const size_t wild = pattern.find_first_of("*?[{");
  if (wild == std::string::npos) return pattern;
  const size_t slash = pattern.rfind('/', wild);
  return slash == std::string::npos ? "" : pattern.substr(0, slash);
}

absl::StatusOr<Listing> ListFiles(const v1::Source& source, FileSystem& files) {
  Listing listing;
  for (const std::string& pattern : source.files()) {
    HR_ASSIGN_OR_RETURN(std::vector<FileInfo> found, files.List(pattern));
    listing.files.insert(listing.files.end(), std::make_move_iterator(found.begin()),
                         std::make_move_iterator(found.end()));
  }
  const auto by_path = [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; };
  std::sort(listing.files.begin(), listing.files.end(), by_path);
  const auto same = [](const FileInfo& a, const FileInfo& b) { return a.path == b.path; };
  listing.files.erase(std::unique(listing.files.begin(), listing.files.end(), same),
                      listing.files.end());
  listing.root = CommonRoot(listing.files);
  if (source.files_size() == 1) {
    // What the pattern fixes, where the files agree on more than that: one class folder is still a
    // class folder.
    const std::string fixed = FixedRoot(source.files(0));
    if (fixed.starts_with('/') && listing.root.starts_with(fixed + "/")) listing.root = fixed;
  }
  return listing;
}

std::string VersionOf(const v1::Source& source, const std::string& format, const Listing& listing,
                      const SplitOptions& options) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const auto add = [state](std::string_view bytes) {
    const uint64_t size = bytes.size();
    XXH3_128bits_update(state, &size, sizeof(size));
    XXH3_128bits_update(state, bytes.data(), bytes.size());
  };
  const auto add_number = [state](uint64_t n) { XXH3_128bits_update(state, &n, sizeof(n)); };
  add(format);
  add(source.params().SerializeAsString());
  add_number(options.target_bytes);
  for (const FileInfo& file : listing.files) {
    add(file.path);
    add_number(file.size);
    add_number(static_cast<uint64_t>(file.mtime_ns));
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

absl::Status CheckFiles(const v1::Source& source, const Format& format, const std::string& name) {
  if (format.has_files() && source.files().empty()) {
    return InvalidArgument("format '{}' reads files: give `files`, a path or pattern", name);
  }
  if (!format.has_files() && !source.files().empty()) {
    return InvalidArgument("format '{}' reads no files: leave `files` out", name);
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> List(const v1::Source& source, const FormatRegistry& formats,
                             FileSystem& files, const SplitOptions& options) {
  Dataset dataset;
  HR_ASSIGN_OR_RETURN(const FormatSpec* spec, FormatOf(source, formats));
  dataset.format_name = spec->name;
  HR_ASSIGN_OR_RETURN(dataset.format, spec->make(source.params()));
  HR_RETURN_IF_ERROR(CheckFiles(source, *dataset.format, spec->name));
  Listing listing;
  if (dataset.format->has_files()) {
    HR_ASSIGN_OR_RETURN(listing, ListFiles(source, files));
    HR_ASSIGN_OR_RETURN(dataset.splits, dataset.format->SplitListing(files, listing, options));
  } else {
    HR_ASSIGN_OR_RETURN(dataset.splits, dataset.format->SplitsWithoutFiles(options));
  }
  HR_ASSIGN_OR_RETURN(dataset.schema, dataset.format->RecordSchema(files, listing.files));
  for (size_t i = 0; i < dataset.splits.size(); ++i) dataset.splits[i].set_id(i);
  dataset.files = listing.files.size();
  for (const FileInfo& file : listing.files) dataset.bytes += file.size;
  dataset.version = VersionOf(source, spec->name, listing, options);
  return dataset;
}

absl::StatusOr<Schema> SchemaOf(const v1::Source& source, const FormatRegistry& formats,
                                FileSystem& files) {
  HR_ASSIGN_OR_RETURN(const FormatSpec* spec, FormatOf(source, formats));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Format> format, spec->make(source.params()));
  HR_RETURN_IF_ERROR(CheckFiles(source, *format, spec->name));
  Listing listing;
  if (format->has_files()) {
    HR_ASSIGN_OR_RETURN(listing, ListFiles(source, files));
  }
  return format->RecordSchema(files, listing.files);
}

}  // namespace

absl::StatusOr<const FormatSpec*> FormatOf(const v1::Source& source,
                                           const FormatRegistry& formats) {
  if (!source.format().empty()) return formats.Find(source.format());
  const FormatSpec* found = nullptr;
  for (const std::string& pattern : source.files()) {
    for (const FormatSpec* spec : formats.All()) {
      const bool fits =
          std::any_of(spec->extensions.begin(), spec->extensions.end(), [&](const std::string& e) {
            return std::string_view(pattern).ends_with(e) || Uncompressed(pattern).ends_with(e);
          });
      if (!fits) continue;
      if (found != nullptr && found != spec) {
        return InvalidArgument("the files look like {} and {}: name the `format`", found->name,
                               spec->name);
      }
      found = spec;
    }
  }
  if (found == nullptr) {
    std::string known;
    for (const FormatSpec* spec : formats.All()) known += (known.empty() ? "" : ", ") + spec->name;
    return InvalidArgument(
        "the names of the files do not tell their format: name the `format` (known: {})", known);
  }
  return found;
}

absl::StatusOr<Dataset> ListDataset(const v1::Source& source, const FormatRegistry& formats,
                                    FileSystem& files, const SplitOptions& options) {
  absl::StatusOr<Dataset> dataset = List(source, formats, files, options);
  if (!dataset.ok()) return AtSource(source, dataset.status());
  return dataset;
}

absl::StatusOr<Schema> RecordSchemaOf(const v1::Source& source, const FormatRegistry& formats,
                                      FileSystem& files) {
  absl::StatusOr<Schema> schema = SchemaOf(source, formats, files);
  if (!schema.ok()) return AtSource(source, schema.status());
  return schema;
}

}  // namespace headrace
