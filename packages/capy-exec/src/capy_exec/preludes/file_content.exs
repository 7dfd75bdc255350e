# file_content for Elixir (variables begin in lower case): a UTF-8 binary, bytes that are not UTF-8 become U+FFFD.
path = System.fetch_env!("FILE_CONTENT_PATH")

valid = fn valid, bytes, done ->
  case :unicode.characters_to_binary(bytes) do
    text when is_binary(text) -> [done, text]
    {_, good, <<_, rest::binary>>} -> valid.(valid, rest, [done, good, "\uFFFD"])
  end
end

{path, IO.iodata_to_binary(valid.(valid, File.read!(path), []))}
