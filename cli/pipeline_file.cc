#include "cli/pipeline_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/status.h"
#include "pipeline/graph/format_words.h"
#include "pipeline/graph/yaml/yaml_reader.h"

namespace headrace {
namespace {

constexpr size_t kMaxFileBytes = 16 << 20;

// read(), not a stream's iterators: those throw when `path` is a directory.
absl::StatusOr<std::string> ReadText(const std::string& path) {
  const std::string what = fmt::format("the pipeline {} (check the path)", path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, "cannot open " + what);
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return ErrnoStatus(errno == 0 ? EIO : errno, "cannot read " + what);
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return InvalidArgument("{}: larger than 16 MiB: this is no pipeline", path);
  }
  return text;
}

}  // namespace

absl::StatusOr<v1::PipelineDef> ReadPipelineFile(const std::string& path, const Catalog& catalog) {
  HR_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  std::vector<FormatWords> formats;
  for (const FormatSpec* spec : catalog.formats.All()) {
    formats.push_back({spec->name, spec->help, spec->params, spec->extensions});
  }
  const std::vector<std::string> passes = catalog.passes.names();
  HR_ASSIGN_OR_RETURN(v1::PipelineDef def,
                      ReadYaml(text, path, YamlWords{catalog.ops, formats, passes}));
  for (std::string& pattern : *def.mutable_source()->mutable_files()) {
    if (pattern.find("://") != std::string::npos) continue;
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(pattern, error);
    if (!error) pattern = absolute.lexically_normal().string();
  }
  return def;
}

}  // namespace headrace
