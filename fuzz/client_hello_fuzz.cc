// The first bytes of strangers at the one port: refused, or a hello whose name is one, and which says
// the same whatever lies behind its record.
#include <algorithm>
#include <cstdlib>

#include "net/client_hello.h"
#include "node/port/route.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace partita;
  using namespace partita::net;
  using node::RunOf, node::RunServerName, node::RunTag;
  const ByteView bytes(data, size);
  if (size < kRecordHeaderBytes) return 0;
  const std::optional<size_t> record = HelloRecordBytes(bytes.first(kRecordHeaderBytes));
  if (!record) {
    if (ParseClientHello(bytes)) std::abort();
    return 0;
  }
  if (*record <= kRecordHeaderBytes || *record > kMaxClientHelloBytes) std::abort();
  if (*record > size) return 0;
  // A copy of its own, so that a sanitizer sees a read beyond it.
  const Bytes alone(data, data + *record);
  const std::optional<ClientHello> hello = ParseClientHello(alone);
  if (ParseClientHello(bytes.first(*record)) != hello) std::abort();
  if (!hello) return 0;
  if (hello->server_name.size() > 255) std::abort();
  const std::string host = "west.example.org";
  const std::optional<RunTag> run = RunOf(hello->server_name, host);
  if (run && RunServerName(*run, host) != hello->server_name) std::abort();
  return 0;
}
