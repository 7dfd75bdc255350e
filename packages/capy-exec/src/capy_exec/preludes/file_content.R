# FILE_CONTENT for R: UTF-8 text, bytes that are not UTF-8 become U+FFFD, NUL bytes are dropped (R's text holds none).
FILE_CONTENT_PATH <- Sys.getenv("FILE_CONTENT_PATH")
FILE_CONTENT <- local({
  stream <- file(FILE_CONTENT_PATH, "rb")
  on.exit(close(stream))
  parts <- list()
  while (length(bytes <- readBin(stream, "raw", 1048576L))) { # in pieces: looking for NULs takes 12 bytes a byte
    parts[[length(parts) + 1L]] <- rawToChar(bytes[bytes != as.raw(0)])
  }
  text <- paste(parts, collapse = "")
  if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "\ufffd")
  Encoding(text) <- "UTF-8"
  text
})
