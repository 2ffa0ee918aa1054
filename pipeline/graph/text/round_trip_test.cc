// YAML -> PipelineDef -> YAML -> PipelineDef: random valid pipelines, seeded.
#include <limits>
#include <random>

#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "pipeline/graph/pipeline_builder.h"
#include "pipeline/graph/test_ops.h"
#include "pipeline/graph/text/printers.h"
#include "pipeline/graph/yaml/yaml_reader.h"

namespace headrace {
namespace {

using google::protobuf::util::MessageDifferencer;

void AppendUtf8(uint32_t point, std::string& out) {
  if (point < 0x80) {
    out += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  const uint32_t lead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(lead[more] | point >> (6 * more));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F));
}

// Makes values, names and pipelines.
class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Coin() { return Below(2) == 0; }

  std::string Text() {
    static const char* kOdd[] = {"null", "true", "yes",  "5",  "0x1F", ".nan", "",   " a", "a ",
                                 "-",    "- a",  "a: b", "#",  "&a",   "*a",   "!a", "<<", "%",
                                 "@",    "`",    "a\nb", "\n", "\r\n", "\t",   "'",  "\"", "\\",
                                 "{}",   "[",    "|",    ">",  "=",    "..."};
    if (Below(3) == 0) return kOdd[Below(std::size(kOdd))];
    std::string out;
    for (uint64_t i = Below(8); i > 0; --i) {
      uint32_t point = static_cast<uint32_t>(Coin()   ? Below(0x80)
                                             : Coin() ? Below(0x3000)
                                                      : Below(0x110000));
      if (point >= 0xD800 && point <= 0xDFFF) point = 0xFFFE;
      AppendUtf8(point, out);
    }
    return out;
  }
  std::string Bytes() {
    if (Below(4) != 0) return Text();
    std::string out;
    for (uint64_t i = Below(8); i > 0; --i) out += static_cast<char>(Below(256));
    return out;
  }
  // Names are text on the wire.
  std::string Name() {
    const std::string out = Text();
    return out.empty() ? "n" : out;
  }
  double Number() {
    switch (Below(6)) {
      case 0:
        return std::numeric_limits<double>::infinity() * (Coin() ? 1 : -1);
      case 1:
        return static_cast<double>(Below(1000));
      case 2:
        return static_cast<double>(Below(1000)) / 1000;
      default: {
        const uint64_t bits = random_();
        const double out = std::bit_cast<double>(bits);
        return out == out ? out : 0.5;  // NaN equals nothing, itself included
      }
    }
  }
  int64_t Integer() { return static_cast<int64_t>(Coin() ? random_() : Below(100)); }

  v1::PipelineDef Pipeline() {
    PipelineBuilder out(Text());
    if (Coin()) out.Seed(random_());
    std::vector<std::string> files;
    for (uint64_t i = Below(4); i > 0; --i) files.push_back(Name());
    Params params;
    for (uint64_t i = Below(3); i > 0; --i)
      params.push_back({"p" + std::to_string(i) + Text(), Any(3)});
    out.Read(files, Text(), params);
    for (uint64_t i = Below(6); i > 0; --i) AddStep(out);
    if (Below(3) == 0) out.FailOnErrors();
    if (Below(3) == 0) {
      out.SkipErrors(Coin() ? Below(1000) : 0,
                     Coin() ? std::generate_canonical<double, 53>(random_) : 0);
    }
    for (uint64_t i = Below(3); i > 0; --i) out.WithoutPass("pass" + std::to_string(i) + Text());
    return out.Build();
  }

 private:
  Param Any(int depth) {
    switch (Below(depth > 0 ? 7 : 5)) {
      case 0:
        return nullptr;
      case 1:
        return Coin();
      case 2:
        return Integer();
      case 3:
        return Number();
      case 4:
        return Bytes();
      case 5: {
        std::vector<Param> items;
        for (uint64_t i = Below(4); i > 0; --i) items.push_back(Any(depth - 1));
        return List(items);
      }
      default: {
        Params entries;
        for (uint64_t i = Below(4); i > 0; --i)
          entries.push_back({"k" + std::to_string(i) + Text(), Any(depth - 1)});
        return Map(entries);
      }
    }
  }

  void AddStep(PipelineBuilder& out) {
    switch (Below(5)) {
      case 0: {
        Params fields;
        for (uint64_t i = Below(4); i > 0; --i)
          fields.push_back({std::to_string(i) + Text(), Bytes()});
        Params params = {{"fields", Map(fields)}};
        if (Coin()) params.insert(params.begin() + (Coin() ? 1 : 0), {"field", Bytes()});
        out.Step("parse_example", params);
        return;
      }
      case 1: {
        Params params = {{"size", List({Integer(), Integer()})}, {"field", Bytes()}};
        if (Coin()) params.push_back({"scale", Number()});
        if (Coin()) params.push_back({"seed", Coin() ? Param(nullptr) : Param(Integer())});
        out.Step("resize", params);
        return;
      }
      case 2:
        out.Step("shard");
        return;
      case 3:
        out.Step("decode_image", {{"field", Bytes()}});
        return;
      default: {
        Params params = {{"size", Integer()}};
        if (Coin()) params.insert(params.begin(), {"drop_remainder", Coin()});
        out.Step("batch", params);
      }
    }
  }

  std::mt19937_64 random_;
};

v1::PipelineDef WithoutLocations(v1::PipelineDef def) {
  def.mutable_source()->clear_location();
  for (v1::Step& step : *def.mutable_steps()) step.clear_location();
  return def;
}

TEST(RoundTripTest, RandomPipelinesComeBackFromYaml) {
  const OpRegistry ops = test_ops::Registry();
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const v1::PipelineDef def = Maker(seed).Pipeline();
    const absl::StatusOr<std::string> yaml = PrintYaml(def, ops);
    ASSERT_TRUE(yaml.ok()) << "seed " << seed << ": " << yaml.status();
    const absl::StatusOr<v1::PipelineDef> back = ReadYaml(*yaml, "t.yaml", {ops});
    ASSERT_TRUE(back.ok()) << "seed " << seed << ": " << back.status() << "\n" << *yaml;
    std::string difference;
    MessageDifferencer differencer;
    differencer.set_message_field_comparison(MessageDifferencer::EQUIVALENT);
    differencer.ReportDifferencesToString(&difference);
    ASSERT_TRUE(differencer.Compare(WithoutLocations(def), WithoutLocations(*back)))
        << "seed " << seed << ": " << difference << "\n"
        << *yaml;
    ASSERT_EQ(PrintYaml(*back, ops).value(), *yaml) << "seed " << seed;
  }
}

}  // namespace
}  // namespace headrace
