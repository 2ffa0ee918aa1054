// headrace inspect FILE...: format, records, schema, checksums; each damaged record with path,
// offset and index.
#include "pipeline/formats/inspect/inspect.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/table.h"
#include "common/status.h"
#include "pipeline/catalog/catalog.h"

namespace headrace {
namespace {

nlohmann::ordered_json ReportJson(const InspectReport& report) {
  nlohmann::ordered_json out = {{"path", report.path},
                                {"format", report.format},
                                {"codec", report.codec},
                                {"schema", report.schema.ToString()},
                                {"file_bytes", report.file_bytes},
                                {"records", report.records},
                                {"record_bytes", report.record_bytes},
                                {"largest_record", report.largest_record},
                                {"checksums", report.checksums},
                                {"damaged", report.damaged_count},
                                {"records_lost", report.records_lost}};
  out["damaged_records"] = nlohmann::ordered_json::array();
  for (const DamagedRecord& record : report.damaged) {
    out["damaged_records"].push_back(nlohmann::ordered_json{
        {"index", record.index}, {"offset", record.offset}, {"message", record.message}});
  }
  return out;
}

void Print(const InspectReport& report) {
  std::printf("%s: %s%s, %llu records, %s (largest %s), checksums checked: %s\n  schema %s\n",
              report.path.c_str(), report.format.c_str(),
              report.codec == "none" ? "" : (", " + report.codec).c_str(),
              static_cast<unsigned long long>(report.records),
              Bytes(static_cast<double>(report.record_bytes)).c_str(),
              Bytes(static_cast<double>(report.largest_record)).c_str(), report.checksums.c_str(),
              report.schema.ToString().c_str());
  for (const DamagedRecord& record : report.damaged)
    std::printf("  damaged: %s\n", record.message.c_str());
  if (report.damaged_count > report.damaged.size()) {
    std::printf("  and %zu more\n",
                static_cast<size_t>(report.damaged_count) - report.damaged.size());
  }
}

class Inspect final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("files", paths_, "files to look through")->required();
    app.add_option("--format", options_.format, "left out: told by name or first bytes");
    app.add_option("--output", output_, "text or json")->check(CLI::IsMember({"text", "json"}));
  }

  absl::Status Run() override {
    const Catalog catalog;
    const std::unique_ptr<FileSystem> files = NewLocalFileSystem();
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    uint64_t damaged = 0;
    for (const std::string& path : paths_) {
      HR_ASSIGN_OR_RETURN(const InspectReport report,
                          InspectFile(*files, catalog.formats, path, options_));
      damaged += report.damaged_count;
      if (output_ == "json") {
        all.push_back(ReportJson(report));
      } else {
        Print(report);
      }
    }
    if (output_ == "json") std::printf("%s\n", all.dump(2).c_str());
    if (damaged > 0) return DataLoss("{} damaged records in {} files", damaged, paths_.size());
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> paths_;
  InspectOptions options_;
  std::string output_ = "text";
};

}  // namespace

void Register_inspect(CommandList& commands) {
  commands.Add<Inspect>("inspect", "What is in a file, and whether it is sound");
}

}  // namespace headrace
