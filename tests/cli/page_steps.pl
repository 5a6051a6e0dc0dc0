#!/usr/bin/perl
# page_steps.pl PAGE: the commands that a page shows with a prompt, "north$ partita ...", in order, and
# what it shows below them, a line each:
#
#   C <tab> north <tab> partita ...      lines that end in \ are joined
#   O <tab> a line of output             of the command before it
#
# Only blocks of code count: lines with four spaces or more before them.
use strict;
use warnings;

my ($open, $commanded) = ('', 0);
while (<>) {
  chomp;
  if ($open ne '') {
    s/^\s+//;
    $open .= " $_";
  } elsif (/^ {4,}([a-z]+)\$ (.*)/) {
    $open = "C\t$1\t$2";
    $commanded = 1;
  } elsif (/^ {4}\s*\S/ && $commanded) {
    s/^ {4}//;
    print "O\t$_\n";
    next;
  } else {
    next;
  }
  next if $open =~ s/\s*\\$//;
  print "$open\n";
  $open = '';
}
