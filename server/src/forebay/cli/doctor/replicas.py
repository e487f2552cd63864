"""Replicas, as their primary sees them: how far behind, and the cost of a broken link.

master_repl_offset                  bytes of the stream of changes so far
offset of a replica                 ... and how many it has confirmed; it does so once a second
repl-backlog-size / write rate      how many seconds a link may be broken, and the replica still
                                    continues (partial resync); after that all data is sent
client-output-buffer-limit          a replica that falls behind by more is cut off
"""

from __future__ import annotations

from typing import NamedTuple

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.patient import Patient
from forebay.cli.words import MB, directive_size, size, span, whole

REPLICAS, BACKLOG, SAFE = "replicas", "backlog", "min-replicas-to-write"
TIMEOUT, BUFFERS = "repl-timeout", "replica buffers"
UNCOUNTED = "The rate of writes is unknown: without replicas and AOF the server does not count them"

#: A replica confirms once a second; one that is silent for longer has trouble.
SILENT_S = 3
#: Bytes that are on their way, or not yet confirmed, are not "behind".
ON_ITS_WAY_BYTES = MB
ON_ITS_WAY_S = 2
#: A backlog for less time than this turns a short network failure into a full sync.
SHORT_CUT_S = 10
USUAL_TIMEOUT_S = 60
#: The least speed of a full sync, over a network and onto a disk.
FULL_SYNC_RATE = 50 * MB
#: ... and on a bad day it may be this many times slower.
SLACK = 4


class Replica(NamedTuple):
    """One line of INFO, such as slave0."""

    name: str
    state: str
    behind_bytes: int
    silent_s: int


class Limits(NamedTuple):
    """client-output-buffer-limit of the class of replicas; 0 is no limit."""

    hard_bytes: int
    soft_bytes: int
    soft_s: int

    def cut_after_s(self, rate: float) -> float:
        """When a replica that reads nothing is cut off, at ``rate`` bytes per second."""
        hard_s = self.hard_bytes / rate if self.hard_bytes else float("inf")
        soft_s = self.soft_bytes / rate + self.soft_s if self.soft_bytes else float("inf")
        return min(hard_s, soft_s)


def replicas_of(patient: Patient) -> list[Replica]:
    """All replicas that are attached."""
    sent = patient.number("master_repl_offset") or 0
    found = []
    for number in range(patient.number("connected_slaves") or 0):
        line = patient.text(f"slave{number}")
        words = dict(word.split("=", 1) for word in line.split(",") if "=" in word)
        found.append(
            Replica(
                f"{words.get('ip', '?')}:{words.get('port', '?')}",
                words.get("state", "?"),
                max(0, sent - (whole(words.get("offset")) or 0)),
                whole(words.get("lag")) or 0,
            )
        )
    return found


def replica_findings(patient: Patient) -> list[Finding]:
    """One finding for each replica; one if there is none."""
    attached = replicas_of(patient)
    if attached:
        return [replica_finding(patient, replica) for replica in attached]
    if patient.number("connected_slaves") is None:
        return [unknown(REPLICAS, "The server does not tell its replicas")]
    had_some = patient.number("repl_backlog_active") == 1 and not patient.is_replica
    if had_some:
        return [
            advice(
                REPLICAS,
                "No replica is attached, but there was one, because a backlog is kept: new writes "
                "are on this machine only",
                patient.address.command("INFO", "replication"),
                attached=0,
            )
        ]
    return [ok(REPLICAS, "No replica is attached", attached=0)]


def replica_finding(patient: Patient, replica: Replica) -> Finding:
    """How far one replica is behind, in bytes and in time."""
    topic = f"replica {replica.name}"
    rate = patient.write_rate or 0.0
    behind_s = replica.behind_bytes / rate if rate else None
    facts = {
        "state": replica.state,
        "behind_bytes": replica.behind_bytes,
        "behind_s": None if behind_s is None else round(behind_s, 1),
        "silent_s": replica.silent_s,
    }
    list_them = patient.address.command("CLIENT", "LIST", "TYPE", "replica")
    if replica.state != "online":
        return advice(
            topic,
            f"It is receiving all data (state {replica.state}): it cannot replace the primary "
            "before that is done",
            patient.address.command("INFO", "replication"),
            **facts,
        )
    said = f"It is {_behind(replica, behind_s)} behind"
    if replica.silent_s > SILENT_S:
        return problem(
            topic,
            f"{said} and has confirmed nothing for {span(replica.silent_s)}: it hangs, or the "
            "network does",
            list_them,
            **facts,
        )
    if replica.behind_bytes <= max(ON_ITS_WAY_BYTES, ON_ITS_WAY_S * rate):
        when = f"{span(replica.silent_s)} ago" if replica.silent_s else "within the last second"
        return ok(topic, f"{said}, and confirmed {when}", **facts)
    backlog = patient.number("repl_backlog_size") or 0
    if backlog and replica.behind_bytes > backlog:
        return problem(
            topic,
            f"{said}, more than the backlog of {size(backlog)} holds: if its link breaks now, it "
            "needs a full sync",
            patient.address.setting("repl-backlog-size", directive_size(2 * replica.behind_bytes)),
            **facts,
        )
    return advice(
        topic,
        f"{said}, more than the writes of {span(ON_ITS_WAY_S)}: it reads slower than clients write",
        list_them,
        **facts,
    )


def _behind(replica: Replica, behind_s: float | None) -> str:
    if not replica.behind_bytes:
        return "not"
    time_told = f" (the writes of {span(behind_s)})" if behind_s else ""
    return f"{size(replica.behind_bytes)}{time_told}"


def backlog_finding(patient: Patient) -> Finding:
    """How long a link may be broken before a full sync is needed."""
    backlog, rate = patient.number("repl_backlog_size"), patient.write_rate
    if backlog is None or rate is None:
        return unknown(BACKLOG, UNCOUNTED)
    timeout_s = patient.setting("repl-timeout") or USUAL_TIMEOUT_S
    facts: dict[str, object] = {"backlog_bytes": backlog, "bytes_per_second": round(rate)}
    if not rate:
        return ok(
            BACKLOG,
            f"The backlog is {size(backlog)}; nothing was written in {span(patient.watched_s)}, so "
            "look again when it is busy: forebay doctor --seconds 60",
            **facts,
        )
    lasts_s = backlog / rate
    facts["survives_s"] = round(lasts_s, 1)
    said = (
        f"At {size(rate)} a second the backlog of {size(backlog)} lasts for {span(lasts_s)}: a "
        "link that is broken for longer needs a full sync"
    )
    do = patient.address.setting("repl-backlog-size", directive_size(timeout_s * rate))
    if lasts_s < SHORT_CUT_S and replicas_of(patient):
        return problem(BACKLOG, said, do, **facts)
    if lasts_s < timeout_s:
        told = f", and a dead link is noticed only after {span(timeout_s)} (repl-timeout)"
        return advice(BACKLOG, said + told, do, **facts)
    return ok(BACKLOG, said, **facts)


def timeout_finding(patient: Patient) -> Finding:
    """Whether a link that is only quiet is treated as dead."""
    timeout_s = patient.setting("repl-timeout")
    ping_s = patient.setting("repl-ping-replica-period")
    if timeout_s is None or ping_s is None:
        return unknown(TIMEOUT, "The server does not tell repl-timeout")
    facts = {"timeout_s": timeout_s, "ping_s": ping_s}
    said = (
        f"repl-timeout is {span(timeout_s)}, and a quiet primary sends a PING every {span(ping_s)}"
    )
    if timeout_s <= ping_s:
        return problem(
            TIMEOUT,
            f"{said}: links that are only quiet are cut",
            patient.address.setting("repl-timeout", str(max(USUAL_TIMEOUT_S, 3 * ping_s))),
            **facts,
        )
    return ok(TIMEOUT, said, **facts)


def safety_finding(patient: Patient) -> Finding:
    """Whether a primary that lost its replicas still takes writes."""
    least, lag_s = patient.setting("min-replicas-to-write"), patient.setting("min-replicas-max-lag")
    if least is None or lag_s is None:
        return unknown(SAFE, "The server does not tell min-replicas-to-write")
    attached = replicas_of(patient)
    good = sum(r.state == "online" and r.silent_s <= lag_s for r in attached)
    facts = {"least": least, "good": good, "max_lag_s": lag_s}
    if least and lag_s and good < least:
        return problem(
            SAFE,
            f"Writes are refused now (NOREPLICAS): {good} of at least {least} replicas confirmed "
            f"in the last {span(lag_s)}",
            patient.address.command("INFO", "replication"),
            **facts,
        )
    if attached and not least:
        return advice(
            SAFE,
            "The primary takes writes without any replica: when it is cut off and replaced, these "
            f"writes are lost; with 1 it refuses writes after {span(lag_s or 10)} "
            "(min-replicas-max-lag)",
            patient.address.setting("min-replicas-to-write", "1"),
            **facts,
        )
    if not least:
        return ok(SAFE, "It is 0: writes need no replica", **facts)
    return ok(SAFE, f"It is {least}, and {good} replicas are good", **facts)


def limits_of(patient: Patient) -> Limits | None:
    """client-output-buffer-limit of replicas; a hard limit is at least the backlog."""
    words = patient.settings.get("client-output-buffer-limit", "").split()
    for at in range(0, len(words) - 3, 4):
        numbers = [whole(word) for word in words[at + 1 : at + 4]]
        if words[at] in ("slave", "replica") and None not in numbers:
            hard, soft, soft_s = (number or 0 for number in numbers)
            backlog = patient.number("repl_backlog_size") or 0
            return Limits(max(hard, backlog) if hard else 0, soft, soft_s)
    return None


def buffers_finding(patient: Patient) -> Finding:
    """Whether a full sync can end before its replica is cut off for being behind."""
    limits, rate = limits_of(patient), patient.write_rate
    if limits is None:
        return unknown(BUFFERS, "The server does not tell client-output-buffer-limit of replicas")
    if rate is None:
        return unknown(BUFFERS, UNCOUNTED)
    if not rate or limits.cut_after_s(rate) == float("inf"):
        return ok(BUFFERS, "At this rate no replica is cut off for reading slowly")
    sync_s = (patient.number("used_memory") or 0) / FULL_SYNC_RATE
    cut_s = limits.cut_after_s(rate)
    facts = {"cut_after_s": round(cut_s, 1), "full_sync_s": round(sync_s, 1)}
    said = (
        f"During a full sync, which takes about {span(sync_s)} at {size(FULL_SYNC_RATE)} a second, "
        f"changes wait for the replica: after {span(cut_s)} it is cut off"
    )
    enough = directive_size(max(SLACK * sync_s, USUAL_TIMEOUT_S) * rate)
    do = patient.address.setting("client-output-buffer-limit", f"replica {enough} {enough} 60")
    if cut_s < sync_s:
        return problem(BUFFERS, f"{said}, and the sync starts again, for ever", do, **facts)
    if cut_s < max(SLACK * sync_s, SHORT_CUT_S):
        return advice(BUFFERS, f"{said}: not much time if the network is slow", do, **facts)
    return ok(BUFFERS, said, **facts)
