# FILE_CONTENT for Perl: $FILE_CONTENT holds the bytes as they are (use Encode to make characters of them).
package CapyFile;
use strict;
use warnings;

sub import {
    my $path = $ENV{FILE_CONTENT_PATH};
    open(my $stream, '<:raw', $path) or die "cannot read $path: $!\n";
    local $/;
    my $content = <$stream>;
    $content = '' unless defined $content;
    no strict 'refs';    # imported from another package, the names pass `use strict` in the script
    *{'main::FILE_CONTENT'}      = \$content;
    *{'main::FILE_CONTENT_PATH'} = \$path;
}

1;
