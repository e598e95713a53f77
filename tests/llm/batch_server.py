"""A server of batches on this machine, in the formats of OpenAI and of Anthropic, with scripted failures."""

import itertools
import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.llm.servers import Answer, Body, ModelServer, error


@dataclass
class Job:
    """A batch on the server; ``over`` is None while it is in progress, and then why it is over."""

    upload: str
    requests: list[tuple[str, Body]]
    created: float = field(default_factory=time.time)
    n_looks: int = 0
    over: str | None = None
    lines: list[str] = field(default_factory=list)


class BatchServer(ModelServer):
    """A server that also takes batches.

    Args:
        script: From a request's JSON and its number to the answer. A line of a batch whose answer has a ``cut`` is
            lost, and one whose answer is not due expires.

    Attributes:
        n_looks: How often a batch is looked at before it is over.
        before: A function from the method and path of a request about batches to an answer in place of the usual one,
            or None. ``start`` is registered nevertheless.
        jobs: The batches by their ids.
        singles: The requests that came by themselves.
    """

    def __init__(self, script: Callable[[Body, int], Answer] = lambda body, number: Answer()) -> None:
        super().__init__(script)
        self.n_looks = 1
        self.before: Callable[[str, str], Answer | None] = lambda method, path: None
        self.jobs: dict[str, Job] = {}
        self.singles: list[Body] = []
        self._files: dict[str, bytes] = {}
        self._ids = itertools.count(1)
        self._rng = random.Random(1)  # noqa: S311 (the order of lines)

    def respond(self, method: str, path: str, headers: dict[str, str], content: bytes) -> Answer:
        if not re.search("/(files|batches)", path):
            self.singles.append(json.loads(content))
            return super().respond(method, path, headers, content)
        instead = self.before(method, path) if method == "GET" else None
        usual = instead or self._respond(method, path.partition("?")[0], path, content)
        return usual if method == "GET" else self.before(method, path) or usual

    def _respond(self, method: str, place: str, path: str, content: bytes) -> Answer:
        parts = place.strip("/").split("/")[1:]
        match (method, *parts):
            case ("POST", "files"):
                (found,) = re.findall(rb'filename="evodiverse.*?\r\n\r\n(.*)\r\n--', content, re.DOTALL)
                return _json({"id": self._add_file(found)})
            case ("GET", "files", file, "content"):
                return Answer(body=self._files[file])
            case ("POST", "batches"):
                order = json.loads(content)
                lines = map(json.loads, self._files[order["input_file_id"]].splitlines())
                return self._start(order["input_file_id"], [(line["custom_id"], line["body"]) for line in lines])
            case ("POST", "messages", "batches"):
                return self._start(
                    "", [(line["custom_id"], line["params"]) for line in json.loads(content)["requests"]]
                )
            case ("GET", *_, "batches"):
                return self._list(path)
            case ("POST", *_, job, "cancel"):
                self._end(job, "cancelled")
                return _json(self._show(job))
            case ("GET", *_, job, "results"):
                return Answer(body="\n".join(self.jobs[job].lines).encode())
            case ("GET", *_, job):
                return self._look(job)
        return error(404)

    @property
    def n_batched(self) -> int:
        """The number of requests in batches, those in progress included."""
        return sum(len(job.requests) for job in self.jobs.values())

    def _add_file(self, content: bytes) -> str:
        name = f"file-{next(self._ids)}"
        self._files[name] = content
        return name

    def _start(self, upload: str, requests: list[tuple[str, Body]]) -> Answer:
        name = f"job-{next(self._ids)}"
        self.jobs[name] = Job(upload, requests)
        return _json(self._show(name))

    def _list(self, path: str) -> Answer:
        names = list(reversed(self.jobs))
        after = re.search("after(?:_id)?=([^&]+)", path)
        rest = names[names.index(after[1]) + 1 :] if after else names
        return _json({"data": [self._show(name) for name in rest[:2]], "has_more": len(rest) > 2})

    def _look(self, name: str) -> Answer:
        if name not in self.jobs:
            return error(404, "no such batch")
        job = self.jobs[name]
        job.n_looks += 1
        if job.n_looks > self.n_looks and job.over is None:
            self._end(name, "completed")
        return _json(self._show(name))

    def _end(self, name: str, how: str) -> None:
        job = self.jobs[name]
        job.over = how
        for custom_id, body in self._rng.sample(job.requests, len(job.requests)):
            answer = self.script(body, len(self.requests))
            self.requests.append(body)
            if not answer.is_due():
                job.over = "expired" if how == "completed" else how
                job.lines.append(_to_line(custom_id, None, is_openai=bool(job.upload)))
            elif answer.cut is None:
                job.lines.append(_to_line(custom_id, answer, is_openai=bool(job.upload)))

    def _show(self, name: str) -> dict[str, Any]:
        job = self.jobs[name]
        n = len(job.requests)
        if job.upload:
            done = {"output_file_id": self._add_file("\n".join(job.lines).encode())} if job.over else {}
            counts = {"total": n, "completed": len(job.lines), "failed": 0}
            status = job.over or "in_progress"
            return {
                "id": name,
                "input_file_id": job.upload,
                "created_at": int(job.created),
                "status": status,
                "request_counts": counts,
                **done,
            }
        return {
            "id": name,
            "created_at": datetime.fromtimestamp(job.created, UTC).isoformat(),
            "processing_status": "ended" if job.over else "in_progress",
            "cancel_initiated_at": "2026-01-01T00:00:00Z" if job.over == "cancelled" else None,
            "request_counts": {"processing": 0, "succeeded": n} if job.over else {"processing": n, "succeeded": 0},
        }


def _json(content: object) -> Answer:
    return Answer(body=json.dumps(content).encode())


def _to_line(custom_id: str, answer: Answer | None, *, is_openai: bool) -> str:
    """Return the line about a request that has an answer, or that expired."""
    line: dict[str, Any] = {"custom_id": custom_id}
    if is_openai and answer is None:
        return json.dumps(line | {"response": None, "error": {"code": "batch_expired", "message": "it expired"}})
    if answer is None:
        return json.dumps(line | {"result": {"type": "expired"}})
    sent = answer.to_bytes().decode()
    content = json.loads(sent) if answer.status == 200 and sent.startswith("{") else None
    if is_openai:
        body = content or sent
        return json.dumps(line | {"response": {"status_code": answer.status, "body": body}, "error": None})
    if content is None:
        kind = "invalid_request_error" if answer.status == 400 else "api_error"
        failed = {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": "scripted"}}}
        return json.dumps(line | {"result": failed})
    choice, usage = content["choices"][0], content["usage"]
    message = {
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": choice["message"]["content"]}],
        "stop_reason": {"length": "max_tokens"}.get(choice["finish_reason"], "end_turn"),
        "usage": {
            "input_tokens": usage["prompt_tokens"] - 30,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 10,
            "output_tokens": usage["completion_tokens"],
        },
    }
    return json.dumps(line | {"result": {"type": "succeeded", "message": message}})
