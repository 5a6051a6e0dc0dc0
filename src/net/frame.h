// The 64 bytes in front of every message.
//
//   offset  0  magic "PTTA"       4 bytes
//           4  wire version       u16
//           6  type               u16
//           8  run tag            16 bytes: which run and attempt; zero before there is a run
//          24  phase tag          8 bytes
//          32  sequence           u64: number of this frame on its directed link, from 0
//          40  depth              u64: the sender's depth (channel.h), below kMaxDepth
//          48  payload length     u64
//          56  from, to           u16 each: party indices
//          60  zero               4 bytes
// All integers little-endian. On the wire every frame is also under the authenticated encryption of
// TLS; the fields catch frames of another run, attempt, phase or order, and programming errors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "net/channel.h"

namespace partita::net {

inline constexpr uint16_t kWireVersion = 2;
// Depths from here on are nonsense; the bound keeps depth arithmetic from wrapping.
inline constexpr uint64_t kMaxDepth = uint64_t{1} << 48;

// kAbort: the sender stops, for a reason of its own or because another party did (stop.h); phase
// tag, sequence number and depth zero. kKeepAlive: the sender still takes part and waits in an
// Exchange; no payload, phase tag, sequence number and depth zero. Both may stand wherever a header
// may.
enum class FrameType : uint16_t {
  kData = 1,
  kAbort = 2,
  kHello = 3,
  kHelloAck = 4,
  kKeepAlive = 5,
};

using RunTag = std::array<uint8_t, 16>;
using PhaseTag = std::array<uint8_t, 8>;
using HeaderBytes = std::array<uint8_t, kFrameHeaderBytes>;

struct FrameHeader {
  FrameType type = FrameType::kData;
  RunTag run_tag{};
  PhaseTag phase_tag{};
  uint64_t sequence = 0;
  uint64_t depth = 0;
  uint64_t length = 0;
  PartyIndex from = 0;
  PartyIndex to = 0;

  bool operator==(const FrameHeader&) const = default;
};

// First 16 bytes of SHA-256 over run id and attempt.
RunTag MakeRunTag(ByteView run_id, uint32_t attempt);
// First 8 bytes of SHA-256 over the phase's name and its number in the run.
PhaseTag MakePhaseTag(std::string_view phase, uint64_t number);

HeaderBytes EncodeHeader(const FrameHeader& header);

// Checks what needs no context: magic, version, type, depth bound, zero bytes. `peer` names the
// sender in the kPeerFault it throws.
FrameHeader DecodeHeader(const HeaderBytes& bytes, std::string_view peer);

// What the receiver of a frame expects. The length lies in [min_length, max_length]; it is checked
// before anything is allocated.
struct FrameExpectation {
  FrameHeader header;  // length and depth are not compared
  uint64_t min_length = 0;
  uint64_t max_length = 0;
};

// Compares all other fields. Throws kPeerFault naming `peer`, `phase` and the field.
void CheckHeader(const FrameHeader& header, const FrameExpectation& expected, std::string_view peer,
                 std::string_view phase);

}  // namespace partita::net
