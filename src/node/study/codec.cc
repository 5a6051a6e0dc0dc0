#include "node/study/codec.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace partita::node {
namespace {

constexpr uint16_t kStudyFormat = 3;
constexpr uint16_t kFormatBefore = 2;           // is read, too: without reminders and `first`
constexpr uint64_t kMost = uint64_t{64} << 20;  // of any field: the store is the own node's

// One list of fields for writing and reading, so that the two cannot differ.
class Writing {
 public:
  void operator()(bool& v) { writer_.U8(v ? 1 : 0); }
  void operator()(uint16_t& v) { writer_.U16(v); }
  void operator()(uint32_t& v) { writer_.U32(v); }
  void operator()(uint64_t& v) { writer_.U64(v); }
  void operator()(int64_t& v) { writer_.U64(static_cast<uint64_t>(v)); }
  void operator()(Phase& v) { writer_.U8(static_cast<uint8_t>(v)); }
  void operator()(std::string& v) { writer_.String(v); }
  void operator()(Bytes& v) { writer_.Blob(v); }
  template <size_t kSize>
  void operator()(std::array<uint8_t, kSize>& v) {
    writer_.Raw(v);
  }
  uint64_t Count(size_t count) {
    writer_.U64(count);
    return count;
  }
  static constexpr bool kReads = false;
  Bytes Take() { return writer_.Take(); }

 private:
  ByteWriter writer_;
};

class Reading {
 public:
  explicit Reading(ByteView bytes) : reader_(bytes) {}
  void operator()(bool& v) { v = reader_.U8() != 0; }
  void operator()(uint16_t& v) { v = reader_.U16(); }
  void operator()(uint32_t& v) { v = reader_.U32(); }
  void operator()(uint64_t& v) { v = reader_.U64(); }
  void operator()(int64_t& v) { v = static_cast<int64_t>(reader_.U64()); }
  void operator()(Phase& v) {
    const uint8_t phase = reader_.U8();
    if (phase < 1 || phase > static_cast<uint8_t>(Phase::kExpired))
      throw Error(ErrorCode::kBadInput, "the state of a study has a phase that does not exist");
    v = static_cast<Phase>(phase);
  }
  void operator()(std::string& v) { v = reader_.String(kMost); }
  void operator()(Bytes& v) { v = reader_.Blob(kMost); }
  template <size_t kSize>
  void operator()(std::array<uint8_t, kSize>& v) {
    const ByteView raw = reader_.Raw(kSize);
    std::copy(raw.begin(), raw.end(), v.begin());
  }
  uint64_t Count(size_t) {
    const uint64_t count = reader_.U64();
    if (count > reader_.remaining() + 1)
      throw Error(ErrorCode::kBadInput, "the state of a study is damaged");
    return count;
  }
  static constexpr bool kReads = true;
  void ExpectEnd() const { reader_.ExpectEnd(); }

 private:
  ByteReader reader_;
};

template <typename Io>
void Fields(Io& io, Facts& v);
template <typename Io>
void Fields(Io& io, RosterParty& v);
template <typename Io>
void Fields(Io& io, Ended& v);
template <typename Io>
void Fields(Io& io, Progress& v);
template <typename Io>
void Fields(Io& io, Asking& v);
template <typename Io>
void Fields(Io& io, AskedSlot& v);

template <typename Io>
void Field(Io& io, Ended& v) {
  Fields(io, v);
}
template <typename Io>
void Field(Io& io, Progress& v) {
  Fields(io, v);
}
template <typename Io>
void Field(Io& io, Asking& v) {
  Fields(io, v);
}
template <typename Io>
void Field(Io& io, AskedSlot& v) {
  Fields(io, v);
}
template <typename Io>
void Field(Io& io, RosterParty& v) {
  Fields(io, v);
}
template <typename Io, typename T>
void Field(Io& io, T& v) {
  io(v);
}

template <typename Io, typename T>
void List(Io& io, std::vector<T>& list) {
  const uint64_t count = io.Count(list.size());
  if constexpr (Io::kReads) {
    // One by one: a count that lies ends at the end of the bytes, not in memory for so many.
    for (uint64_t i = 0; i < count; ++i) Field(io, list.emplace_back());
  } else {
    for (T& item : list) Field(io, item);
  }
}

template <typename Io, typename T>
void Map(Io& io, std::map<std::string, T>& map) {
  const uint64_t count = io.Count(map.size());
  if constexpr (Io::kReads) {
    for (uint64_t i = 0; i < count; ++i) {
      std::string key;
      io(key);
      Field(io, map[key]);
    }
  } else {
    for (auto& [key, value] : map) {
      std::string name = key;
      io(name);
      Field(io, value);
    }
  }
}

template <typename Io, typename T>
void Maybe(Io& io, std::optional<T>& maybe) {
  bool there = maybe.has_value();
  io(there);
  if constexpr (Io::kReads) {
    if (there) maybe.emplace();
  }
  if (maybe.has_value()) Field(io, *maybe);
}

template <typename Io>
void Fields(Io& io, Facts& v) {
  List(io, v.parties);
  List(io, v.receivers);
  io(v.resumable);
  io(v.memory_bytes);
  io(v.seconds);
  io(v.plan_hash);
}

template <typename Io>
void Fields(Io& io, RosterParty& v) {
  io(v.name);
  io(v.run_certificate);
  io(v.steward);
  io(v.address);
}

template <typename Io>
void Fields(Io& io, Ended& v) {
  Bytes bytes;
  if constexpr (Io::kReads) {
    io(bytes);
    v = DecodeEnded(bytes);
  } else {
    bytes = Encode(v);
    io(bytes);
  }
}

template <typename Io>
void Fields(Io& io, Progress& v) {
  io(v.attempt);
  io(v.phase);
  io(v.done_per_mille);
}

template <typename Io>
void Fields(Io& io, Asking& v) {
  io(v.since);
  Map(io, v.questions);
  List(io, v.yes);
}

template <typename Io>
void Fields(Io& io, AskedSlot& v) {
  io(v.question);
  io(v.attempt);
  io(v.at);
}

template <typename Io>
void Fields(Io& io, Words& v) {
  io(v.attempt);
  Map(io, v.messages);
}

template <typename Io>
void Fields(Io& io, Study& v) {
  io(v.id);
  io(v.proposer);
  io(v.file);
  io(v.nonce);
  io(v.expires);
  io(v.began);
  io(v.phase);
  Maybe(io, v.over);
  io(v.ending.who);
  io(v.ending.what);
  Fields(io, v.facts);
  io(v.own_offer);
  Map(io, v.offers);
  io(v.roster);
  List(io, v.parties);
  Maybe(io, v.agreement_hash);
  Map(io, v.approvals);
  io(v.closed);
  io(v.allowed);
  io(v.charged);
  io(v.tag);
  io(v.scheduled_at);
  io(v.closing_at);
  Map(io, v.ended);
  Fields(io, v.words);
  Fields(io, v.words_before);
  Maybe(io, v.refusal);
  io(v.discarded);
  Map(io, v.progress);
  io(v.lease_until);
  io(v.next_try);
  io(v.tries);
  Maybe(io, v.asking);
  Maybe(io, v.asked);
}

template <typename Io>
void ReminderFields(Io& io, Study& v) {
  io(v.waits_since);
  io(v.reminded);
}

}  // namespace

Bytes EncodeStudy(const Study& study) {
  Writing writing;
  uint16_t format = kStudyFormat;
  writing(format);
  Study copy = study;
  Fields(writing, copy);
  ReminderFields(writing, copy);
  writing(copy.first);
  return writing.Take();
}

Study DecodeStudy(ByteView bytes) {
  try {
    Reading reading(bytes);
    uint16_t format = 0;
    reading(format);
    if (format != kStudyFormat && format != kFormatBefore)
      throw Error(ErrorCode::kBadInput, "the state of a study is of a format that is not read here",
                  "Use the release of Partita that wrote it, or a newer one.");
    Study study;
    Fields(reading, study);
    if (format != kFormatBefore) {
      ReminderFields(reading, study);
      reading(study.first);
    }
    reading.ExpectEnd();
    return study;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadInput) throw;
    throw Error(ErrorCode::kBadInput, "the state of a study is damaged",
                "Restore the node from its backup.");
  }
}

}  // namespace partita::node
