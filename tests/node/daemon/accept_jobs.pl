# accept_jobs.pl SOCKET GROUP USER MORE_GROUP COMMAND...: what systemd does with Accept=yes (systemd.socket(5), sd_listen_fds(3)).
# As root it listens at SOCKET (mode 0660, root's and GROUP's, as SocketGroup= and SocketMode= of partita-job.socket say),
# and for each connection starts COMMAND with it as descriptor 3 and LISTEN_FDS=1, as USER with the group MORE_GROUP.
use strict;
use warnings;
use IO::Socket::UNIX;
use POSIX ();

my ($path, $group, $user, $more, @command) = @ARGV;
$SIG{CHLD} = 'IGNORE';
unlink $path;
umask 0117;
my $listener = IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => $path, Listen => 64) or die "listen: $!";
chown 0, $group, $path or die "chown: $!";
while (1) {
  my $connection = $listener->accept or next;
  my $child = fork // die "fork: $!";
  if ($child) { close $connection; next }
  # Kept for its number: what Perl holds above 2 is closed when a program takes its place.
  POSIX::dup2(fileno($connection), 3) // die "dup2: $!";
  $^F = 3;
  open my $kept, '<&=', 3 or die "descriptor 3: $!";
  %ENV = (PATH => $ENV{PATH}, LISTEN_FDS => 1, LISTEN_PID => $$);
  $( = $user;
  $) = "$user $user $more";
  POSIX::setgid($user) or die "setgid: $!";
  POSIX::setuid($user) or die "setuid: $!";
  POSIX::setsid();
  umask 0077;
  exec @command or die "exec: $!";
}
