"""The style sheet of an exported page, light or dark as the reader's system is."""

from collections.abc import Sequence
from typing import Final, NamedTuple

STEPS: Final = 32
"""The heatmap's colours; step 0 is a certain token, the last one the most surprising."""


class PageColours(NamedTuple):
    """Colours as six hexadecimal digits.

    `text` has a contrast of at least 4.5:1 on every surface and every colour of the heatmap, `dimmed` on `page`.
    """

    page: str
    text: str
    dimmed: str
    bubble: str
    hatch: str
    heat: tuple[str, ...]


# The ramps keep one hue and fall in lightness, so that their order is seen without colour vision.
LIGHT: Final = PageColours(
    "ffffff", "1b1b1f", "5b5c66", "edf1fb", "c9c9d2", ("fffbe8", "ffefb8", "ffd877", "fdb044", "f0822a")
)
DARK: Final = PageColours(
    "1b1b1f", "ececf1", "a2a3ae", "272d3d", "4b4b55", ("25231f", "3d2f16", "5a3b0c", "7d430a", "a14409")
)

_RULES: Final = """\
body{max-width:48rem;margin:2rem auto;padding:0 1rem;background:var(--page);color:var(--text);
font:16px/1.6 system-ui,sans-serif}
h1{font-size:1.5rem}
h2{font-size:.85rem;margin:0 0 .3rem}
h2 small,.legend,summary{color:var(--dimmed);font-weight:normal}
article{margin:1.2rem 0}
.user .text{background:var(--bubble);border-radius:.6rem;padding:.6rem .9rem}
.text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext}
details{border-left:3px solid var(--hatch);padding-left:.8rem;margin-bottom:.6rem}
.t{color:var(--text);-webkit-print-color-adjust:exact;print-color-adjust:exact}
.u{background:repeating-linear-gradient(135deg,var(--hatch) 0 1px,transparent 1px 5px)}
.e::before{content:"\\25AF"}
.n::before{content:"\\23CE"}
.legend{font-size:.85rem}
"""


def style_sheet() -> str:
    """Classes h0 to h31 colour a token by its probability; u hatches one that was not measured; e and n make one
    without text and one with a line end visible."""
    return (
        ":root{color-scheme:light dark;"
        f"{_variables(LIGHT)}}}\n@media(prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}\n"
        + _RULES
        + "".join(f".h{step}{{background:var(--h{step})}}\n" for step in range(STEPS))
    )


def heat_colours(colours: PageColours) -> list[str]:
    """The ramp in `STEPS` colours on straight lines between its stops."""
    stops = [_channels(stop) for stop in colours.heat]
    return [_hex(_between(stops, step / (STEPS - 1))) for step in range(STEPS)]


def _variables(colours: PageColours) -> str:
    plain = "".join(f"--{name}:#{getattr(colours, name)};" for name in ("page", "text", "dimmed", "bubble", "hatch"))
    return plain + "".join(f"--h{step}:#{colour};" for step, colour in enumerate(heat_colours(colours)))


def _between(stops: Sequence[tuple[int, ...]], position: float) -> list[float]:
    scaled = position * (len(stops) - 1)
    index = min(int(scaled), len(stops) - 2)
    share = scaled - index
    return [low + (high - low) * share for low, high in zip(stops[index], stops[index + 1], strict=True)]


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour))


def _hex(channels: Sequence[float]) -> str:
    return bytes(round(channel) for channel in channels).hex()
