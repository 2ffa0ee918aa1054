// hr_registry_docs: prints what users read about steps and formats from what the code declares.
//   hr_registry_docs steps > docs/steps.md
//   hr_registry_docs python > .../_steps.pyi
//   hr_registry_docs steps --check docs/steps.md     exits 1 when the file says something else
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/formats/format.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/graph/text/registry_docs.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  const bool right = !args.empty() && (args[0] == "steps" || args[0] == "python");
  if (!right || !(args.size() == 1 || (args.size() == 3 && args[1] == "--check"))) {
    std::fprintf(stderr, "usage: hr_registry_docs steps|python [--check FILE]\n");
    return 2;
  }
  headrace::OpRegistry ops;
  headrace::RegisterAll_ops(ops);
  headrace::FormatRegistry formats;
  headrace::RegisterAll_formats(formats);
  const std::vector<headrace::FormatWords> words = headrace::WordsOf(formats);
  const std::string text = args[0] == "steps" ? headrace::StepsPage(ops.All(), words)
                                              : headrace::PythonStub(ops.All(), words);
  if (args.size() == 1) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const std::string path(args[2]);
  std::ifstream file(path);
  std::stringstream found;
  found << file.rdbuf();
  if (file && found.str() == text) return 0;
  std::fprintf(stderr,
               "%s is not what the code declares; write it anew: hr_registry_docs %s > %s\n",
               path.c_str(), std::string(args[0]).c_str(), path.c_str());
  return 1;
}
