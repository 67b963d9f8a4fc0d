"""The scroll position of a page."""

from app.views.transcript.flow import TOP, Anchor, Flow, PlacedRow


class ScrollPosition:
    """Follows the end while the user is there; otherwise its anchor moves only when the user moves it."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.anchor: Anchor = TOP
        self.following = True

    def place(self, viewport: float) -> list[PlacedRow]:
        """The rows a viewport of that height shows now."""
        end = self._flow.end(viewport)
        if self.following or self.anchor >= end:
            self.anchor, self.following = end, True
        return self._flow.placed(self.anchor, viewport)

    def move(self, pixels: float, viewport: float) -> None:
        """Scroll down (up when negative) as the user asked."""
        self.jump_to(self._flow.moved(self.anchor, pixels), viewport)

    def jump_to(self, anchor: Anchor, viewport: float) -> None:
        """Put a place at the top; the end is followed again once `place` finds it there."""
        self.anchor = min(anchor, self._flow.end(viewport))
        self.following = False

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.following = True

    def reset(self) -> None:
        self.anchor = TOP
        self.following = True
