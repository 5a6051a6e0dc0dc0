#include "mpc/together.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpc/operation.h"

namespace partita::mpc {
namespace {

// What a task leaves by that is not to go on.
struct Stopped {};

[[noreturn]] void RefuseBeside(const std::string& what) {
  Misuse(what + " inside a task that travels together with others");
}

bool Opens(const Operation& operation) {
  return std::holds_alternative<RevealOperation>(operation) ||
         std::holds_alternative<RevealBitsOperation>(operation);
}

// That no value is truncated: there is nothing to wait for.
bool IsLocal(const Operation& operation) {
  const auto* rescale = std::get_if<RescaleOperation>(&operation);
  return rescale != nullptr &&
         std::all_of(rescale->values.begin(), rescale->values.end(), [&](const Shared& value) {
           return value.fraction_bits <= rescale->fraction_bits;
         });
}

// Says whose turn it is: the caller's or the task's.
class Baton {
 public:
  // Lets the other side go on, and waits until it is this side's turn again.
  void Pass(bool to_task) {
    std::unique_lock lock(mutex_);
    of_task_ = to_task;
    changed_.notify_all();
    changed_.wait(lock, [&] { return of_task_ != to_task; });
  }
  void AwaitTask() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return of_task_; });
  }
  // The task's last turn is over.
  void GiveBack() {
    const std::lock_guard lock(mutex_);
    of_task_ = false;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool of_task_ = false;
};

}  // namespace

// The engine of one task: local operations go to the caller's engine at once, others wait for those
// of the other tasks.
class TaskEngine : public Engine {
 public:
  TaskEngine(Engine& engine, const Task& task)
      : engine_(engine), task_(task), thread_([this] { Run(); }) {}
  ~TaskEngine() override {
    stopped_ = true;
    if (!ended_) baton_.Pass(true);  // until it has ended: a stopped task does not wait again
    thread_.join();
  }
  TaskEngine(const TaskEngine&) = delete;
  TaskEngine& operator=(const TaskEngine&) = delete;

  // At the caller: lets the task go on until it has brought operations or has ended (false). Throws
  // the task's error.
  bool GoOn() {
    if (ended_) return false;
    baton_.Pass(true);
    if (error_) std::rethrow_exception(error_);
    return !ended_;
  }

  // At the caller: runs what the tasks have brought.
  static void ExecuteAll(Engine& engine, std::span<TaskEngine* const> tasks) {
    std::vector<Operation> all;
    for (const TaskEngine* task : tasks)
      std::move(task->brought_.begin(), task->brought_.end(), std::back_inserter(all));
    engine.Execute(all);
    auto next = all.begin();
    for (const TaskEngine* task : tasks) {
      for (Operation& operation : task->brought_) operation = std::move(*next++);
    }
  }

  const Capabilities& capabilities() const override { return engine_.capabilities(); }
  size_t num_parties() const override { return engine_.num_parties(); }
  std::optional<PartyIndex> self() const override { return engine_.self(); }
  int ring_bits() const override { return engine_.ring_bits(); }

  void BeginPhase(std::string_view) override { RefuseBeside("a phase begins"); }
  void AgreeToOpen() override { RefuseBeside("parties agree to open"); }
  OracleUse RunOracle(const Shared&, const OracleTask&, const OracleQueries&) override {
    RefuseBeside("an oracle is asked");
  }

  FixedOperand Register(PrivateMatrix matrix) override {
    return engine_.Register(std::move(matrix));
  }
  SharedBits PublicBits(const BitMatrix& value) override { return engine_.PublicBits(value); }
  SharedBits Xor(const SharedBits& a, const SharedBits& b) override { return engine_.Xor(a, b); }
  SharedBits Not(const SharedBits& a) override { return engine_.Not(a); }
  SharedBits AndPublic(const SharedBits& a, const BitMatrix& b) override {
    return engine_.AndPublic(a, b);
  }
  SharedBits SelectPlanes(const SharedBits& a, std::span<const size_t> planes) override {
    return engine_.SelectPlanes(a, planes);
  }
  SharedBits JoinPlanes(std::span<const SharedBits> parts) override {
    return engine_.JoinPlanes(parts);
  }
  SharedBits RandomBits(Shape shape, size_t width, crypto::RandomSource& own) override {
    return engine_.RandomBits(shape, width, own);
  }
  Shared Public(const PublicMatrix& value) override { return engine_.Public(value); }
  Shared Add(const Shared& a, const Shared& b) override { return engine_.Add(a, b); }
  Shared Subtract(const Shared& a, const Shared& b) override { return engine_.Subtract(a, b); }
  Shared Scale(const Shared& a, Int128 factor) override { return engine_.Scale(a, factor); }
  Shared MultiplyPublic(const PublicMatrix& left, const Shared& right) override {
    return engine_.MultiplyPublic(left, right);
  }
  Shared MultiplyPublic(const Shared& left, const PublicMatrix& right) override {
    return engine_.MultiplyPublic(left, right);
  }
  Shared Transpose(const Shared& a) override { return engine_.Transpose(a); }
  Shared Slice(const Shared& a, size_t row, size_t col, Shape shape) override {
    return engine_.Slice(a, row, col, shape);
  }
  Shared Concatenate(std::span<const Shared> parts, bool by_rows) override {
    return engine_.Concatenate(parts, by_rows);
  }
  Shared SelectRows(const Shared& a, std::span<const size_t> rows) override {
    return engine_.SelectRows(a, rows);
  }
  Shared SumRows(const Shared& a) override { return engine_.SumRows(a); }

 protected:
  void Execute(std::span<Operation> operations) override {
    if (stopped_) throw Stopped{};
    if (std::any_of(operations.begin(), operations.end(), Opens)) RefuseBeside("a value opens");
    if (std::all_of(operations.begin(), operations.end(), IsLocal)) {
      engine_.Execute(operations);
      return;
    }
    brought_ = operations;
    baton_.Pass(false);
    if (stopped_) throw Stopped{};
  }

 private:
  void Run() {
    baton_.AwaitTask();
    try {
      if (!stopped_) task_(*this);
    } catch (const Stopped&) {
    } catch (...) {
      error_ = std::current_exception();
    }
    ended_ = true;
    baton_.GiveBack();
  }

  Engine& engine_;
  const Task& task_;
  // Of whoever has the baton.
  std::span<Operation> brought_;
  bool stopped_ = false, ended_ = false;
  std::exception_ptr error_;
  Baton baton_;
  std::thread thread_;  // last: it uses the others
};

void Together(Engine& engine, std::span<const Task> tasks) {
  std::vector<std::unique_ptr<TaskEngine>> all;
  for (const Task& task : tasks) all.push_back(std::make_unique<TaskEngine>(engine, task));
  while (true) {
    std::vector<TaskEngine*> waiting;
    for (const auto& task : all) {
      if (task->GoOn()) waiting.push_back(task.get());
    }
    if (waiting.empty()) return;
    TaskEngine::ExecuteAll(engine, waiting);
  }
}

}  // namespace partita::mpc
