"""The style sheet of the window, made from a theme."""

from app.views.theme import Theme


def style_sheet(theme: Theme) -> str:
    """Qt style sheet for Candor's own surfaces; native controls keep the look of their platform."""
    return _TEMPLATE.format(
        **{
            name: getattr(theme, name).name()
            for name in ("page", "chrome", "raised", "hovered", "border", "text", "dimmed", "accent", "accent_text")
        },
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
#chatPane {{ background: {page}; }}
#composer {{ background: {raised}; border: 1px solid {border}; border-radius: 16px; }}
#messageEdit {{ background: transparent; color: {text}; }}
#sendButton {{ background: {accent}; border-radius: 15px; padding: 0; }}
#sendButton:disabled {{ background: {hovered}; }}
#sendButton:focus {{ border: 2px solid {text}; }}
#stopButton {{ background: {text}; border-radius: 15px; padding: 0; }}
#stopButton:focus {{ border: 2px solid {accent}; }}
#jumpButton {{ background: {raised}; border: 1px solid {border}; border-radius: 17px; }}
#jumpButton:hover {{ background: {hovered}; }}
#pastedText {{ background: {chrome}; border: 1px solid {border}; border-radius: 8px; }}
#problemBanner {{ background: {warning}; border-radius: 12px; }}
#problemSentence {{ color: {warning_text}; font-weight: 600; }}
#problemRemedy {{ color: {warning_text}; }}
#statusLine, #engineState {{ color: {dimmed}; }}
"""
