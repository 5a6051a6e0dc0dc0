// The steps of two_party_spine.h over any group, so that tests can enumerate what each party sees.
//
// A Group is one of two_party_group.h that also has
//   Scalar Ratio(const Scalar& a, const Scalar& b)   a / b
#pragma once

#include <algorithm>
#include <numeric>
#include <string>

#include "match/element_tags.h"
#include "match/level.h"
#include "match/two_party_group.h"
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
        sent_order_(DrawOrder(task.own_bound, random)),
        raised_order_(DrawOrder(task.peer_bound, random)) {
    blinded_.resize(task.own_bound);
    raised_.resize(task.peer_bound);
    named_.reserve(task.peer_bound);
    listed_.Reserve(2 * (task.own_bound + task.peer_bound));
  }

  // Round 2: the next element of the list to compare.
  Encoded<Group> NextListed(const crypto::Digest& salt) {
    const size_t key = sent_order_[own_listed_++];
    const auto point = HashOfPlace<Group>(keys_, key, salt, random_);
    blinded_[key] = Group::Encode(Group::Times(point, blind_));
    return Listed(Group::Encode(Group::Times(point, compare_)));
  }
  // And of the list to name, after those: in the order of keys, padding last.
  Encoded<Group> NextNamed() { return Listed(blinded_[own_named_++]); }
  void TakeListed(const Encoded<Group>& element) {
    raised_[raised_order_[peer_listed_++]] = Raised(element, compare_);
    listed_.Add(element);
  }
  void TakeNamed(const Encoded<Group>& element) {
    named_.push_back(Raised(element, name_));
    listed_.Add(element);
  }
  // Elements of the four lists all differ, but by the peer's doing.
  void CheckLists() {
    GiveBack(blinded_);
    if (listed_.Repeats()) JoinFault(peer_, "listed an element twice, or sent one back");
    returned_.reserve(task_.own_bound);
    own_names_.reserve(task_.own_bound);
  }

  // Rounds 3 and 4: what goes back to the peer.
  const EncodedList<Group>& raised() const { return raised_; }
  const EncodedList<Group>& named() const { return named_; }
  // What came back.
  const EncodedList<Group>& returned() const { return returned_; }
  void TakeReturned(const Encoded<Group>& element) {
    RequireElement(element);
    returned_.push_back(element);
  }
  void TakeOwnName(const Encoded<Group>& element) {
    own_names_.push_back(Raised(element, unblind_));
    returned_named_.Add(element);
  }
  // After both were sent: of what goes back only the compared list is kept.
  void CheckReturned() {
    ElementTags raised;
    raised.Reserve(raised_.size());
    raised.Add(raised_);
    if (raised.Meets(returned_named_)) JoinFault(peer_, "returned an element of the lists");
    raised.Forget();
    ElementTags all;
    all.Reserve(returned_.size() + returned_named_.size() + named_.size());
    all.Add(named_);
    GiveBack(named_);
    all.Add(returned_named_);
    returned_named_.Forget();
    all.Add(returned_);
    if (all.Repeats() || all.Meets(listed_))
      JoinFault(peer_, "returned an element twice, or one of the lists");
    listed_.Forget();
  }

  // After round 4: D, in the order of its bytes. Returns the number of matches.
  uint64_t Unite() {
    union_ = std::move(raised_);
    union_.insert(union_.end(), returned_.begin(), returned_.end());
    GiveBack(returned_);
    std::sort(union_.begin(), union_.end());
    const size_t all = union_.size();
    union_.erase(std::unique(union_.begin(), union_.end()), union_.end());
    converted_order_ = DrawOrder(union_.size(), random_);
    names_.reserve(union_.size());
    return all - union_.size();
  }
  size_t positions() const { return converted_order_.size(); }

  // Rounds 5 and 6. The first party's next element, on the way to the second.
  Encoded<Group> NextConverted() {
    return Raised(union_[converted_order_[converted_++]], convert_);
  }
  // The second's: takes it to a name at a place of its own choice.
  void TakeConverted(const Encoded<Group>& element) {
    if (converted_ == 0) {
      GiveBack(union_);
      names_.resize(positions());
    }
    names_[converted_order_[converted_++]] = Raised(element, convert_);
  }
  const EncodedList<Group>& names() const { return names_; }
  void TakeName(const Encoded<Group>& element) {
    RequireElement(element);
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
  void RequireElement(const Encoded<Group>& element) const {
    if (!Group::Decode(element)) JoinFault(peer_, "sent no element of the group");
  }
  Encoded<Group> Raised(const Encoded<Group>& element, const typename Group::Scalar& scalar) const {
    const auto raised = Group::RaisedEncoding(element, scalar);
    if (!raised) JoinFault(peer_, "sent no element of the group");
    return *raised;
  }
  Encoded<Group> Listed(const Encoded<Group>& element) {
    listed_.Add(element);
    return element;
  }

  const TwoPartySpineTask& task_;
  std::string peer_;
  std::span<const crypto::Digest> keys_;
  crypto::RandomSource& random_;
  typename Group::Scalar compare_, name_, blind_, unblind_, convert_;
  // By place in the list to compare: a key, or from keys_.size() none.
  std::vector<uint32_t> sent_order_;
  std::vector<uint32_t> raised_order_;  // by place in the peer's: the place in raised_
  std::vector<uint32_t> converted_order_;
  size_t own_listed_ = 0, own_named_ = 0, peer_listed_ = 0, converted_ = 0;
  EncodedList<Group> blinded_;           // by key
  ElementTags listed_, returned_named_;  // listed_: the four lists of round 2
  EncodedList<Group> raised_, named_, returned_, own_names_, union_, names_;
};

}  // namespace partita::match
