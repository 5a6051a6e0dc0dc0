// The steps of two_party_spine.h over any group, so that tests can enumerate what each party sees.
//
// A Group is one of two_party_join_steps.h that also has
//   Scalar Ratio(const Scalar& a, const Scalar& b)   a / b
#pragma once

#include <algorithm>
#include <numeric>
#include <string>

#include "match/level.h"
#include "match/two_party_join_steps.h"
#include "match/two_party_spine.h"

namespace partita::match {

template <typename Group>
class SpineSteps {
 public:
  // keys: this party's. The order in which its elements are sent is drawn here.
  SpineSteps(const TwoPartySpineTask& task, std::string peer, std::span<const crypto::Digest> keys,
             crypto::RandomSource& random)
      : task_(task),
        peer_(std::move(peer)),
        keys_(keys),
        random_(random),
        compare_(Group::RandomScalar(random)),
        name_(Group::RandomScalar(random)),
        blind_(Group::RandomScalar(random)),
        unblind_(Group::Ratio(name_, blind_)),
        convert_(Group::Ratio(name_, compare_)),
        sent_order_(mpc::RandomPermutation(task.own_bound, random)),
        raised_order_(mpc::RandomPermutation(task.peer_bound, random)) {
    points_.resize(task.own_bound);
    raised_.resize(task.peer_bound);
  }

  // Round 2: the next element of the list to compare.
  Encoded<Group> NextListed(const crypto::Digest& salt) {
    const size_t key = sent_order_[own_listed_.size()];
    // Padding takes the same work as keys do: the list is sent while it is made.
    crypto::Digest hashed{};
    random_.Fill(hashed);
    if (key < keys_.size()) hashed = keys_[key];
    ByteWriter message;
    message.Raw(salt);
    message.Raw(hashed);
    const auto point = Group::Hash(message.bytes());
    points_[key] = Group::Encode(point);
    own_listed_.push_back(Group::Encode(Group::Times(point, compare_)));
    return own_listed_.back();
  }
  // And of the list to name, after those: in the order of keys, padding last.
  Encoded<Group> NextNamed() {
    const auto point = Group::Decode(points_[own_named_.size()]);
    own_named_.push_back(Group::Encode(Group::Times(*point, blind_)));
    return own_named_.back();
  }
  void TakeListed(const Encoded<Group>& element) {
    raised_[raised_order_[peer_listed_.size()]] =
        Group::Encode(Group::Times(Decoded(element), compare_));
    peer_listed_.push_back(element);
  }
  void TakeNamed(const Encoded<Group>& element) {
    named_.push_back(Group::Encode(Group::Times(Decoded(element), name_)));
    peer_named_.push_back(element);
  }
  // Elements of the four lists all differ, but by the peer's doing.
  void CheckLists() const { RequireNew({}, "listed an element twice, or sent one back"); }

  // Rounds 3 and 4: what goes back to the peer.
  const EncodedList<Group>& raised() const { return raised_; }
  const EncodedList<Group>& named() const { return named_; }
  // What came back.
  const EncodedList<Group>& returned() const { return returned_; }
  void TakeReturned(const Encoded<Group>& element) {
    Decoded(element);
    returned_.push_back(element);
  }
  void TakeOwnName(const Encoded<Group>& element) {
    own_names_.push_back(Group::Encode(Group::Times(Decoded(element), unblind_)));
    returned_named_.push_back(element);
  }
  void CheckReturned() const {
    EncodedList<Group> all = returned_;
    all.insert(all.end(), returned_named_.begin(), returned_named_.end());
    all.insert(all.end(), named_.begin(), named_.end());
    RequireNew(all, "returned an element twice, or one of the lists");
    if (Meets<Group>(returned_named_, raised_))
      JoinFault(peer_, "returned an element of the lists");
  }

  // After round 4: D, in the order of its bytes. Returns the number of matches.
  uint64_t Unite() {
    union_ = raised_;
    union_.insert(union_.end(), returned_.begin(), returned_.end());
    std::sort(union_.begin(), union_.end());
    const size_t all = union_.size();
    union_.erase(std::unique(union_.begin(), union_.end()), union_.end());
    converted_order_ = mpc::RandomPermutation(union_.size(), random_);
    return all - union_.size();
  }
  size_t positions() const { return union_.size(); }

  // Rounds 5 and 6. The first party's next element, on the way to the second.
  Encoded<Group> NextConverted() {
    const auto point = Group::Decode(union_[converted_order_[converted_++]]);
    return Group::Encode(Group::Times(*point, convert_));
  }
  // The second's: takes it to a name at a place of its own choice.
  void TakeConverted(const Encoded<Group>& element) {
    names_.resize(union_.size());
    names_[converted_order_[converted_++]] =
        Group::Encode(Group::Times(Decoded(element), convert_));
  }
  const EncodedList<Group>& names() const { return names_; }
  void TakeName(const Encoded<Group>& element) {
    Decoded(element);
    names_.push_back(element);
  }

  // By position, an own key or kNoRow.
  std::vector<uint32_t> Keys() {
    std::sort(names_.begin(), names_.end());
    if (std::adjacent_find(names_.begin(), names_.end()) != names_.end())
      JoinFault(peer_, "named two people alike");
    std::vector<uint32_t> keys(names_.size(), kNoRow);
    for (size_t i = 0; i < own_names_.size(); ++i) {
      const auto found = std::lower_bound(names_.begin(), names_.end(), own_names_[i]);
      if (found == names_.end() || *found != own_names_[i])
        JoinFault(peer_, "left out a name of this party's list");
      if (i < keys_.size())
        keys[static_cast<size_t>(found - names_.begin())] = static_cast<uint32_t>(i);
    }
    return keys;
  }

 private:
  typename Group::Element Decoded(const Encoded<Group>& element) const {
    const auto point = Group::Decode(element);
    if (!point) JoinFault(peer_, "sent no element of the group");
    return *point;
  }
  // These and all elements of round 2.
  void RequireNew(EncodedList<Group> elements, const std::string& fault) const {
    for (const auto* list : {&own_listed_, &own_named_, &peer_listed_, &peer_named_})
      elements.insert(elements.end(), list->begin(), list->end());
    if (HasRepetition<Group>(std::move(elements))) JoinFault(peer_, fault);
  }

  const TwoPartySpineTask& task_;
  std::string peer_;
  std::span<const crypto::Digest> keys_;
  crypto::RandomSource& random_;
  typename Group::Scalar compare_, name_, blind_, unblind_, convert_;
  std::vector<size_t>
      sent_order_;  // by place in the list to compare: a key, or from keys_.size() none
  std::vector<size_t> raised_order_;  // by place in the peer's: the place in raised_
  std::vector<size_t> converted_order_;
  size_t converted_ = 0;
  EncodedList<Group> points_;  // by key
  EncodedList<Group> own_listed_, own_named_, peer_listed_, peer_named_;
  EncodedList<Group> raised_, named_, returned_, returned_named_, own_names_, union_, names_;
};

}  // namespace partita::match
