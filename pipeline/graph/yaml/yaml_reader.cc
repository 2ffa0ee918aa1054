#include "pipeline/graph/yaml/yaml_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "common/nearest.h"
#include "common/status.h"
#include "pipeline/graph/fingerprint.h"
#include "pipeline/graph/yaml/percent.h"
#include "pipeline/graph/yaml/yaml_document.h"

namespace headrace {
namespace {

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string Joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::vector<std::string> NamesOf(const std::vector<ParamSpec>& specs) {
  std::vector<std::string> out;
  for (const ParamSpec& spec : specs) out.push_back(spec.name);
  return out;
}

const ParamSpec* FindSpec(const std::vector<ParamSpec>& specs, std::string_view name) {
  for (const ParamSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

void Put(v1::ValueMap& map, std::string name, v1::Value value) {
  v1::NamedValue* entry = map.add_entries();
  entry->set_name(std::move(name));
  *entry->mutable_value() = std::move(value);
}

class Reader {
 public:
  Reader(YamlDocument& document, const YamlWords& words) : doc_(document), words_(words) {}

  absl::StatusOr<v1::PipelineDef> Read();

 private:
  absl::Status Key(const YamlEntry& entry, v1::PipelineDef& def);
  absl::Status Seed(const YAML::Node& node, v1::PipelineDef& def);
  absl::Status Source(const YAML::Node& node, v1::Source& source);
  absl::Status Files(const YAML::Node& node, v1::Source& source);
  absl::Status SourceParams(const std::vector<YamlEntry>& entries, v1::Source& source);
  absl::Status KeyOfSomeFormat(const YamlEntry& entry);
  absl::Status Steps(const YAML::Node& node, v1::PipelineDef& def);
  absl::Status Step(const YAML::Node& node, v1::Step& step);
  absl::Status StepParams(const YAML::Node& name, const OpSpec& spec, const YAML::Node& value,
                          v1::Step& step);
  absl::Status NamedParams(const OpSpec& spec, const YAML::Node& value, v1::Step& step);
  absl::Status OnErrorKey(const YAML::Node& node, v1::ErrorPolicy& errors);
  absl::Status MaxErrors(const YAML::Node& node, v1::ErrorPolicy& errors);
  absl::Status OneMaxErrors(const YAML::Node& node, v1::ErrorPolicy& errors);
  absl::Status Optimize(const YAML::Node& node, v1::PipelineDef& def);
  // A scalar that is text, whatever it looks like; `what` begins the message otherwise.
  absl::StatusOr<std::string> Text(const YAML::Node& node, std::string_view what);
  // The value at `node`, checked against `spec` but kept as given.
  absl::StatusOr<v1::Value> Checked(const YAML::Node& node, const ParamSpec& spec,
                                    std::string_view what);

  YamlDocument& doc_;
  const YamlWords& words_;
};

absl::StatusOr<v1::PipelineDef> Reader::Read() {
  if (!doc_.root().IsMap()) {
    return doc_.Error(doc_.root(),
                      "a pipeline is a map that begins with `source: {files: ..., format: ...}`");
  }
  HR_ASSIGN_OR_RETURN(const std::vector<YamlEntry> entries,
                      doc_.Entries(doc_.root(), "the pipeline"));
  v1::PipelineDef def;
  const YamlEntry* max_errors = nullptr;
  for (const YamlEntry& entry : entries) {
    HR_RETURN_IF_ERROR(Key(entry, def));
    if (entry.key == "max_errors") max_errors = &entry;
  }
  if (!def.has_source()) {
    return doc_.Error(doc_.root(),
                      "the pipeline has no 'source'; write `source: {files: ..., format: ...}`");
  }
  if (max_errors != nullptr && def.errors().on_error() != v1::ON_ERROR_SKIP) {
    return doc_.Error(max_errors->key_node,
                      "'max_errors' counts skipped records; it needs `on_error: skip`");
  }
  return def;
}

absl::Status Reader::Key(const YamlEntry& entry, v1::PipelineDef& def) {
  static constexpr std::string_view kKeys[] = {"name",     "seed",       "source",  "steps",
                                               "on_error", "max_errors", "optimize"};
  if (entry.key == "name") {
    HR_ASSIGN_OR_RETURN(*def.mutable_name(), Text(entry.value, "'name'"));
    return absl::OkStatus();
  }
  if (entry.key == "seed") return Seed(entry.value, def);
  if (entry.key == "source") {
    def.mutable_source()->set_location(doc_.Location(entry.key_node));
    return Source(entry.value, *def.mutable_source());
  }
  if (entry.key == "steps") return Steps(entry.value, def);
  if (entry.key == "on_error") return OnErrorKey(entry.value, *def.mutable_errors());
  if (entry.key == "max_errors") return MaxErrors(entry.value, *def.mutable_errors());
  if (entry.key == "optimize") return Optimize(entry.value, def);
  if (entry.key.starts_with("x-")) return absl::OkStatus();
  std::vector<std::string> known(std::begin(kKeys), std::end(kKeys));
  if (words_.ops.Find(entry.key).ok()) {
    return doc_.Error(entry.key_node, fmt::format("'{}' is a step; write `- {}: ...` under 'steps'",
                                                  entry.key, entry.key));
  }
  return doc_.Error(entry.key_node, fmt::format("unknown key '{}'{} (known: {})", entry.key,
                                                DidYouMean(entry.key, known), Joined(known)));
}

absl::StatusOr<std::string> Reader::Text(const YAML::Node& node, std::string_view what) {
  HR_ASSIGN_OR_RETURN(const v1::Value value, doc_.Value(node));
  std::string out;
  if (absl::Status s = FromValue(value, out); !s.ok()) {
    const std::string quote = node.IsScalar() ? "; put it in quotes" : "";
    return doc_.Error(node, fmt::format("{}: {}{}", what, std::string(s.message()), quote));
  }
  return out;
}

absl::Status Reader::Seed(const YAML::Node& node, v1::PipelineDef& def) {
  uint64_t seed = 0;
  const std::string word = node.IsScalar() && node.Tag() == "?" ? node.Scalar() : "";
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seed);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) {
    return doc_.Error(node, "'seed': expected an integer from 0 to 18446744073709551615");
  }
  def.set_seed(seed);
  return absl::OkStatus();
}

absl::Status Reader::Source(const YAML::Node& node, v1::Source& source) {
  if (!node.IsMap()) {
    return doc_.Error(node, "'source' is a map; write `source: {files: ..., format: ...}`");
  }
  HR_ASSIGN_OR_RETURN(const std::vector<YamlEntry> entries, doc_.Entries(node, "'source'"));
  std::vector<YamlEntry> params;
  for (const YamlEntry& entry : entries) {
    if (entry.key == "files") {
      HR_RETURN_IF_ERROR(Files(entry.value, source));
    } else if (entry.key == "format") {
      HR_ASSIGN_OR_RETURN(*source.mutable_format(), Text(entry.value, "'format'"));
      bool known = words_.formats.empty();
      std::vector<std::string> names;
      for (const FormatWords& format : words_.formats) names.push_back(format.name);
      for (const std::string& name : names) known = known || name == source.format();
      if (!known) {
        return doc_.Error(entry.value,
                          fmt::format("format '{}' is unknown{} (known: {})", source.format(),
                                      DidYouMean(source.format(), names), Joined(names)));
      }
    } else {
      params.push_back(entry);
    }
  }
  return SourceParams(params, source);
}

absl::Status Reader::Files(const YAML::Node& node, v1::Source& source) {
  std::vector<YAML::Node> items;
  if (node.IsSequence()) {
    for (const auto& item : node) items.push_back(item);
  } else {
    items.push_back(node);
  }
  for (const YAML::Node& item : items) {
    HR_ASSIGN_OR_RETURN(std::string file, Text(item, "'files'"));
    if (file.empty()) return doc_.Error(item, "'files': a path is empty");
    source.add_files(std::move(file));
  }
  if (items.empty()) return doc_.Error(node, "'files' is an empty list");
  return absl::OkStatus();
}

absl::Status Reader::SourceParams(const std::vector<YamlEntry>& entries, v1::Source& source) {
  const FormatWords* format = nullptr;
  for (const FormatWords& words : words_.formats) {
    if (words.name == source.format()) format = &words;
  }
  for (const YamlEntry& entry : entries) {
    if (format == nullptr) {
      HR_RETURN_IF_ERROR(KeyOfSomeFormat(entry));
      HR_ASSIGN_OR_RETURN(v1::Value value, doc_.Value(entry.value));
      Put(*source.mutable_params(), entry.key, std::move(value));
      continue;
    }
    const ParamSpec* spec = FindSpec(format->params, entry.key);
    if (spec == nullptr) {
      std::vector<std::string> known = NamesOf(format->params);
      known.insert(known.begin(), {"files", "format"});
      return doc_.Error(
          entry.key_node,
          fmt::format("'source' of format '{}' has no parameter '{}'{} (known: {})", format->name,
                      entry.key, DidYouMean(entry.key, known), Joined(known)));
    }
    HR_ASSIGN_OR_RETURN(v1::Value value, Checked(entry.value, *spec, "'source'"));
    Put(*source.mutable_params(), entry.key, std::move(value));
  }
  return absl::OkStatus();
}

// Which format it is shows when the files are looked at; a word that none knows is wrong now.
absl::Status Reader::KeyOfSomeFormat(const YamlEntry& entry) {
  if (words_.formats.empty()) return absl::OkStatus();
  std::vector<std::string> known = {"files", "format"};
  for (const FormatWords& words : words_.formats) {
    for (const std::string& name : NamesOf(words.params)) {
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    }
  }
  if (std::find(known.begin(), known.end(), entry.key) != known.end()) return absl::OkStatus();
  return doc_.Error(entry.key_node,
                    fmt::format("'source' has no key '{}'{} (known: files, format, and what the "
                                "format takes)",
                                entry.key, DidYouMean(entry.key, known)));
}

absl::StatusOr<v1::Value> Reader::Checked(const YAML::Node& node, const ParamSpec& spec,
                                          std::string_view what) {
  HR_ASSIGN_OR_RETURN(v1::Value value, doc_.Value(node));
  if (absl::Status s = CanonicalValue(spec, value).status(); !s.ok()) {
    return doc_.Error(node, fmt::format("{}: {}: {}", what, spec.name, std::string(s.message())));
  }
  return value;
}

absl::Status Reader::Steps(const YAML::Node& node, v1::PipelineDef& def) {
  if (node.IsNull()) return absl::OkStatus();
  if (!node.IsSequence()) return doc_.Error(node, "'steps' is a list; begin each step with '- '");
  for (const auto& item : node) HR_RETURN_IF_ERROR(Step(item, *def.add_steps()));
  return absl::OkStatus();
}

absl::Status Reader::Step(const YAML::Node& node, v1::Step& step) {
  YAML::Node name = node;
  YAML::Node value;
  if (node.IsMap()) {
    HR_ASSIGN_OR_RETURN(const std::vector<YamlEntry> entries, doc_.Entries(node, "a step"));
    if (entries.empty()) return doc_.Error(node, "a step without a name");
    if (entries.size() > 1) {
      return doc_.Error(
          entries[1].key_node,
          fmt::format(
              "'{}' stands beside the step '{}'; indent the step's parameters further, and begin "
              "each step with '- '",
              entries[1].key, entries[0].key));
    }
    name.reset(entries[0].key_node);  // `=` would write into the document
    value.reset(entries[0].value);
  } else if (!node.IsScalar()) {
    return doc_.Error(node,
                      "a step is its name, or its name and parameters: `- batch: {size: 256}`");
  }
  const std::string& op = name.Scalar();
  absl::StatusOr<const OpSpec*> spec = words_.ops.Find(op);
  if (!spec.ok() || (*spec)->internal) {
    std::vector<std::string> known;
    for (const OpSpec* s : words_.ops.All()) {
      if (!s->internal) known.push_back(s->name);
    }
    const std::string hint = DidYouMean(op, known);
    return doc_.Error(
        name, fmt::format("step '{}' is unknown{}", op,
                          hint.empty() ? fmt::format(" (known: {})", Joined(known)) : hint));
  }
  step.set_op(op);
  step.set_location(doc_.Location(name));
  return StepParams(name, **spec, value, step);
}

absl::Status Reader::StepParams(const YAML::Node& name, const OpSpec& spec, const YAML::Node& value,
                                v1::Step& step) {
  const std::string what = fmt::format("step '{}'", spec.name);
  const bool map = value.IsMap();
  bool by_name = map && spec.map_param.empty();
  if (map && !by_name) {
    HR_ASSIGN_OR_RETURN(const std::vector<YamlEntry> entries, doc_.Entries(value, what));
    for (const YamlEntry& entry : entries) {
      by_name = by_name || (entry.key == spec.map_param && entry.value.IsMap());
    }
  }
  const std::string& whole = map ? spec.map_param : spec.bare_param;
  const ParamSpec* whole_spec = whole.empty() ? nullptr : FindSpec(spec.params, whole);
  if (value.IsNull() || by_name) {
    HR_RETURN_IF_ERROR(NamedParams(spec, value, step));
  } else if (whole_spec != nullptr) {
    HR_ASSIGN_OR_RETURN(v1::Value checked, Checked(value, *whole_spec, what));
    Put(*step.mutable_params(), whole, std::move(checked));
  } else {
    const std::string example =
        spec.params.empty() ? ""
                            : fmt::format(": `{}: {{{}: ...}}`", spec.name, spec.params[0].name);
    return doc_.Error(value, spec.params.empty()
                                 ? what + " takes no parameters"
                                 : fmt::format("{} takes its parameters by name{}", what, example));
  }
  for (const ParamSpec& param : spec.params) {
    bool found = !param.required;
    for (const v1::NamedValue& entry : step.params().entries())
      found = found || entry.name() == param.name;
    if (!found) {
      return doc_.Error(
          name, fmt::format("{}: parameter '{}' is missing: {}", what, param.name, param.help));
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::NamedParams(const OpSpec& spec, const YAML::Node& value, v1::Step& step) {
  if (value.IsNull()) return absl::OkStatus();
  const std::string what = fmt::format("step '{}'", spec.name);
  HR_ASSIGN_OR_RETURN(const std::vector<YamlEntry> entries, doc_.Entries(value, what));
  for (const YamlEntry& entry : entries) {
    const ParamSpec* param = FindSpec(spec.params, entry.key);
    if (param == nullptr) {
      const std::vector<std::string> known = NamesOf(spec.params);
      const std::string hint = DidYouMean(entry.key, known);
      const std::string list =
          known.empty() ? " (it takes none)" : fmt::format(" (known: {})", Joined(known));
      return doc_.Error(entry.key_node, fmt::format("{} has no parameter '{}'{}", what, entry.key,
                                                    hint.empty() ? list : hint));
    }
    HR_ASSIGN_OR_RETURN(v1::Value checked, Checked(entry.value, *param, what));
    Put(*step.mutable_params(), entry.key, std::move(checked));
  }
  return absl::OkStatus();
}

absl::Status Reader::OnErrorKey(const YAML::Node& node, v1::ErrorPolicy& errors) {
  const std::string word = node.IsScalar() ? node.Scalar() : "";
  if (word != "fail" && word != "skip") return doc_.Error(node, "'on_error' is fail or skip");
  errors.set_on_error(word == "skip" ? v1::ON_ERROR_SKIP : v1::ON_ERROR_FAIL);
  return absl::OkStatus();
}

absl::Status Reader::MaxErrors(const YAML::Node& node, v1::ErrorPolicy& errors) {
  if (!node.IsSequence()) return OneMaxErrors(node, errors);
  for (const auto& item : node) HR_RETURN_IF_ERROR(OneMaxErrors(item, errors));
  return absl::OkStatus();
}

absl::Status Reader::OneMaxErrors(const YAML::Node& node, v1::ErrorPolicy& errors) {
  const std::string word = node.IsScalar() ? node.Scalar() : "";
  if (word.ends_with('%')) {
    const std::optional<double> fraction = FractionFromPercent(word);
    if (!fraction || *fraction <= 0 || *fraction > 1) {
      return doc_.Error(node,
                        "'max_errors': expected a percentage above 0% and up to 100%, as 0.1%");
    }
    if (errors.max_error_fraction() != 0) return doc_.Error(node, "'max_errors': two percentages");
    errors.set_max_error_fraction(*fraction);
    return absl::OkStatus();
  }
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) {
    return doc_.Error(node,
                      "'max_errors': expected a number of records (100) or a percentage (0.1%)");
  }
  if (count == 0) return doc_.Error(node, "'max_errors: 0' is `on_error: fail`; write that");
  if (errors.max_errors() != 0) return doc_.Error(node, "'max_errors': two numbers of records");
  errors.set_max_errors(count);
  return absl::OkStatus();
}

absl::Status Reader::Optimize(const YAML::Node& node, v1::PipelineDef& def) {
  if (!node.IsMap()) {
    HR_ASSIGN_OR_RETURN(const v1::Value value, doc_.Value(node));
    if (value.kind_case() != v1::Value::kBoolean) {
      return doc_.Error(node, "'optimize' is true, false or a map of pass: true or false");
    }
    if (!value.boolean()) def.add_disabled_passes("all");
    return absl::OkStatus();
  }
  HR_ASSIGN_OR_RETURN(const std::vector<YamlEntry> entries, doc_.Entries(node, "'optimize'"));
  const std::vector<std::string> known(words_.passes.begin(), words_.passes.end());
  for (const YamlEntry& entry : entries) {
    bool found = known.empty() || entry.key == "all";
    for (const std::string& pass : known) found = found || pass == entry.key;
    if (!found) {
      return doc_.Error(entry.key_node,
                        fmt::format("optimizer pass '{}' is unknown{} (known: {})", entry.key,
                                    DidYouMean(entry.key, known), Joined(known)));
    }
    HR_ASSIGN_OR_RETURN(const v1::Value value, doc_.Value(entry.value));
    bool on = true;
    if (absl::Status s = FromValue(value, on); !s.ok()) {
      return doc_.Error(entry.value,
                        fmt::format("'optimize': {}: {}", entry.key, std::string(s.message())));
    }
    if (!on) def.add_disabled_passes(entry.key);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::PipelineDef> ReadYaml(std::string_view text, std::string_view file,
                                         const YamlWords& words) {
  HR_ASSIGN_OR_RETURN(YamlDocument document, YamlDocument::Parse(text, file));
  try {
    return Reader(document, words).Read();
  } catch (const YAML::Exception& e) {
    return InvalidArgument("{}: {}", file, e.what());
  }
}

}  // namespace headrace
