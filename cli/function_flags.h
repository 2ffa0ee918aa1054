// --udf, --udf-python and --udf-path of commands that start workers: what of Python functions these
// may run. Nothing unless it is said.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "worker/worker_config.h"

namespace headrace {

class FunctionFlags {
 public:
  void Declare(CLI::App& app) {
    app.add_option("--udf", mode_, "Python functions that pipelines may run: off, import or pickle")
        ->check(CLI::IsMember({"off", "import", "pickle"}))
        ->capture_default_str();
    app.add_option("--udf-python", python_, "the interpreter that runs them; it needs NumPy")
        ->capture_default_str();
    app.add_option("--udf-path", path_, "a directory of their modules; may be given often");
  }
  void Set(WorkerConfig& config) const {
    config.udf = mode_;
    config.udf_python = python_;
    config.udf_path = path_;
    config.udf_output = LogLevel::kWarning;  // for the terminal of who runs the command
  }
  // For `headrace worker`. Nothing when nothing was said: its own settings count then.
  void Append(std::vector<std::string>& arguments) const {
    if (mode_ == "off") return;
    arguments.insert(arguments.end(), {"--udf", mode_, "--udf-python", python_});
    if (path_.empty()) return;
    std::string joined;
    for (const std::string& directory : path_) joined += (joined.empty() ? "" : ",") + directory;
    arguments.insert(arguments.end(), {"--udf-path", joined});
  }
  bool on() const { return mode_ != "off"; }

 private:
  std::string mode_ = "off";
  std::string python_ = "python3";
  std::vector<std::string> path_;
};

}  // namespace headrace
