"""Messages compressed one by one, with a dictionary that all connections share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tambour import _internal
from tambour._typing import Buffer


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
        self._codec = _internal.Messages(dictionary, generation, max_message_bytes)

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
        made = _internal.train_messages(samples, content_bytes)
        return cls(made, generation=generation, max_message_bytes=max_message_bytes)

    def encode(self, message: Buffer | str) -> bytes:
        """Encodes a message."""
        return self._codec.encode(message.encode() if isinstance(message, str) else message)

    def decode(self, encoded: Buffer) -> bytes:
        """Decodes a message; its check is compared."""
        return self._codec.decode(encoded)

    def add(self, dictionary: Buffer, generation: int) -> None:
        """Adds a dictionary of another generation, to decode with."""
        self._codec.add(dictionary, generation)

    def switch_to(self, generation: int) -> None:
        """Encodes with the dictionary of this generation from now on."""
        self._codec.switch_to(generation)

    def retire(self, generation: int) -> bool:
        """Forgets a dictionary; whether there was one."""
        return self._codec.retire(generation)
