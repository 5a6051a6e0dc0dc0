// Byte buffers and the one binary encoding of Partita: little-endian integers, length-prefixed
// strings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita {

using Bytes = std::vector<uint8_t>;
using ByteView = std::span<const uint8_t>;

inline ByteView AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string ToHex(ByteView bytes);
// Throws kBadInput unless `hex` has an even number of hexadecimal digits.
Bytes FromHex(std::string_view hex);

// Appends to a buffer.
class ByteWriter {
 public:
  void U8(uint8_t v) { bytes_.push_back(v); }
  void U16(uint16_t v) { Integer(v, 2); }
  void U32(uint32_t v) { Integer(v, 4); }
  void U64(uint64_t v) { Integer(v, 8); }
  void F64(double v);
  void Raw(ByteView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  // 64-bit length, then the bytes.
  void Blob(ByteView bytes);
  void String(std::string_view text) { Blob(AsBytes(text)); }

  const Bytes& bytes() const { return bytes_; }
  Bytes Take() { return std::move(bytes_); }

 private:
  void Integer(uint64_t v, int size);
  Bytes bytes_;
};

// Reads what ByteWriter wrote. Every read checks the bounds and throws kPeerFault when the buffer
// is too short; a length prefix is checked against `max_bytes` and against what is left before
// anything is allocated.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : rest_(bytes) {}

  uint8_t U8() { return static_cast<uint8_t>(Integer(1)); }
  uint16_t U16() { return static_cast<uint16_t>(Integer(2)); }
  uint32_t U32() { return static_cast<uint32_t>(Integer(4)); }
  uint64_t U64() { return Integer(8); }
  double F64();
  ByteView Raw(size_t size);
  Bytes Blob(uint64_t max_bytes);
  std::string String(uint64_t max_bytes);

  size_t remaining() const { return rest_.size(); }
  // Throws kPeerFault if anything is left.
  void ExpectEnd() const;

 private:
  uint64_t Integer(size_t size);
  ByteView rest_;
};

}  // namespace partita
