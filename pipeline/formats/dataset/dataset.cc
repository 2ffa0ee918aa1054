#include "pipeline/formats/dataset/dataset.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/status.h"
#include "pipeline/graph/utf8.h"
#include "pipeline/sources/glob.h"
#include "xxhash.h"

namespace headrace {
namespace {

absl::Status AtSource(const v1::Source& source, const absl::Status& status) {
  return source.location().empty() ? status : Annotate(status, source.location() + ": source");
}

// The directory that all files lie below, as far as the patterns fix it: one class folder of
// several is still a class folder when the others are empty.
absl::StatusOr<std::string> RootOf(const v1::Source& source, FileSystem& files,
                                   const Listing& listing) {
  std::string root;
  for (const std::string& pattern : source.files()) {
    HR_ASSIGN_OR_RETURN(const std::string absolute, files.Absolute(pattern));
    HR_ASSIGN_OR_RETURN(const std::vector<std::string> patterns, ExpandBraces(absolute));
    for (const std::string& one : patterns) {
      const std::string fixed = FixedDirectory(one);
      root = root.empty() ? fixed : CommonDirectory(root, fixed);
    }
  }
  // A pattern that spells out one file.
  if (!listing.files.empty() && root == listing.files.front().path) root.resize(root.rfind('/'));
  return root;
}

// Paths travel in messages that must be valid text.
absl::Status CheckPaths(const std::vector<FileInfo>& files) {
  for (const FileInfo& file : files) {
    if (FirstNonUtf8(file.path) == std::string_view::npos) continue;
    return InvalidArgument(
        "{}: the name is not UTF-8; rename the file, or leave it out of the pattern",
        std::string(absl::CHexEscape(file.path)));
  }
  return absl::OkStatus();
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
  HR_RETURN_IF_ERROR(CheckPaths(listing.files));
  HR_ASSIGN_OR_RETURN(listing.root, RootOf(source, files, listing));
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
  add(listing.root);
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

absl::Status NamesTellNoFormat(const FormatRegistry& formats) {
  std::string known;
  for (const FormatSpec* spec : formats.All()) known += (known.empty() ? "" : ", ") + spec->name;
  return InvalidArgument(
      "the names of the files do not tell their format: name the `format` (known: {})", known);
}

// Takes `next` as the format of the names so far; INVALID_ARGUMENT when they tell of two.
absl::Status Agree(const FormatSpec* next, const FormatSpec*& found) {
  if (next == nullptr || next == found) return absl::OkStatus();
  if (found != nullptr) {
    return InvalidArgument("the files look like {} and {}: name the `format`", found->name,
                           next->name);
  }
  found = next;
  return absl::OkStatus();
}

// What a source is before it is cut.
struct Resolved {
  const FormatSpec* spec = nullptr;
  std::unique_ptr<Format> format;
  Listing listing;
};

// A directory's name tells no format: then those of its files do.
absl::StatusOr<Resolved> Resolve(const v1::Source& source, const FormatRegistry& formats,
                                 FileSystem& files) {
  Resolved out;
  const absl::StatusOr<const FormatSpec*> told = FormatOf(source, formats);
  if (told.ok()) {
    out.spec = *told;
  } else if (!source.format().empty() || source.files().empty()) {
    return told.status();
  }
  if (out.spec != nullptr) {
    HR_ASSIGN_OR_RETURN(out.format, out.spec->make(source.params()));
    HR_RETURN_IF_ERROR(CheckFiles(source, *out.format, out.spec->name));
  }
  if (!source.files().empty()) {
    HR_ASSIGN_OR_RETURN(out.listing, ListFiles(source, files));
  }
  if (out.spec != nullptr) return out;
  for (const FileInfo& file : out.listing.files)
    HR_RETURN_IF_ERROR(Agree(formats.FindByExtension(file.path), out.spec));
  if (out.spec == nullptr) return told.status();
  HR_ASSIGN_OR_RETURN(out.format, out.spec->make(source.params()));
  return out;
}

absl::StatusOr<Dataset> List(const v1::Source& source, const FormatRegistry& formats,
                             FileSystem& files, const SplitOptions& options) {
  HR_ASSIGN_OR_RETURN(Resolved resolved, Resolve(source, formats, files));
  Dataset dataset;
  dataset.format_name = resolved.spec->name;
  dataset.format = std::move(resolved.format);
  const Listing& listing = resolved.listing;
  const auto take = [&](const v1::Split& split) { dataset.splits.Add(split); };
  HR_RETURN_IF_ERROR(dataset.format->has_files()
                         ? dataset.format->CutListing(files, listing, options, take)
                         : dataset.format->CutWithoutFiles(options, take));
  HR_ASSIGN_OR_RETURN(dataset.schema, dataset.format->RecordSchema(files, listing.files));
  dataset.files = listing.files.size();
  for (const FileInfo& file : listing.files) dataset.bytes += file.size;
  dataset.version = VersionOf(source, dataset.format_name, listing, options);
  return dataset;
}

absl::StatusOr<Schema> SchemaOf(const v1::Source& source, const FormatRegistry& formats,
                                FileSystem& files) {
  HR_ASSIGN_OR_RETURN(const Resolved resolved, Resolve(source, formats, files));
  return resolved.format->RecordSchema(files, resolved.listing.files);
}

}  // namespace

absl::StatusOr<const FormatSpec*> FormatOf(const v1::Source& source,
                                           const FormatRegistry& formats) {
  if (!source.format().empty()) return formats.Find(source.format());
  const FormatSpec* found = nullptr;
  for (const std::string& pattern : source.files()) {
    HR_RETURN_IF_ERROR(Agree(formats.FindByExtension(pattern), found));
  }
  if (found == nullptr) return NamesTellNoFormat(formats);
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
