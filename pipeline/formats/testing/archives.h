// For tests: TFRecord and tar files as strings.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pipeline/formats/reading/tar_header.h"
#include "pipeline/formats/reading/tfrecord_framing.h"

namespace headrace::testing_formats {

// One TFRecord record.
inline std::string Framed(std::string_view record) {
  std::string out(kTfrecordHeaderBytes, '\0');
  WriteTfrecordHeader(record.size(), reinterpret_cast<std::byte*>(out.data()));
  out += record;
  const uint32_t crc = MaskedCrc32c(std::as_bytes(std::span(record.data(), record.size())));
  out.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  return out;
}

// One tar member, padded.
inline std::string Member(std::string_view name, std::string_view data, char type = '0') {
  std::string out(kTarBlock, '\0');
  WriteTarHeader(name, data.size(), type,
                 std::as_writable_bytes(std::span(out.data(), out.size())));
  out += data;
  out.resize(TarPadded(out.size()));
  return out;
}
// The same under a name of any length, as GNU tar writes it.
inline std::string LongNameMember(std::string_view name, std::string_view data) {
  return Member("././@LongLink", std::string(name) + '\0', 'L') +
         Member(name.substr(0, kTarNameBytes), data);
}

}  // namespace headrace::testing_formats
