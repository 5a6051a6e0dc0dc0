#include "run/party/stripe_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "net/memory_transport.h"
#include "run/party/join.h"

namespace partita::run {
namespace {

constexpr int kTimeoutsOfStripe = 20;  // as long as a party may wait in an exchange (net/channel.h)

std::chrono::milliseconds TimeOfStripe(const Study& study) {
  return std::chrono::milliseconds(
      static_cast<int64_t>(study.file.network.timeout_seconds * 1000 * kTimeoutsOfStripe));
}

}  // namespace

std::string StripeName(size_t stripe, const std::string& tag) {
  return fmt::format("{}{}-{}", kStripePrefix, stripe, tag);
}

std::optional<size_t> StripeOfName(std::string_view name) {
  if (!name.starts_with(kStripePrefix)) return std::nullopt;
  name.remove_prefix(std::string_view(kStripePrefix).size());
  size_t stripe = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), stripe);
  if (end.ec != std::errc() || end.ptr == name.data() + name.size() || *end.ptr != '-')
    return std::nullopt;
  return stripe;
}

StripePort::StripePort(const Study& study, const RankSetup& setup,
                       std::optional<net::Listener> door)
    : identity_(setup.identity),
      roster_(setup.roster),
      self_(setup.party),
      wait_(setup.wait),
      before_(TimeOfStripe(study)),
      handshake_timeout_(net::TlsOptions{}.handshake_timeout),
      stripes_(study.file.engine.stripes),
      link_(setup.link),
      max_handshakes_(net::TlsOptions{}.max_handshakes) {
  if (door && self_ + 1 < roster_.size())
    arrivals_ = std::make_shared<net::NamedArrivals>(std::move(*door), kStripePrefix);
}

StripePort::StripePort(const Study& study, net::TlsOptions& tls, std::chrono::milliseconds wait,
                       net::LinkModel link)
    : identity_(tls.identity),
      roster_(tls.roster),
      self_(tls.self),
      wait_(wait),
      before_(TimeOfStripe(study)),
      handshake_timeout_(tls.handshake_timeout),
      stripes_(study.file.engine.stripes),
      look_up_(tls.look_up),
      link_(link),
      max_handshakes_(tls.max_handshakes) {
  if (tls.self + 1 < tls.roster.size()) {
    if (!tls.listener) {
      const net::Address address = net::ParseAddress(
          tls.listen_address.empty() ? tls.roster[tls.self].address : tls.listen_address);
      tls.listener = net::Listen(address.host, address.port);
    }
    arrivals_ = std::make_shared<net::NamedArrivals>(std::move(*tls.listener), kStripePrefix);
    tls.arrivals = arrivals_->For("");
  }
  tls.listener.reset();
}

StripePort::StripePort(const Study& study, net::TlsOptions& tls, std::chrono::milliseconds wait,
                       StripeNames names)
    : identity_(tls.identity),
      roster_(tls.roster),
      self_(tls.self),
      wait_(wait),
      before_(TimeOfStripe(study)),
      handshake_timeout_(tls.handshake_timeout),
      stripes_(study.file.engine.stripes),
      look_up_(tls.look_up),
      max_handshakes_(tls.max_handshakes),
      names_(std::move(names)) {
  if (self_ + 1 == roster_.size()) return;
  arrivals_ = std::make_shared<net::NamedArrivals>(std::move(tls.arrivals), "");
  tls.arrivals = arrivals_->For(tls.server_names.at(self_));
}

StripeConnector StripePort::Connector() {
  return [this](size_t stripe, const std::string& tag, Progress& progress) {
    const auto name_at = [&](size_t party) {
      return names_ == nullptr ? StripeName(stripe, tag) : names_(party, stripe);
    };
    net::TlsOptions tls;
    tls.identity = identity_;
    tls.roster = roster_;
    tls.self = self_;
    for (size_t party = 0; party < tls.roster.size(); ++party)
      tls.server_names.push_back(name_at(party));
    tls.max_handshakes = max_handshakes_;
    // A dealer has nothing to wait for in a stripe: it closes it before slower parties have come to it.
    tls.may_leave = true;
    tls.look_up = look_up_;
    tls.handshake_timeout = handshake_timeout_;
    // A peer that is busy with another stripe lets our call wait, and nobody is helped by another one.
    tls.answer_timeout = before_;
    if (arrivals_ != nullptr) tls.arrivals = arrivals_->For(name_at(self_));
    const auto most = wait_ + before_ * static_cast<int64_t>(stripe);
    auto transport = net::ConnectTls(std::move(tls), Deadline::After(most), &progress);
    if (stripe + 1 == stripes_) arrivals_ = nullptr;
    return DelayIfAsked(std::move(transport), link_);
  };
}

StripeConnector StripesInMemory::Connector(size_t party, net::LinkModel link) {
  return [this, party, link](size_t stripe, const std::string& /*tag*/, Progress& /*progress*/) {
    const std::lock_guard lock(mutex_);
    if (stripes_.size() <= stripe) stripes_.resize(stripe + 1);
    if (stripes_[stripe].empty()) stripes_[stripe] = net::MakeMemoryTransports(names_, random_);
    return DelayIfAsked(std::move(stripes_[stripe][party]), link);
  };
}

}  // namespace partita::run
