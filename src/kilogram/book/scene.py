"""A scene: its data, its controls, where it breaks, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kilogram.book.captions import add_captions
from kilogram.book.errors import BookError
from kilogram.book.presets import PRESETS
from kilogram.book.recording import Recording
from kilogram.book.textbook_steps import last_line

MAX_POINTS = 1000  # more points are neither seen singly nor computed while one drags: our choice


@dataclass(frozen=True)
class Control:
    """A parameter of the method with the values the reader can choose."""

    name: str
    label: str
    default: Any
    kind: str = "range"  # range, choice or switch
    lo: float = 0.0
    hi: float = 1.0
    step: float = 1.0
    log: bool = False
    choices: tuple[tuple[Any, str], ...] = ()
    export: tuple[Any, ...] = ()
    help: str = ""

    def read(self, value: Any) -> Any:
        """The value if it is allowed; a sentence otherwise."""
        if self.kind == "choice":
            found = [choice for choice, _ in self.choices if str(choice) == str(value)]
            if not found:
                allowed = ", ".join(str(choice) for choice, _ in self.choices)
                raise BookError(f"{self.label} must be one of {allowed}, got {value}.")
            return found[0]
        if self.kind == "switch":
            return str(value).lower() in ("1", "true", "yes")
        try:
            given = float(value)
        except (TypeError, ValueError):
            given = float("nan")
        if not self.lo <= given <= self.hi:
            raise BookError(
                f"{self.label} must be between {self.lo:g} and {self.hi:g}, got {value}."
            )
        return int(given) if self.step == 1 and not self.log else given


def slider(
    name: str, label: str, default: float, lo: float, hi: float, step: float = 1.0, **more: Any
) -> Control:
    """A number; whole if `step` is 1."""
    return Control(name, label, default, "range", lo, hi, step, **more)


def log_slider(name: str, label: str, default: float, lo: float, hi: float, **more: Any) -> Control:
    """A positive number on a logarithmic scale."""
    return Control(name, label, default, "range", lo, hi, 0.25, log=True, **more)


def choice(name: str, label: str, choices: Sequence[tuple[Any, str]], **more: Any) -> Control:
    """A control with several options, the first of them the default."""
    default = more.pop("default", choices[0][0])
    return Control(name, label, default, "choice", choices=tuple(choices), **more)


def switch(name: str, label: str, default: bool = False, **more: Any) -> Control:
    """A control that is on or off."""
    return Control(name, label, default, "switch", **more)


@dataclass(frozen=True)
class Break:
    """A place where the method fails, reached with one click."""

    label: str
    preset: str = ""
    controls: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Points:
    """The data of a scene: coordinates (n, 2) and a class of each (0 where there is none)."""

    xy: NDArray[np.float64]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.xy)

    def rows(self) -> list[list[float]]:
        """Coordinates and class of each point, as the browser reads them."""
        return [[*map(float, xy), int(c)] for xy, c in zip(self.xy, self.labels, strict=True)]

    @property
    def x(self) -> NDArray[np.float64]:
        return self.xy[:, 0]

    @property
    def y(self) -> NDArray[np.float64]:
        return self.xy[:, 1]


@dataclass(frozen=True)
class Scene:
    """A live picture of a method."""

    id: str
    page: str
    title: str
    lead: str
    run: Callable[[Points, Mapping[str, Any]], Recording]
    data: str = "none"  # classes, cloud, curve, rows or none
    presets: tuple[str, ...] = ()
    controls: tuple[Control, ...] = ()
    breaks: tuple[Break, ...] = ()
    question: str = ""
    answer: str = ""
    names: tuple[str, ...] = ()
    min_points: int = 2
    algorithms: tuple[str, ...] = ()  # textbook versions shown besides those of the page
    classes: int = 2
    # the points where no preset draws them; those of "rows" have a table behind them, and their
    # class is the number of the row, 0 for a new one
    draw: Callable[[Mapping[str, Any]], Points] | None = None
    redraws: tuple[str, ...] = ()  # controls that need points drawn anew

    def description(self) -> dict[str, Any]:
        """What the browser needs to offer the scene before it has run."""
        plain = {
            key: getattr(self, key)
            for key in ("id", "page", "title", "lead", "data", "question", "answer", "classes")
        }
        return {
            **plain,
            "names": list(self.names),
            "presets": [[key, PRESETS[key].title] for key in self.presets],
            "redraws": list(self.redraws),
            "controls": [vars(control) for control in self.controls],
            "breaks": [vars(found) for found in self.breaks],
        }

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every control with its value, given or default."""
        known = {control.name for control in self.controls}
        unknown = sorted(set(given) - known)
        if unknown:
            raise BookError(f"{self.title} has no control called {unknown[0]}.")
        return {c.name: c.read(given.get(c.name, c.default)) for c in self.controls}


def load_points(
    scene: Scene,
    preset: str,
    given: Sequence[Sequence[float]] | None,
    settings: Mapping[str, Any],
) -> Points:
    """The points the reader has, or those of a preset."""
    if scene.data == "none":
        return Points(np.zeros((0, 2)), np.zeros(0, dtype=int))
    if given is None:
        if preset not in scene.presets:
            allowed = ", ".join(scene.presets)
            raise BookError(f"There is no data set called {preset!r} here; there are {allowed}.")
        if scene.draw is not None:
            found = scene.draw(settings)
            return Points(np.round(found.xy, 3), found.labels)
        xy, labels = PRESETS[preset].draw()
        return Points(np.round(xy, 3), np.minimum(labels, scene.classes - 1))
    return _given_points(scene, given)


def _given_points(scene: Scene, given: Sequence[Sequence[float]]) -> Points:
    if len(given) > MAX_POINTS:
        raise BookError(f"A page takes at most {MAX_POINTS} points, got {len(given)}.")
    try:
        table = np.array([[*row, 0][:3] for row in given], dtype=float).reshape(-1, 3)
    except (TypeError, ValueError):
        raise BookError(
            "A point needs two numbers and, where there are classes, a class."
        ) from None
    if not np.isfinite(table).all():
        raise BookError("A point has NaN or infinity as a coordinate: remove it.")
    if np.abs(table).max(initial=0) > 1e6:
        raise BookError("A coordinate is beyond a million: divide the columns first.")
    if len(table) < scene.min_points:
        raise BookError(
            f"{scene.title} needs at least {scene.min_points} points; there "
            f"{'is' if len(table) == 1 else 'are'} {len(table)}. Add some, or choose a data set."
        )
    labels = table[:, 2].astype(int)
    if scene.data == "classes" and len(set(labels.tolist())) < 2:
        raise BookError("All points have the same class: add points of another one.")
    if labels.min(initial=0) < 0 or labels.max(initial=0) >= max(scene.classes, 1):
        name = "row number" if scene.data == "rows" else "class"
        raise BookError(f"A {name} must be between 0 and {scene.classes - 1}.")
    return Points(table[:, :2], labels)


def _lit(recording: Recording, settings: Mapping[str, Any]) -> Recording:
    """Where each picture is a whole run of the code, the line on which a run ends is lit."""
    whole = all(frame.line is None for frame in recording.frames)
    if recording.code and whole and not settings.get("printed"):
        for frame in recording.frames:
            frame.line = last_line(recording.code)
        recording.notes = [*recording.notes, "Each step is a complete run of the code below."]
    return recording


@cache
def scenes() -> dict[str, Scene]:
    """Every scene, by module; those made for a page come before the line by line ones."""
    import kilogram.book.scenes as package

    found: dict[str, Scene] = {}
    modules = [info.name for info in iter_modules(package.__path__)]
    for module in sorted(modules, key=lambda name: (name == "textbook", name)):
        for scene in getattr(import_module(f"{package.__name__}.{module}"), "SCENES", ()):
            if scene.id in found:
                raise ValueError(f"two scenes are called {scene.id!r}")
            found[scene.id] = scene
    return found


def run_scene(
    scene_id: str,
    controls: Mapping[str, Any],
    preset: str = "",
    given: Sequence[Sequence[float]] | None = None,
) -> tuple[Points, Recording]:
    """Run a scene; what the reader can mend is a `BookError`."""
    if scene_id not in scenes():
        raise BookError(f"There is no scene called {scene_id!r}.")
    scene = scenes()[scene_id]
    chosen = preset or (scene.presets[0] if scene.presets else "")
    settings = scene.settings(controls)
    data = load_points(scene, chosen, given, settings)
    try:
        recording = _lit(scene.run(data, settings), settings)
        if not settings.get("printed"):  # a misprinted run does not do what the captions say
            add_captions(scene_id, recording.frames)
        return data, recording
    except BookError:
        raise
    except np.linalg.LinAlgError as error:
        raise BookError(
            f"A matrix of this fit is singular ({error}): the points lie on a line or coincide."
        ) from error
    except ValueError as error:
        # the estimators' own messages: "Found array with 1 sample(s) ..."
        raise BookError(str(error).split("\n")[0]) from error
