"""JSON values of unknown shape -> text, time, media. A wrong type is an absent value, never an exception."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from .events import Media

Json = dict[str, Any]

_MILLISECONDS = 1e11  # a number above it counts milliseconds: in seconds it would be the year 5138


def string(value: Any) -> str:
    """The value if it is a str, else ""."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Json:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def seconds(value: Any) -> float | None:
    """ISO 8601 text (without an offset: UTC), seconds or milliseconds since 1970 -> seconds; None for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
        return value / 1000 if abs(value) > _MILLISECONDS else float(value)
    return None


def content(value: Any) -> tuple[str, tuple[Media, ...]]:
    """What a list of blocks, a single block or a text says, and the media in it.

    Blocks are strings or objects with `text` (all hosts), `content` (nested) or base64 data. Texts are joined by
    newlines. Blocks of other kinds say nothing.
    """
    if isinstance(value, str):
        return value, ()
    texts, media = [], []
    for block in value if isinstance(value, list) else [value]:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            if isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif found := media_of(block):
                media.append(found)
            elif isinstance(block.get("content"), str):
                texts.append(block["content"])
    return texts[0] if len(texts) == 1 else "\n".join(texts), tuple(media)


def media_of(block: Json) -> Media | None:
    """The image, document or file that a block holds or names, None when it is no such block."""
    kind = string(block.get("type"))
    inline = mapping(block.get("source")) or mapping(block.get("inlineData")) or mapping(block.get("fileData"))
    if inline:  # Claude: source{media_type,data}; Gemini: inlineData{mimeType,data}, fileData{mimeType,fileUri}
        media_type = string(inline.get("media_type")) or string(inline.get("mimeType"))
        name = string(inline.get("fileUri")) or string(inline.get("url")) or string(block.get("title"))
        return Media(kind or media_type.partition("/")[0], media_type, len(string(inline.get("data"))), name)
    if kind == "file":  # OpenCode
        return Media("file", string(block.get("mime")), len(string(block.get("url"))), string(block.get("filename")))
    if kind in ("image", "input_image", "audio"):  # MCP: data, mimeType; Codex: image_url, a data URL
        data = string(block.get("data")) or string(block.get("image_url"))
        return Media(kind.removeprefix("input_"), string(block.get("mimeType")), len(data))
    return None
