// The steps of two_party_join.h over any group, so that tests can enumerate what each party sees.
//
// A Group is what two_party_group.h says.
#pragma once

#include <algorithm>
#include <numeric>

#include "match/element_tags.h"
#include "match/two_party_group.h"
#include "match/two_party_join.h"

namespace partita::match {

crypto::Digest JoinSalt(const TwoPartyJoinTask& task, const std::vector<std::string>& names,
                        net::PartyIndex self, const crypto::Digest& own_nonce,
                        const crypto::Digest& peer_nonce);

template <typename Group>
class JoinSteps {
 public:
  // keys: this party's. The order in which its elements are sent is drawn here.
  JoinSteps(const TwoPartyJoinTask& task, std::string peer, std::span<const crypto::Digest> keys,
            crypto::RandomSource& random)
      : task_(task),
        peer_(std::move(peer)),
        keys_(keys),
        random_(random),
        scalar_(Group::RandomScalar(random)),
        sent_order_(DrawOrder(task.own_bound, random)),
        raised_order_(DrawOrder(task.peer_bound, random)) {
    own_list_.Reserve(task.own_bound);
    peer_list_.Reserve(task.peer_bound);
    raised_.resize(task.peer_bound);
    returned_.reserve(task.own_bound);
  }

  // Round 2: the next element of the own list.
  Encoded<Group> NextOwn(const crypto::Digest& salt) {
    const size_t key = sent_order_[own_list_.size()];
    const auto element =
        Group::Encode(Group::Times(HashOfPlace<Group>(keys_, key, salt, random_), scalar_));
    own_list_.Add(element);
    return element;
  }
  void TakePeers(const Encoded<Group>& element) {
    const auto raised = Group::RaisedEncoding(element, scalar_);
    if (!raised) JoinFault(peer_, "sent no element of the group");
    raised_[raised_order_[peer_list_.size()]] = *raised;
    peer_list_.Add(element);
  }
  void CheckLists() {
    if (peer_list_.Repeats()) JoinFault(peer_, "listed an element twice");
    if (peer_list_.Meets(own_list_)) JoinFault(peer_, "sent an element back");
  }

  // Round 3 and 4.
  const EncodedList<Group>& raised() const { return raised_; }
  const EncodedList<Group>& returned() const { return returned_; }
  void TakeReturned(const Encoded<Group>& element) {
    if (!Group::Decode(element)) JoinFault(peer_, "sent no element of the group");
    returned_.push_back(element);
  }
  void CheckReturned() {
    ElementTags returned;
    returned.Reserve(returned_.size());
    returned.Add(returned_);
    if (returned.Repeats()) JoinFault(peer_, "returned an element twice");
    if (returned.Meets(own_list_) || returned.Meets(peer_list_))
      JoinFault(peer_, "returned an element of the lists");
    own_list_.Forget();
    peer_list_.Forget();
  }

  // Round 5: positions of the returned list whose elements are in the raised one, by these bytes. The
  // raised list is in their order afterwards: it was sent.
  std::vector<uint32_t> Common() {
    std::vector<uint32_t> positions(returned_.size());
    std::iota(positions.begin(), positions.end(), 0);
    std::sort(positions.begin(), positions.end(),
              [&](uint32_t a, uint32_t b) { return returned_[a] < returned_[b]; });
    std::sort(raised_.begin(), raised_.end());
    std::erase_if(positions, [&](uint32_t position) {
      return !std::binary_search(raised_.begin(), raised_.end(), returned_[position]);
    });
    return positions;
  }

  // Round 6. Where the i-th element that the peer sent went.
  const std::vector<uint32_t>& raised_order() const { return raised_order_; }
  // places: where the peer put the own elements, in the order in which they were sent.
  std::vector<uint32_t> Link(const std::vector<uint32_t>& common,
                             const std::vector<uint32_t>& places) const {
    std::vector<uint32_t> key_at(places.size(), UINT32_MAX);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] >= places.size() || key_at[places[i]] != UINT32_MAX)
        JoinFault(peer_, "sent no permutation");
      key_at[places[i]] = sent_order_[i];
    }
    std::vector<uint32_t> rows;
    for (const uint32_t position : common) {
      // A random element can match only if the peer made it do so.
      if (key_at[position] >= keys_.size()) JoinFault(peer_, "matched what is no key");
      rows.push_back(key_at[position]);
    }
    return rows;
  }

 private:
  const TwoPartyJoinTask& task_;
  std::string peer_;
  std::span<const crypto::Digest> keys_;
  crypto::RandomSource& random_;
  typename Group::Scalar scalar_;
  // By place in the own list: a key, or from keys_.size() on none.
  std::vector<uint32_t> sent_order_;
  std::vector<uint32_t> raised_order_;  // by place in the peer's list: the place in raised_
  ElementTags own_list_, peer_list_;
  EncodedList<Group> raised_, returned_;
};

}  // namespace partita::match
