"""Ray itself: found, started or refused, within seconds."""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any, Optional

from .._errors import ClusterError

logger = logging.getLogger("fpsrl.ray")

#: How long an address may take to answer, in seconds.
PATIENCE = 5.0


def ray_module() -> Any:
    """Ray, or how one gets it."""
    try:
        import ray
    except ImportError:
        raise ClusterError(
            "Ray is not installed in this Python", remedy="pip install 'fpsrl[ray]', or pip install ray"
        ) from None
    return ray


def connect(address: Optional[str], cpus: Optional[int]) -> tuple[Any, bool]:
    """Ray, connected to the cluster at an address, or to one that is started on this machine; and whether it was started or
    connected to here.

    Without an address it is the cluster of the process, if there is one; then the one that ``RAY_ADDRESS`` names; then a new one.
    """
    ray = ray_module()
    if ray.is_initialized():
        if address is not None and address not in ("auto", "local") and address != ray.get_runtime_context().gcs_address:
            raise ClusterError(
                f"this process is connected to the Ray cluster at {ray.get_runtime_context().gcs_address} already",
                remedy=f"call ray.shutdown() before you connect to {address}, or leave the address out",
            )
        return ray, False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    settings: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        # A machine's dashboard is another program's business; without it, Ray starts in half the time.
        settings.update(num_cpus=cpus, include_dashboard=False)
    elif address != "auto":
        answers(address)
    failed: list[BaseException] = []
    begun = threading.Event()

    def init() -> None:
        try:
            ray.init(**settings)
            _quieten(ray)
        except BaseException as error:
            failed.append(error)
        begun.set()
        if not failed:
            # Linux ends a local Ray with the thread that started it.
            threading.Event().wait()

    # In the main thread Ray would take SIGTERM over from whoever hears it already.
    threading.Thread(target=init, name="ray.init", daemon=True).start()
    begun.wait()
    if failed:
        told = str(failed[0]).strip().splitlines()
        raise ClusterError(
            f"Ray at {address!r} cannot be used: {told[0] if told else type(failed[0]).__name__}",
            remedy="start a cluster (`ray start --head`), give its address as host:port, or leave the address out",
        ) from failed[0]
    return ray, True


def _quieten(ray: Any) -> None:
    """Sends what Ray would print on standard output to the logger: that is for results."""
    module = ray._private.worker
    # Another Ray than the one this was written with may print elsewhere.
    if hasattr(module, "print_worker_logs"):

        def tell(data: dict[str, Any], *_: Any, **__: Any) -> None:
            for line in data.get("lines", []):
                logger.info("%s: %s", data.get("pid"), line)

        module.print_worker_logs = tell


def answers(address: str) -> None:
    """Refuses an address that nobody answers at: Ray itself would wait for minutes."""
    plain = address[len("ray://") :] if address.startswith("ray://") else address
    host, _, port = plain.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster",
            remedy="give it as host:port, such as 10.0.0.5:6379; or `auto`; or none for a Ray of this machine's own",
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as connection:
            speaks = _speaks_http2(connection)
    except OSError as error:
        raise ClusterError(
            f"nobody answers at {address} ({error.strerror or error})",
            remedy="check the address and the firewall; `ray start --head` on that machine prints it",
        ) from None
    if not speaks:
        raise ClusterError(
            f"what answers at {address} is no Ray cluster",
            remedy="give the port of the head node's `ray start --head` (usually 6379), not that of its dashboard",
        )


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether somebody speaks as Ray's servers do: in HTTP/2, where both sides begin with their settings (RFC 9113, 3.4)."""
    settings = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
    try:
        head = connection.recv(9)
    except OSError:
        return False
    return len(head) >= 4 and head[3] == 4
