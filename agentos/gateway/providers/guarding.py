"""Wrap providers of other packages: any exception becomes a `ProviderError` that fails
one item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agentos.entry_points import describe_failure
from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers import Completion, Credential, Provider, Request
from agentos.usage import Consumed


class GuardedProvider(Provider):
    """A provider of another package that raises nothing but `ProviderError`."""

    def __init__(self, name: str, provider: Provider) -> None:
        self._name = name
        self._provider = provider
        self.needs_key = bool(provider.needs_key)

    async def complete(
        self, request: Request, credential: Credential | None
    ) -> Completion:
        """Return the provider's answer, if it is one."""
        with self._guard():
            answer = await self._provider.complete(request, credential)
            if not isinstance(answer, Completion):
                kind = type(answer).__name__
                raise TypeError(f"complete returned a {kind}, not a Completion")
            return answer

    async def check(self, credential: Credential | None) -> str:
        """Return what the provider says."""
        with self._guard():
            return str(await self._provider.check(credential))

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Prepare the provider."""
        with self._guard():
            await self._provider.prepare(credentials)

    async def close(self) -> None:
        """Close the provider."""
        with self._guard():
            await self._provider.close()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except ProviderError:
            raise
        except Exception as error:
            raise ProviderError(
                f"the provider {self._name} failed with {describe_failure(error)}",
                cause=FailureCause.BAD_REQUEST,
                # Nobody knows what a call has cost that ended like this.
                consumed=Consumed(),
            ) from error
