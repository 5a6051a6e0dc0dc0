#include "net/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/hash.h"

namespace partita::net {
namespace {

constexpr std::array<uint8_t, 4> kMagic = {'P', 'T', 'T', 'A'};
constexpr char kSameRelease[] =
    "Install the same release of Partita at every party and start again.";

template <size_t kBytes>
std::array<uint8_t, kBytes> FirstBytes(const crypto::Digest& digest) {
  std::array<uint8_t, kBytes> tag{};
  std::copy_n(digest.begin(), kBytes, tag.begin());
  return tag;
}

template <size_t kBytes>
std::array<uint8_t, kBytes> Take(ByteReader& reader) {
  std::array<uint8_t, kBytes> out{};
  ByteView raw = reader.Raw(kBytes);
  std::copy(raw.begin(), raw.end(), out.begin());
  return out;
}

[[noreturn]] void Refuse(std::string_view peer, const std::string& what) {
  throw Error(ErrorCode::kPeerFault, fmt::format("party {} sent {}", peer, what), kSameRelease);
}

}  // namespace

RunTag MakeRunTag(ByteView run_id, uint32_t attempt) {
  crypto::Sha256 hash;
  return FirstBytes<16>(hash.Field("partita run tag").Field(run_id).U64(attempt).Finish());
}

PhaseTag MakePhaseTag(std::string_view phase, uint64_t number) {
  crypto::Sha256 hash;
  return FirstBytes<8>(hash.Field("partita phase tag").Field(phase).U64(number).Finish());
}

HeaderBytes EncodeHeader(const FrameHeader& header) {
  HeaderBytes bytes{};
  uint8_t* at = std::copy(kMagic.begin(), kMagic.end(), bytes.data());
  auto integer = [&at](uint64_t value, int size) {
    for (int i = 0; i < size; ++i) *at++ = static_cast<uint8_t>(value >> (8 * i));
  };
  integer(kWireVersion, 2);
  integer(static_cast<uint16_t>(header.type), 2);
  at = std::copy(header.run_tag.begin(), header.run_tag.end(), at);
  at = std::copy(header.phase_tag.begin(), header.phase_tag.end(), at);
  integer(header.sequence, 8);
  integer(header.depth, 8);
  integer(header.length, 8);
  integer(header.from, 2);
  integer(header.to, 2);
  return bytes;
}

FrameHeader DecodeHeader(const HeaderBytes& bytes, std::string_view peer) {
  ByteReader reader(bytes);
  if (Take<4>(reader) != kMagic) Refuse(peer, "bytes that do not begin a Partita message");
  const uint16_t version = reader.U16();
  if (version != kWireVersion) {
    Refuse(peer, fmt::format("a message of wire version {}, this program speaks version {}",
                             version, kWireVersion));
  }
  const uint16_t type = reader.U16();
  if (type < 1 || type > 5) Refuse(peer, fmt::format("a message of unknown type {}", type));
  FrameHeader header;
  header.type = static_cast<FrameType>(type);
  header.run_tag = Take<16>(reader);
  header.phase_tag = Take<8>(reader);
  header.sequence = reader.U64();
  header.depth = reader.U64();
  header.length = reader.U64();
  header.from = reader.U16();
  header.to = reader.U16();
  if (header.depth >= kMaxDepth) Refuse(peer, "a message with an impossible depth");
  if (reader.U32() != 0) Refuse(peer, "a message whose reserved bytes are not zero");
  return header;
}

void CheckHeader(const FrameHeader& header, const FrameExpectation& expected, std::string_view peer,
                 std::string_view phase) {
  const FrameHeader& want = expected.header;
  auto fault = [&](const std::string& what) {
    Refuse(peer, fmt::format("a message that phase '{}' does not allow: {}", phase, what));
  };
  if (header.from != want.from || header.to != want.to) {
    fault(fmt::format("it goes from party number {} to {}, not from {} to {}", header.from,
                      header.to, want.from, want.to));
  }
  if (header.run_tag != want.run_tag) fault("it belongs to another run or attempt");
  if (header.type != want.type) {
    fault(fmt::format("its type is {}, not {}", static_cast<int>(header.type),
                      static_cast<int>(want.type)));
  }
  if (header.phase_tag != want.phase_tag) fault("it belongs to another phase");
  if (header.sequence != want.sequence) {
    fault(fmt::format("its sequence number is {}, not {}", header.sequence, want.sequence));
  }
  if (header.length < expected.min_length || header.length > expected.max_length) {
    fault(expected.min_length == expected.max_length
              ? fmt::format("it has {} bytes, not {}", header.length, expected.max_length)
              : fmt::format("it has {} bytes, at most {} are allowed", header.length,
                            expected.max_length));
  }
}

}  // namespace partita::net
