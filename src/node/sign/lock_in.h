// What the process that parses other people's studies may still do: compute, and speak on the streams that it has.
#pragma once

namespace partita::node {

// For good, for this process: closes all but the standard streams; allows 60 s of processor time, 4 GiB of
// addresses and no core; and lets the kernel refuse (EPERM) every system call that is not for memory, time,
// threads of this process, random bytes, the streams, or the end of the process (seccomp). So it opens, removes,
// renames and links no file, makes no connection, starts no process and signals none.
// Throws kRefused where the kernel takes no such filter: nothing is read then.
void LockReaderIn();

}  // namespace partita::node
