"""Worlds as environments of Gymnasium, and environments of Gymnasium as worlds.

:class:`WorldEnv` and :class:`WorldVectorEnv` let other people's algorithms learn on worlds that were learned from a
log. :class:`Simulator` and :func:`problem_of` let rules be searched on an environment. All of it works with Gymnasium
0.28 or later, :class:`WorldVectorEnv` and vector environments of one piece with 1.0 or later.

``gymnasium.make("fpsrl.gym:fpsrl/World-v0", worlds=worlds)`` and ``gymnasium.make_vec`` of the same make them, too.
"""

from __future__ import annotations

try:
    import gymnasium
except ImportError as error:
    raise ImportError("fpsrl.gym needs gymnasium, which is not installed\nhint: pip install 'fpsrl[gym]'") from error

from ._environments import ID, IS_MODERN, WorldEnv, WorldVectorEnv
from ._simulator import Simulator, problem_of

__all__ = ["Simulator", "WorldEnv", "WorldVectorEnv", "problem_of"]

if ID not in gymnasium.registry:
    gymnasium.register(
        id=ID,
        entry_point="fpsrl.gym:WorldEnv",
        **({"vector_entry_point": "fpsrl.gym:WorldVectorEnv"} if IS_MODERN else {}),  # type: ignore[arg-type]
    )
