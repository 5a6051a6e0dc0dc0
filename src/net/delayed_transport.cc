#include "net/delayed_transport.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/clock.h"

namespace partita::net {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kStampBytes = 12;  // u64 due time in nanoseconds, u32 length
constexpr size_t kPacketBytes = size_t{1} << 14;
constexpr size_t kFullLinkBytes = size_t{1} << 17;

int64_t Now() {
  return std::chrono::duration_cast<nanoseconds>(SteadyClock::now().time_since_epoch()).count();
}

class DelayedTransport : public Transport {
 public:
  DelayedTransport(std::unique_ptr<Transport> inner, LinkModel link)
      : inner_(std::move(inner)), link_(link), links_(inner_->names().size()) {}

  PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  bool HungUp(PartyIndex peer) const override { return inner_->HungUp(peer); }
  WireBytes CarriedBytes(PartyIndex peer) const override { return inner_->CarriedBytes(peer); }
  const crypto::Key& PairwiseSecret(PartyIndex peer) const override {
    return inner_->PairwiseSecret(peer);
  }

  Io Write(PartyIndex to, ByteView bytes) override;
  bool Flush(PartyIndex to) override;
  Io Read(PartyIndex from, std::span<uint8_t> out) override;
  void Wait(std::span<const Interest> interests, nanoseconds timeout) override;

 private:
  struct Link {
    // Outgoing: stamped packets that the inner transport did not take yet.
    Bytes queue;
    size_t queue_begin = 0;
    int64_t free_at = 0;  // when the modelled line has sent everything so far
    bool closed = false;
    // Incoming: the stamp of the current packet and what is left of it.
    std::array<uint8_t, kStampBytes> stamp{};
    size_t stamp_read = 0;
    int64_t due = 0;
    size_t left = 0;
    bool early = false;  // the last Read came before the due time
  };

  int64_t DueTime(Link& link, size_t size) const {
    double line_time = 0;
    if (link_.bytes_per_second > 0) {
      line_time = 1e9 * static_cast<double>(size) / link_.bytes_per_second;
    }
    link.free_at = std::max(link.free_at, Now()) + static_cast<int64_t>(line_time);
    return link.free_at + link_.latency.count();
  }

  std::unique_ptr<Transport> inner_;
  LinkModel link_;
  std::vector<Link> links_;
  std::vector<Interest> interests_;
};

Io DelayedTransport::Write(PartyIndex to, ByteView bytes) {
  Link& link = links_[to];
  size_t done = 0;
  while (done < bytes.size() && !link.closed) {
    if (link.queue.size() - link.queue_begin >= kFullLinkBytes && !Flush(to)) break;
    const size_t size = std::min(kPacketBytes, bytes.size() - done);
    ByteWriter stamp;
    stamp.U64(static_cast<uint64_t>(DueTime(link, size)));
    stamp.U32(static_cast<uint32_t>(size));
    link.queue.insert(link.queue.end(), stamp.bytes().begin(), stamp.bytes().end());
    ByteView packet = bytes.subspan(done, size);
    link.queue.insert(link.queue.end(), packet.begin(), packet.end());
    done += size;
  }
  return {done, link.closed};
}

bool DelayedTransport::Flush(PartyIndex to) {
  Link& link = links_[to];
  while (link.queue_begin < link.queue.size()) {
    const Io io = inner_->Write(to, ByteView(link.queue).subspan(link.queue_begin));
    link.closed = io.closed;
    link.queue_begin += io.bytes;
    if (io.closed) link.queue_begin = link.queue.size();
    if (io.bytes == 0 && !io.closed) return false;
  }
  link.queue.clear();
  link.queue_begin = 0;
  return inner_->Flush(to);
}

Io DelayedTransport::Read(PartyIndex from, std::span<uint8_t> out) {
  Link& link = links_[from];
  while (link.left == 0) {
    const Io io = inner_->Read(from, std::span(link.stamp).subspan(link.stamp_read));
    if (io.bytes == 0) return {0, io.closed};
    link.stamp_read += io.bytes;
    if (link.stamp_read < kStampBytes) continue;
    ByteReader reader(link.stamp);
    link.due = static_cast<int64_t>(reader.U64());
    link.left = reader.U32();
    link.stamp_read = 0;
  }
  link.early = Now() < link.due;
  if (link.early) return {0, false};
  const Io io = inner_->Read(from, out.first(std::min(out.size(), link.left)));
  link.left -= io.bytes;
  return io;
}

void DelayedTransport::Wait(std::span<const Interest> interests, nanoseconds timeout) {
  interests_.assign(interests.begin(), interests.end());
  const int64_t now = Now();
  for (Interest& interest : interests_) {
    const Link& link = links_[interest.peer];
    if (interest.read && link.early) {
      timeout = std::clamp(nanoseconds(link.due - now), nanoseconds(0), timeout);
      interest.read = false;  // nothing of it may be read before that
    }
  }
  inner_->Wait(interests_, timeout);
}

}  // namespace

std::unique_ptr<Transport> DelayTransport(std::unique_ptr<Transport> inner, LinkModel link) {
  return std::make_unique<DelayedTransport>(std::move(inner), link);
}

}  // namespace partita::net
