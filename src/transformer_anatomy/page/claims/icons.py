"""The icons of the verdicts: shape and word carry the meaning, never a colour."""

_RING = '<circle cx="8" cy="8" r="7"/>'
_CHECK = "M5 8.2l2.1 2.2L11 6"
_WAVE = "c1.1-1.3 2.2-.9 3.3 0s2.2 1.3 3.3 0"
ICONS = {
    "holds": f'<circle class="solid" cx="8" cy="8" r="7"/><path class="cut" d="{_CHECK}"/>',
    "holds under a condition": f'{_RING}<path d="{_CHECK}"/>',
    "slip": f'{_RING}<path d="M4.7 7{_WAVE}M4.7 10.2{_WAVE}"/>',
    "contradicted": f'{_RING}<path d="M5.5 5.5l5 5m0-5l-5 5"/>',
    "unsupported": '<circle cx="8" cy="8" r="7" stroke-dasharray="2 2.4"/>'
    '<path d="M6.2 6.3a1.8 1.8 0 1 1 2.6 1.8c-.6.3-.8.6-.8 1.2M8 11.3v.1"/>',
    "opinion": f'{_RING}<path d="M4.8 8v.1M8 8v.1M11.2 8v.1"/>',
    "not yet": f'{_RING}<path d="M5 8h6"/>',
}


def icon(name: str) -> str:
    """The icon as SVG, hidden from screen readers because the word follows."""
    return f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">{ICONS[name]}</svg>'
