#include "base/bytes.h"

#include <bit>

namespace partita {

std::string ToHex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (uint8_t b : bytes) {
    hex.push_back(kDigits[b >> 4]);
    hex.push_back(kDigits[b & 15]);
  }
  return hex;
}

static int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw Error(ErrorCode::kBadInput, "not a hexadecimal digit in a hexadecimal string");
}

Bytes FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) {
    throw Error(ErrorCode::kBadInput, "a hexadecimal string has an odd number of digits");
  }
  Bytes bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(HexDigit(hex[2 * i]) << 4 | HexDigit(hex[2 * i + 1]));
  }
  return bytes;
}

void ByteWriter::Integer(uint64_t v, int size) {
  std::array<uint8_t, 8> raw{};
  for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<uint8_t>(v >> (8 * i));
  bytes_.insert(bytes_.end(), raw.begin(), raw.begin() + size);
}

void ByteWriter::F64(double v) { U64(std::bit_cast<uint64_t>(v)); }

void ByteWriter::Blob(ByteView bytes) {
  U64(bytes.size());
  Raw(bytes);
}

ByteView ByteReader::Raw(size_t size) {
  if (size > rest_.size())
    throw Error(ErrorCode::kPeerFault, "a message is shorter than its contents need");
  ByteView head = rest_.first(size);
  rest_ = rest_.subspan(size);
  return head;
}

uint64_t ByteReader::Integer(size_t size) {
  ByteView raw = Raw(size);
  uint64_t v = 0;
  for (size_t i = 0; i < size; ++i) v |= static_cast<uint64_t>(raw[i]) << (8 * i);
  return v;
}

double ByteReader::F64() { return std::bit_cast<double>(U64()); }

Bytes ByteReader::Blob(uint64_t max_bytes) {
  uint64_t size = U64();
  if (size > max_bytes)
    throw Error(ErrorCode::kPeerFault, "a field of a message is longer than allowed");
  ByteView raw = Raw(size);
  return Bytes(raw.begin(), raw.end());
}

std::string ByteReader::String(uint64_t max_bytes) {
  Bytes raw = Blob(max_bytes);
  return std::string(raw.begin(), raw.end());
}

void ByteReader::ExpectEnd() const {
  if (!rest_.empty())
    throw Error(ErrorCode::kPeerFault, "a message is longer than its contents need");
}

}  // namespace partita
