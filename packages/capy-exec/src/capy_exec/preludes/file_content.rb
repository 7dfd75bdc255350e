# FILE_CONTENT for Ruby: UTF-8 text, bytes that are not UTF-8 become U+FFFD.
FILE_CONTENT_PATH = ENV.fetch("FILE_CONTENT_PATH")
FILE_CONTENT = File.binread(FILE_CONTENT_PATH).force_encoding(Encoding::UTF_8).scrub
