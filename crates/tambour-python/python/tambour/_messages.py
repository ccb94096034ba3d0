"""Messages compressed one by one, with a dictionary that all connections share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tambour import _internal
from tambour._checks import count, maybe
from tambour._typing import Buffer

# Generations are numbers of 8 bits.
_GENERATION_MAX = 255


class MessageCodec:
    """Encodes single messages: nothing is kept for a connection, and each message is decoded without the others.

    >>> import tambour
    >>> samples = [f'{{"method": "get", "user": "u{n}", "id": {n}}}' for n in range(2000)]
    >>> codec = tambour.MessageCodec.train(samples)
    >>> encoded = codec.encode(b'{"method": "get", "user": "u77", "id": 123456}')
    >>> len(encoded) < 20
    True
    >>> codec.decode(encoded)
    b'{"method": "get", "user": "u77", "id": 123456}'
    """

    def __init__(
        self, dictionary: Buffer, *, generation: int = 1, max_message_bytes: int | None = None
    ) -> None:
        self.dictionary = bytes(dictionary)
        # What another process makes the same codec of.
        self._dictionaries = {generation: self.dictionary}
        self._current, self._limit = generation, max_message_bytes
        self._codec = _internal.Messages(
            dictionary,
            count("generation", generation, 0, _GENERATION_MAX),
            maybe("max_message_bytes", max_message_bytes),
        )

    @classmethod
    def train(
        cls,
        samples: Iterable[Buffer | str] | Any,
        *,
        generation: int = 1,
        content_bytes: int | None = None,
        max_message_bytes: int | None = None,
    ) -> MessageCodec:
        """A codec with a dictionary made of samples, which ``dictionary`` has as bytes: keep them in a file."""
        if not (hasattr(samples, "__arrow_c_stream__") or hasattr(samples, "__arrow_c_array__")):
            samples = list(samples)
        made = _internal.train_messages(samples, maybe("content_bytes", content_bytes))
        return cls(made, generation=generation, max_message_bytes=max_message_bytes)

    def encode(self, message: Buffer | str) -> bytes:
        """Encodes a message."""
        return self._codec.encode(message.encode() if isinstance(message, str) else message)

    def decode(self, encoded: Buffer) -> bytes:
        """Decodes a message; its check is compared."""
        return self._codec.decode(encoded)

    def add(self, dictionary: Buffer, generation: int) -> None:
        """Adds a dictionary of another generation, to decode with."""
        self._codec.add(dictionary, count("generation", generation, 0, _GENERATION_MAX))
        self._dictionaries[generation] = bytes(dictionary)

    def switch_to(self, generation: int) -> None:
        """Encodes with the dictionary of this generation from now on."""
        self._codec.switch_to(count("generation", generation, 0, _GENERATION_MAX))
        self._current = generation

    def retire(self, generation: int) -> bool:
        """Forgets a dictionary; whether there was one."""
        retired = self._codec.retire(count("generation", generation, 0, _GENERATION_MAX))
        self._dictionaries.pop(generation, None)
        return retired

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._dictionaries, self._current, self._limit)

    def __repr__(self) -> str:
        others = ", ".join(str(generation) for generation in sorted(self._dictionaries))
        return f"<tambour.MessageCodec, generation {self._current} of {others}>"


def _again(dictionaries: dict[int, bytes], current: int, limit: int | None) -> MessageCodec:
    codec = MessageCodec(dictionaries[current], generation=current, max_message_bytes=limit)
    for generation, dictionary in dictionaries.items():
        if generation != current:
            codec.add(dictionary, generation)
    return codec
