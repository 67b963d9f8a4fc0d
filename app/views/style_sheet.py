"""The style sheet of the window, made from a theme."""

from typing import Final

from app.views.theme import Theme

SCROLL_BAR_WIDTH: Final = 12


def style_sheet(theme: Theme) -> str:
    """Qt style sheet for Candor's own surfaces; native controls keep the look of their platform."""
    return _TEMPLATE.format(
        **{
            name: getattr(theme, name).name()
            for name in ("page", "chrome", "raised", "hovered", "border", "text", "dimmed", "accent", "accent_text")
        },
        bar=SCROLL_BAR_WIDTH,
        warning=theme.warning.name(),
        warning_text=theme.warning_text.name(),
    )


_TEMPLATE = """
#tabStrip {{ background: {chrome}; border-bottom: 1px solid {border}; }}
QTabBar {{ background: transparent; }}
QTabBar::tab {{
    background: transparent; color: {dimmed}; border: none; border-radius: 7px;
    padding: 6px 8px 6px 12px; margin: 6px 2px; min-width: 96px; max-width: 220px;
}}
QTabBar::tab:hover {{ background: {hovered}; color: {text}; }}
QTabBar::tab:selected {{ background: {page}; color: {text}; border: 1px solid {border}; }}
QTabBar::tab:focus {{ border: 1px solid {accent}; }}
QToolButton {{ border: none; border-radius: 7px; padding: 4px; background: transparent; color: {dimmed}; }}
QToolButton:hover {{ background: {hovered}; }}
QToolButton:checked {{ background: {hovered}; color: {text}; }}
QToolButton:focus {{ border: 1px solid {accent}; }}
#chatPane, #transcript {{ background: {page}; }}
QScrollBar:vertical {{ background: transparent; width: {bar}px; margin: 0; }}
QScrollBar::handle:vertical {{ background: {border}; border-radius: 4px; min-height: 32px; margin: 2px; }}
QScrollBar::handle:vertical:hover {{ background: {dimmed}; }}
QScrollBar::handle:vertical:disabled {{ background: transparent; }}
QScrollBar::add-line:vertical, QScrollBar::sub-line:vertical {{ height: 0; }}
QScrollBar::add-page:vertical, QScrollBar::sub-page:vertical {{ background: transparent; }}
#modelPicker {{
    background: transparent; border: 1px solid {border}; border-radius: 8px; padding: 5px 28px 5px 10px; color: {text};
}}
#modelPicker:hover {{ background: {hovered}; }}
#modelPicker:focus {{ border: 1px solid {accent}; }}
#modelPicker::drop-down {{ border: none; width: 26px; }}
#modelPicker::down-arrow {{ image: none; }}
#modelPicker QAbstractItemView {{
    background: {raised}; border: 1px solid {border}; outline: none; padding: 4px;
    selection-background-color: {hovered}; selection-color: {text};
}}
#modelPicker QAbstractItemView::item {{ padding: 3px 8px; border-radius: 5px; }}
#modelPicker QAbstractItemView::item:disabled {{ color: {dimmed}; }}
#modelPicker QAbstractItemView::item:selected {{ background: {hovered}; color: {text}; }}
#composer {{ background: {raised}; border: 1px solid {border}; border-radius: 16px; }}
#messageEdit {{ background: transparent; color: {text}; placeholder-text-color: {dimmed}; }}
#sendButton {{ background: {accent}; border-radius: 15px; padding: 0; }}
#sendButton:disabled {{ background: {hovered}; }}
#sendButton:focus {{ border: 2px solid {text}; }}
#stopButton {{ background: {text}; border-radius: 15px; padding: 0; }}
#stopButton:focus {{ border: 2px solid {accent}; }}
#jumpButton {{ background: {raised}; border: 1px solid {border}; border-radius: 17px; }}
#jumpButton:hover {{ background: {hovered}; }}
#pastedText {{ color: {text}; background: {chrome}; border: 1px solid {border}; border-radius: 8px; }}
#problemBanner {{ background: {warning}; border-radius: 12px; }}
#problemSentence {{ color: {warning_text}; font-weight: 600; }}
#problemRemedy {{ color: {warning_text}; }}
#problemBanner QPushButton {{
    background: transparent; border: 1px solid {warning_text}; border-radius: 8px; padding: 4px 12px;
    color: {warning_text}; font-weight: 600;
}}
#problemBanner QPushButton:hover, #problemBanner QPushButton:focus {{
    background: {warning_text}; color: {warning};
}}
#statusLine, #engineState {{ color: {dimmed}; }}
"""
