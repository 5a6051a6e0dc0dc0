#include "mpi/mpi_ranks.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "base/error.h"

namespace partita::mpi {
namespace {

constexpr int kSizeTag = 1, kBytesTag = 2;
constexpr size_t kMostAtOnce = size_t{1} << 30;  // counts are of type int

void Check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(result, text.data(), &size);
  throw Error(ErrorCode::kUnreachable,
              std::string("Open MPI cannot ") + what + ": " +
                  std::string(text.data(), static_cast<size_t>(size)),
              "look at what mpirun says, and start again");
}

class MpiRanks final : public run::Ranks {
 public:
  MpiRanks() {
    // Errors are thrown, not printed from inside the library.
    Check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "take an error handler");
    int rank = 0, size = 0;
    Check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "tell this rank");
    Check(MPI_Comm_size(MPI_COMM_WORLD, &size), "count the ranks");
    rank_ = static_cast<size_t>(rank);
    size_ = static_cast<size_t>(size);
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    Check(MPI_Get_processor_name(name.data(), &length), "name this machine");
    host_.assign(name.data(), static_cast<size_t>(length));
  }

  size_t rank() const override { return rank_; }
  size_t size() const override { return size_; }
  std::string Host() const override { return host_; }

  void Send(size_t to, ByteView bytes) override {
    const uint64_t size = bytes.size();
    Check(MPI_Send(&size, 1, MPI_UINT64_T, static_cast<int>(to), kSizeTag, MPI_COMM_WORLD), "send");
    for (size_t at = 0; at < bytes.size(); at += kMostAtOnce) {
      const size_t now = std::min(kMostAtOnce, bytes.size() - at);
      Check(MPI_Send(bytes.data() + at, static_cast<int>(now), MPI_BYTE, static_cast<int>(to),
                     kBytesTag, MPI_COMM_WORLD),
            "send");
    }
  }

  std::optional<Bytes> TryReceive(size_t from) override {
    int here = 0;
    const int source = static_cast<int>(from);
    Check(MPI_Iprobe(source, kSizeTag, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE), "look");
    if (here == 0) return std::nullopt;
    uint64_t size = 0;
    Check(MPI_Recv(&size, 1, MPI_UINT64_T, source, kSizeTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          "receive");
    Bytes bytes(size);
    for (size_t at = 0; at < bytes.size(); at += kMostAtOnce) {
      const size_t now = std::min(kMostAtOnce, bytes.size() - at);
      Check(MPI_Recv(bytes.data() + at, static_cast<int>(now), MPI_BYTE, source, kBytesTag,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "receive");
    }
    return bytes;
  }

 private:
  size_t rank_ = 0, size_ = 1;
  std::string host_;
};

}  // namespace

Environment::Environment(int* argc, char*** argv) {
  // Memory holds keys and shares, so no other process may read it (cli/terminal/interrupt.h), which Open MPI
  // would try between ranks of one machine.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  int provided = 0;
  // Threads that do not use MPI (the forwarder, BLAS) are there.
  if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    throw Error(ErrorCode::kUsage, "Open MPI cannot start here",
                "start partita-mpi by mpirun or srun, with one installation of Open MPI");
  }
  ranks_ = std::make_unique<MpiRanks>();
}

Environment::~Environment() { MPI_Finalize(); }

void Environment::Abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();  // MPI_Abort does not return
}

}  // namespace partita::mpi
