#include "pipeline/formats/format.h"

#include <cassert>

#include "absl/strings/match.h"
#include "common/nearest.h"
#include "common/status.h"

namespace headrace {

absl::StatusOr<std::vector<v1::Split>> Format::Splits(FileSystem&, const FileInfo& file,
                                                      const SplitOptions&) {
  std::vector<v1::Split> out;
  if (file.size == 0) return out;
  v1::Split& split = out.emplace_back();
  split.set_path(file.path);
  split.set_end(file.size);
  split.set_file_size(file.size);
  split.set_file_mtime_ns(file.mtime_ns);
  return out;
}

absl::Status Format::CutListing(FileSystem& files, const Listing& listing,
                                const SplitOptions& options, SplitSink sink) {
  for (size_t i = 0; i < listing.files.size(); ++i) {
    HR_ASSIGN_OR_RETURN(std::vector<v1::Split> splits, Splits(files, listing.files[i], options));
    for (v1::Split& split : splits) {
      split.set_file_index(i);
      sink(std::move(split));
    }
  }
  return absl::OkStatus();
}

absl::Status Format::CutWithoutFiles(const SplitOptions&, SplitSink) {
  return Internal("this format reads files");
}

absl::StatusOr<std::vector<v1::Split>> Format::SplitListing(FileSystem& files,
                                                            const Listing& listing,
                                                            const SplitOptions& options) {
  std::vector<v1::Split> out;
  HR_RETURN_IF_ERROR(CutListing(files, listing, options,
                                [&](v1::Split split) { out.push_back(std::move(split)); }));
  return out;
}

absl::StatusOr<std::vector<v1::Split>> Format::SplitsWithoutFiles(const SplitOptions& options) {
  std::vector<v1::Split> out;
  HR_RETURN_IF_ERROR(
      CutWithoutFiles(options, [&](v1::Split split) { out.push_back(std::move(split)); }));
  return out;
}

FormatSpec& FormatRegistry::Insert(FormatSpec spec) {
  const std::string name = spec.name;
  auto [it, inserted] = formats_.emplace(name, std::move(spec));
  assert(inserted && "two formats with one name");
  (void)inserted;
  return it->second;
}

absl::StatusOr<const FormatSpec*> FormatRegistry::Find(std::string_view name) const {
  if (auto it = formats_.find(name); it != formats_.end()) return &it->second;
  std::vector<std::string> names;
  std::string list;
  for (const auto& [known, spec] : formats_) {
    list += (names.empty() ? "" : ", ") + known;
    names.push_back(known);
  }
  const std::string nearest = NearestWord(name, names);
  return InvalidArgument("unknown format '{}'{} (known: {})", name,
                         nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest), list);
}

const FormatSpec* FormatRegistry::FindByExtension(std::string_view path) const {
  const FormatSpec* found = nullptr;
  size_t longest = 0;
  for (const auto& [name, spec] : formats_) {
    for (const std::string& extension : spec.extensions) {
      if (extension.size() <= longest) continue;
      if (!absl::EndsWithIgnoreCase({path.data(), path.size()}, extension)) continue;
      longest = extension.size();
      found = &spec;
    }
  }
  return found;
}

std::vector<const FormatSpec*> FormatRegistry::All() const {
  std::vector<const FormatSpec*> out;
  for (const auto& [name, spec] : formats_) out.push_back(&spec);
  return out;
}

std::vector<FormatWords> WordsOf(const FormatRegistry& formats) {
  std::vector<FormatWords> out;
  for (const FormatSpec* spec : formats.All())
    out.push_back({spec->name, spec->help, spec->params, spec->extensions});
  return out;
}

}  // namespace headrace
