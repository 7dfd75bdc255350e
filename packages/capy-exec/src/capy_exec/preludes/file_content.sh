# FILE_CONTENT for sh and bash: the bytes as they are, last newlines included; NUL bytes are dropped (variables hold none).
# The C locale while it is read: in UTF-8, cutting off the last character would make wide characters of it all first.
FILE_CONTENT=$(LC_ALL=C tr -d '\000' <"$FILE_CONTENT_PATH" && echo x)
_capy_locale=${LC_ALL-unset}
LC_ALL=C
FILE_CONTENT=${FILE_CONTENT%?}
if [ "$_capy_locale" = unset ]; then unset LC_ALL; else LC_ALL=$_capy_locale; fi
unset _capy_locale CAPY_PRELUDE
