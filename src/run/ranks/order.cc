#include "run/ranks/order.h"

#include <cstring>

namespace partita::run {
namespace {

// Ranks run one program: what is longer is a mistake, not an attack.
constexpr uint64_t kMostBytes = uint64_t{1} << 46;

void WriteWords(const std::vector<UInt128>& words, ByteWriter& writer) {
  writer.Blob({reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(UInt128)});
}

std::vector<UInt128> ReadWords(ByteReader& reader) {
  const Bytes bytes = reader.Blob(kMostBytes);
  std::vector<UInt128> words(bytes.size() / sizeof(UInt128));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(UInt128));
  return words;
}

void WriteSetup(const RankSetup& setup, ByteWriter& writer) {
  writer.String(setup.study_text);
  writer.String(setup.study_name);
  writer.Blob(crypto::EncodeIdentity(setup.identity));
  writer.String(net::FormatRoster(setup.roster));
  writer.U64(setup.party);
  writer.U64(static_cast<uint64_t>(setup.wait.count()));
  writer.U64(static_cast<uint64_t>(setup.link.latency.count()));
  writer.F64(static_cast<double>(setup.link.bytes_per_second));
}

RankSetup ReadSetup(ByteReader& reader) {
  RankSetup setup;
  setup.study_text = reader.String(kMostBytes);
  setup.study_name = reader.String(kMostBytes);
  setup.identity = crypto::DecodeIdentity(reader.Blob(kMostBytes));
  setup.roster = net::ParseRoster(reader.String(kMostBytes), "the roster of rank 0");
  setup.party = reader.U64();
  setup.wait = std::chrono::milliseconds(reader.U64());
  setup.link.latency = decltype(setup.link.latency)(reader.U64());
  setup.link.bytes_per_second = static_cast<decltype(setup.link.bytes_per_second)>(reader.F64());
  return setup;
}

}  // namespace

std::vector<size_t> StripesOfRank(size_t rank, size_t ranks, size_t stripes) {
  std::vector<size_t> own;
  for (size_t stripe = rank; stripe < stripes; stripe += ranks) own.push_back(stripe);
  return own;
}

Bytes EncodeOrder(const RankOrder& order) {
  ByteWriter writer;
  writer.U8(static_cast<uint8_t>(OrderKind::kCompute));
  WriteSetup(order.setup, writer);
  writer.Blob(order.fork.run_id);
  writer.U32(order.fork.attempt);
  writer.U64(order.fork.depth);
  writer.String(order.fork.phase);
  writer.U64(static_cast<uint64_t>(order.fork.timeout.count()));
  writer.U64(order.rows.size());
  for (const Bytes& rows : order.rows) writer.Blob(rows);
  return writer.Take();
}

RankOrder DecodeOrder(ByteView bytes) {
  ByteReader reader(bytes);
  RankOrder order;
  if (static_cast<OrderKind>(reader.U8()) != OrderKind::kCompute)
    throw Error(ErrorCode::kInternal, "rank 0 sent something else than an order");
  order.setup = ReadSetup(reader);
  order.fork.run_id = reader.Blob(kMostBytes);
  order.fork.attempt = reader.U32();
  order.fork.depth = reader.U64();
  order.fork.phase = reader.String(kMostBytes);
  order.fork.timeout = std::chrono::milliseconds(reader.U64());
  const uint64_t count = reader.U64();
  for (uint64_t i = 0; i < count; ++i) order.rows.push_back(reader.Blob(kMostBytes));
  reader.ExpectEnd();
  return order;
}

Bytes EncodeReport(const RankReport& report) {
  ByteWriter writer;
  writer.U8(report.error ? 1 : 0);
  if (report.error) {
    writer.U16(static_cast<uint16_t>(report.error->code()));
    writer.String(report.error->message());
    writer.String(report.error->hint());
    return writer.Take();
  }
  writer.U64(report.traffic.depth);
  writer.U64(report.traffic.links.size());
  for (const net::LinkTraffic& link : report.traffic.links) {
    for (const uint64_t number : {link.messages_sent, link.bytes_sent, link.messages_received,
                                  link.bytes_received, link.wire_sent, link.wire_received})
      writer.U64(number);
  }
  writer.U8(static_cast<uint8_t>(report.sum.ring));
  WriteWords(report.sum.words, writer);
  return writer.Take();
}

RankReport DecodeReport(ByteView bytes) {
  ByteReader reader(bytes);
  RankReport report;
  if (reader.U8() == 1) {
    const auto code = static_cast<ErrorCode>(reader.U16());
    const std::string message = reader.String(kMostBytes);
    report.error = Error(code, message, reader.String(kMostBytes));
    reader.ExpectEnd();
    return report;
  }
  report.traffic.depth = reader.U64();
  report.traffic.links.resize(reader.U64());
  for (net::LinkTraffic& link : report.traffic.links) {
    for (uint64_t* number : {&link.messages_sent, &link.bytes_sent, &link.messages_received,
                             &link.bytes_received, &link.wire_sent, &link.wire_received})
      *number = reader.U64();
  }
  report.sum.ring = static_cast<mpc::ShareRing>(reader.U8());
  report.sum.words = ReadWords(reader);
  reader.ExpectEnd();
  return report;
}

}  // namespace partita::run
