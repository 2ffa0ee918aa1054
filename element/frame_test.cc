#include <cstring>
#include <random>

#include "element/frame_reader.h"
#include "element/frame_test_blocks.h"
#include "element/frame_writer.h"
#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "gtest/gtest.h"
#include "headrace/v1/frame.pb.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using SourceRun = ::headrace::Run;  // inside of a test, Run is the test's own method

FrameBuffer Received(const Frame& frame) {
  auto bytes = *AllocateFrameBytes(frame.bytes);
  CopyFrame(frame, bytes.get());
  return {bytes, frame.bytes};
}

// The frame as it arrives when some slices could stay where they are: pieces of memory of their
// own.
FrameBuffer ReceivedInPieces(const Frame& frame) {
  auto kept = std::make_shared<std::vector<std::shared_ptr<std::byte>>>();
  FrameBuffer out;
  const auto add = [&](const void* data, size_t size) {
    const size_t shift = out.size % kFrameAlignment;
    kept->push_back(*AllocateFrameBytes(shift + size));
    std::byte* to = kept->back().get() + shift;
    std::memcpy(to, data, size);
    out.pieces.push_back({to, size});
    out.size += size;
  };
  add(frame.header.data(), frame.header.size());
  for (const FrameSlice& slice : frame.payload) add(slice.data, slice.size);
  out.data = std::shared_ptr<const std::byte>(kept, out.pieces[0].data);
  return out;
}

// A received frame of this header and payload, whatever they say.
FrameBuffer Made(const v1::FrameHeader& header, std::string_view payload) {
  const std::string body = header.SerializeAsString();
  std::string bytes(kFrameMagic, 4);
  const auto length = static_cast<uint32_t>(body.size());
  bytes.append(reinterpret_cast<const char*>(&length), 4);
  bytes += body;
  bytes.append(FramePadding(bytes.size()), '\0');
  bytes += payload;
  auto memory = *AllocateFrameBytes(bytes.size());
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  return {memory, bytes.size()};
}

void ExpectSameRow(const Block& block, size_t block_row, const FrameView& view, size_t row) {
  ASSERT_EQ(view.columns(), block.schema().size());
  for (size_t i = 0; i < view.columns(); ++i) {
    const Cell& cell = block.column(i)[block_row];
    const TensorView got = view.at(i, row);
    ASSERT_EQ(view.name(i), block.schema()[i].name);
    ASSERT_EQ(got.dtype, block.schema()[i].dtype);
    ASSERT_EQ(got.shape, cell.shape);
    if (got.dtype == DType::kBytes) {
      for (int64_t k = 0; k < cell.shape.items(); ++k) {
        ASSERT_EQ(got.string(static_cast<size_t>(k)), cell.string(static_cast<size_t>(k)));
      }
    } else {
      ASSERT_EQ(got.bytes, cell.bytes);
      ASSERT_TRUE(cell.bytes == 0 || std::memcmp(got.data, cell.data, cell.bytes) == 0);
    }
  }
}

// Reads everything that a consumer could read; under asan this finds any view outside of its frame.
uint64_t Touch(const FrameView& view) {
  uint64_t sum = 0;
  for (size_t row = 0; row < view.rows(); ++row) {
    for (size_t i = 0; i < view.columns(); ++i) {
      const TensorView t = view.at(i, row);
      if (t.dtype == DType::kBytes) {
        for (int64_t k = 0; k < t.shape.items(); ++k) {
          for (char c : t.string(static_cast<size_t>(k))) sum += static_cast<uint8_t>(c);
        }
      } else {
        for (size_t k = 0; k < t.bytes; ++k) sum += static_cast<uint8_t>(t.data[k]);
      }
    }
  }
  std::vector<SourceRun> runs;
  view.AppendRuns(0, view.rows(), runs);
  return sum + runs.size();
}

TEST(FrameTest, AnyBlockComesBackAsItWas) {
  std::mt19937_64 rng(20240601);
  for (int round = 0; round < 400; ++round) {
    const bool batched = round % 2 == 0;
    const size_t rows = batched ? 1 : 1 + rng() % 40;
    const Block block = RandomBlock(rng, rows, batched);
    const size_t begin = rng() % rows;
    const size_t end = begin + 1 + rng() % (rows - begin);
    const FrameMeta meta{7, rng(), 3, rng(), batched};
    auto frame = WriteFrame(block, begin, end, meta);
    ASSERT_TRUE(frame.ok()) << frame.status();
    const bool pieces = frame->whole_columns && rng() % 2 == 0;
    ASSERT_TRUE(frame->whole_columns || !batched);
    auto view = FrameView::Parse(pieces ? ReceivedInPieces(*frame) : Received(*frame));
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ((*view)->task(), 7u);
    EXPECT_EQ((*view)->sequence(), meta.sequence);
    EXPECT_EQ((*view)->epoch(), 3u);
    EXPECT_EQ((*view)->lease_floor(), meta.lease_floor);
    EXPECT_EQ((*view)->batched(), batched);
    ASSERT_EQ((*view)->rows(), end - begin);
    for (size_t row = begin; row < end; ++row) {
      ExpectSameRow(block, row, **view, row - begin);
      std::vector<SourceRun> expected, got;
      for (const SourceRun& run : block.provenance(row)) AppendRun(expected, run);
      (*view)->AppendRuns(row - begin, row - begin + 1, got);
      ASSERT_EQ(got, expected);
    }
  }
}

TEST(FrameTest, RunsOfManyRowsAreMerged) {
  auto schema = std::make_shared<Schema>(std::vector<Field>{{"x", DType::kInt64, Shape()}});
  Block block(schema);
  for (int64_t i = 0; i < 1000; ++i) {
    const Cell cell = MakeScalarCell<int64_t>(block.arena(), i);
    block.AppendRow({SourceRun{static_cast<uint64_t>(i / 600), static_cast<uint64_t>(i % 600), 1}},
                    {&cell, 1});
  }
  auto frame = *WriteFrame(block, {.task = 1});
  EXPECT_LT(frame.header.size(), 200u);
  auto view = *FrameView::Parse(Received(frame));
  std::vector<SourceRun> runs;
  view->AppendRuns(100, 900, runs);
  EXPECT_EQ(runs, (std::vector<SourceRun>{{0, 100, 500}, {1, 0, 300}}));
}

TEST(FrameTest, ABatchIsSentFromWhereItLies) {
  auto schema = std::make_shared<Schema>(std::vector<Field>{
      {"image", DType::kUInt8, Shape{2, 1000}}, {"text", DType::kBytes, Shape{2}}});
  Block block(schema);
  std::vector<uint8_t> pixels(2000, 9);
  const std::vector<std::string_view> texts = {"one", "three"};
  const std::vector<Cell> cells = {MakeCell<uint8_t>(block.arena(), pixels, Shape{2, 1000}),
                                   MakeBytesCell(block.arena(), texts, Shape{2})};
  block.AppendRow({SourceRun{0, 0, 2}}, cells);
  auto frame = *WriteFrame(block, {.batched = true});
  ASSERT_FALSE(frame.payload.empty());
  EXPECT_EQ(frame.payload[0].data, cells[0].data);
  EXPECT_EQ(frame.payload[0].size, 2000u);
  EXPECT_EQ(frame.payload.back().data,
            cells[1].data + 24);  // the strings; their offsets are written anew
}

TEST(FrameTest, AFrameKeepsItsBlockAlive) {
  std::mt19937_64 rng(5);
  Frame frame;
  std::vector<std::byte> before;
  {
    Block block = RandomBlock(rng, 1, true);
    frame = *WriteFrame(block, {.batched = true});
    before.resize(frame.bytes);
    CopyFrame(frame, before.data());
  }
  std::vector<std::byte> after(frame.bytes);
  CopyFrame(frame, after.data());
  EXPECT_EQ(before, after);
}

TEST(FrameTest, AFrameOverTheLimitNamesItsLargestFieldAndTheKey) {
  auto schema = std::make_shared<Schema>(
      std::vector<Field>{{"label", DType::kUInt8, Shape()}, {"image", DType::kUInt8, Shape{5000}}});
  Block block(schema);
  const std::vector<uint8_t> image(5000);
  const std::vector<Cell> cells = {MakeScalarCell<uint8_t>(block.arena(), 1),
                                   MakeCell<uint8_t>(block.arena(), image, Shape{5000})};
  block.AppendRow({SourceRun{0, 0, 1}}, cells);
  const auto frame = WriteFrame(block, {}, 4096);
  EXPECT_EQ(frame.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(frame.status().message()), HasSubstr("'image' alone 5000"));
  EXPECT_THAT(std::string(frame.status().message()), HasSubstr("transport.max_frame_bytes = 4096"));
}

TEST(FrameTest, FrameEndCutsAtTheTargetButNeverBelowOneRow) {
  auto schema = std::make_shared<Schema>(std::vector<Field>{{"x", DType::kUInt8, Shape{100}}});
  Block block(schema);
  const std::vector<uint8_t> x(100);
  for (uint64_t i = 0; i < 10; ++i) {
    const Cell cell = MakeCell<uint8_t>(block.arena(), x, Shape{100});
    block.AppendRow({SourceRun{0, i, 1}}, {&cell, 1});
  }
  EXPECT_EQ(FrameEnd(block, 0, 350), 3u);
  EXPECT_EQ(FrameEnd(block, 8, 350), 10u);
  EXPECT_EQ(FrameEnd(block, 4, 1), 5u);
}

v1::FrameHeader OneColumn(DType dtype, std::vector<int64_t> dims, uint64_t length,
                          uint64_t payload) {
  v1::FrameHeader header;
  header.set_rows(1);
  header.set_payload_bytes(payload);
  auto* column = header.add_columns();
  column->set_name("x");
  column->set_dtype(static_cast<v1::DType>(dtype));
  for (int64_t dim : dims) column->add_dims(dim);
  column->set_length(length);
  header.add_runs()->set_count(1);
  return header;
}

std::string Refusal(const v1::FrameHeader& header, std::string_view payload) {
  auto view = FrameView::Parse(Made(header, payload));
  return view.ok() ? "accepted" : std::string(view.status().message());
}

TEST(FrameTest, ShapesThatOverflowAreRefused) {
  const std::string payload(64, 'x');
  EXPECT_THAT(Refusal(OneColumn(DType::kUInt8, {1LL << 40, 1LL << 40}, 64, 64), payload),
              HasSubstr("overflows"));
  EXPECT_THAT(Refusal(OneColumn(DType::kUInt8, {1LL << 40, 1LL << 40, 0}, 0, 64), payload),
              HasSubstr("overflows"));
  EXPECT_THAT(Refusal(OneColumn(DType::kFloat64, {1LL << 62}, 0, 64), payload),
              HasSubstr("overflows"));
  EXPECT_THAT(Refusal(OneColumn(DType::kUInt8, {-1}, 0, 64), payload), HasSubstr("dim 0 is -1"));
  EXPECT_THAT(Refusal(OneColumn(DType::kUInt8, {1, 1, 1, 1, 1, 1, 64}, 64, 64), payload),
              HasSubstr("rank 7"));
  EXPECT_EQ(Refusal(OneColumn(DType::kUInt8, {64}, 64, 64), payload), "accepted");
}

TEST(FrameTest, ColumnsOutsideOfThePayloadAreRefused) {
  const std::string payload(64, 'x');
  EXPECT_THAT(Refusal(OneColumn(DType::kUInt8, {65}, 65, 64), payload), HasSubstr("outside"));
  EXPECT_THAT(Refusal(OneColumn(DType::kUInt8, {64}, 63, 64), payload),
              HasSubstr("63 bytes where"));
  auto header = OneColumn(DType::kUInt8, {64}, 64, 64);
  header.mutable_columns(0)->set_offset(~uint64_t{0} - 63);
  EXPECT_THAT(Refusal(header, payload), HasSubstr("outside"));
  header.mutable_columns(0)->set_offset(1);
  header.mutable_columns(0)->set_length(32);
  header.mutable_columns(0)->set_dims(0, 32);
  EXPECT_THAT(Refusal(header, payload), HasSubstr("not aligned"));
  EXPECT_THAT(Refusal(OneColumn(DType::kUInt8, {64}, 64, 65), payload), HasSubstr("promises 65"));
}

TEST(FrameTest, OffsetsThatGoBackAreRefused) {
  std::string payload(128, '\0');
  auto set = [&payload](size_t i, int64_t v) { std::memcpy(payload.data() + i * 8, &v, 8); };
  set(1, 4);
  set(2, 3);
  auto header = OneColumn(DType::kBytes, {2}, 24, 128);
  header.mutable_columns(0)->set_data_offset(64);
  header.mutable_columns(0)->set_data_length(3);
  EXPECT_THAT(Refusal(header, payload), HasSubstr("go back"));
  set(1, 2);
  EXPECT_EQ(Refusal(header, payload), "accepted");
  set(2, 64);
  EXPECT_THAT(Refusal(header, payload), HasSubstr("last offset is 64"));
  set(0, -5);
  EXPECT_THAT(Refusal(header, payload), HasSubstr("first offset"));
}

TEST(FrameTest, RunsThatDoNotCoverTheRowsAreRefused) {
  auto header = OneColumn(DType::kUInt8, {}, 1, 64);
  const std::string payload(64, 'x');
  EXPECT_EQ(Refusal(header, payload), "accepted");
  header.mutable_runs(0)->set_count(2);
  EXPECT_THAT(Refusal(header, payload), HasSubstr("2 records, it has 1 rows"));
  header.add_row_runs(2);
  EXPECT_THAT(Refusal(header, payload), HasSubstr("own 2 runs, 1 are there"));
  header.mutable_runs(0)->set_first(~uint64_t{0});
  EXPECT_THAT(Refusal(header, payload), HasSubstr("not possible"));
}

TEST(FrameTest, PiecesThatCutAColumnAreRefused) {
  std::mt19937_64 rng(5);
  size_t refused = 0;
  for (int round = 0; round < 500; ++round) {
    const Block block = RandomBlock(rng, 1, true);
    const FrameBuffer whole = Received(*WriteFrame(block, {.task = 1, .batched = true}));
    // Any cut, at any place, into memory of its own: the view is whole, or there is none.
    const size_t cut = 1 + rng() % (whole.size - 1);
    const size_t shift = cut % kFrameAlignment;
    auto head = *AllocateFrameBytes(cut);
    auto tail = *AllocateFrameBytes(shift + whole.size - cut);
    std::memcpy(head.get(), whole.data.get(), cut);
    std::memcpy(tail.get() + shift, whole.data.get() + cut, whole.size - cut);
    auto view = FrameView::Parse(
        {head, whole.size, {{head.get(), cut}, {tail.get() + shift, whole.size - cut}}});
    if (view.ok()) {
      ExpectSameRow(block, 0, **view, 0);
    } else {
      ++refused;
      EXPECT_EQ(view.status().code(), absl::StatusCode::kDataLoss) << view.status();
    }
  }
  EXPECT_GT(refused, 50u);
  EXPECT_LT(refused, 450u);
}

TEST(FrameTest, DamagedBytesNeverReadOutsideOfTheFrame) {
  google::protobuf::LogSilencer silencer;  // it prints a line per invalid name
  std::mt19937_64 rng(77);
  size_t accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    const Block block = RandomBlock(rng, 1 + rng() % 4, round % 2 == 0);
    FrameBuffer whole = Received(*WriteFrame(block, {.task = 1, .batched = round % 2 == 0}));
    const size_t size = rng() % 4 == 0 ? rng() % (whole.size + 1) : whole.size;
    auto bytes = *AllocateFrameBytes(size);
    if (size != 0) std::memcpy(bytes.get(), whole.data.get(), size);
    const size_t flips = rng() % 4;
    for (size_t i = 0; i < flips && size != 0; ++i) {
      bytes.get()[rng() % std::min<size_t>(size, 256)] = static_cast<std::byte>(rng());
    }
    auto view = FrameView::Parse({bytes, size}, {.max_rows = 100000});
    if (view.ok()) {
      ++accepted;
      Touch(**view);
    }
  }
  EXPECT_GT(accepted, 100u);  // the damage is not so great that nothing is tested
}

}  // namespace
}  // namespace headrace
