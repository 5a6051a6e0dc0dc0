// Frame headers and hellos: whatever is accepted encodes back to the same bytes.
#include <algorithm>
#include <cstdlib>

#include "net/frame.h"
#include "net/hello.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace partita;
  const ByteView bytes(data, size);
  if (size >= net::kFrameHeaderBytes) {
    net::HeaderBytes header;
    std::copy_n(data, header.size(), header.begin());
    try {
      if (net::EncodeHeader(net::DecodeHeader(header, "fuzz")) != header) std::abort();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPeerFault) std::abort();
    }
  }
  try {
    const Bytes again = net::EncodeHello(net::DecodeHello(bytes, "fuzz"));
    if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) std::abort();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerFault) std::abort();
  }
  return 0;
}
