#include "cli/pipeline_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "common/status.h"
#include "pipeline/graph/format_words.h"
#include "pipeline/graph/yaml/yaml_reader.h"

namespace headrace {

absl::StatusOr<v1::PipelineDef> ReadPipelineFile(const std::string& path, const Catalog& catalog) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, "read the pipeline " + path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return ErrnoStatus(EIO, "read the pipeline " + path);
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
