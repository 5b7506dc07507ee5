"""Numbers as people read them: shares, scores, intervals, money, time. This is the only place that formats them."""

from __future__ import annotations

from knowbound.language import say, translated

Interval = tuple[float, float] | None


def percent(value: float | None, digits: int = 1) -> str:
    """Format a share; 0% and 100% only for exactly 0 and 1."""
    if value is None:
        return translated("unknown")
    shown = round(100 * value, digits)
    least = 10**-digits
    if shown == 0 and value > 0:
        return f"<{least:g}%"
    if shown == 100 and value < 1:
        return f">{100 - least:g}%"
    return f"{shown:g}%"


def percent_interval(interval: Interval) -> str:
    """Format the interval of a share: `95% 22–78%`; "" if nothing was counted."""
    return f"95% {percent_range(interval)}" if interval else ""


def percent_range(interval: Interval) -> str:
    """Format an interval for a table whose heading names the 95%: `22–78%`."""
    return f"{100 * interval[0]:.0f}–{100 * interval[1]:.0f}%" if interval else ""


def percent_between(low: float | None, high: float | None) -> str:
    """Format the two ends of what a share can be: `28–31%`; one share if they are equal."""
    if low is None or high is None or percent(low) == percent(high):
        return percent(low)
    return f"{percent(low).rstrip('%')}–{percent(high)}"


def percent_words(value: float | None, counts: str, interval: Interval) -> str:
    """Format a share with its counts and interval: `50% (4 of 8, 95% 22–78%)`."""
    behind = ", ".join(filter(None, (counts, percent_interval(interval))))
    return f"{percent(value)} ({behind})" if behind else percent(value)


def points(share: float, digits: int = 1) -> str:
    """Format a difference of shares in percentage points, with its sign."""
    shown = round(100 * share, digits)
    return f"{shown:+.{digits}f}".replace("-", "−") if shown else "0"


def score(value: float | None) -> str:
    """Format a score, such as a composite from 1 to 5."""
    return translated("unknown") if value is None else f"{value:.2f}"


def score_interval(low: float | None, high: float | None) -> str:
    """Format the interval of a score; "" for equal scores, which have no spread."""
    return "" if low is None or high is None or low == high else f"95% {low:.2f}–{high:.2f}"


def signed(value: float | None) -> str:
    """Format a difference of scores with its sign."""
    shown = round(value or 0.0, 2)
    return f"{shown:+.2f}".replace("-", "−") if shown else "0.00"


def estimate(value: float | None, low: float | None, high: float | None) -> str:
    """Format a statistic that can be negative, such as κ, with its interval: `0.62 (95% 0.41 to 0.80)`."""
    if value is None or low is None or high is None:
        return "unknown"
    return f"{value:.2f} (95% {low:.2f} to {high:.2f})"


def probability(p: float) -> str:
    """Format a p-value with its significant digits, never as 0."""
    return "<0.001" if p < 0.001 else f"{p:.2g}"


def money(usd: float | None) -> str:
    """Format US dollars; small sums keep their digits."""
    if usd is None:
        return translated("unknown")
    return f"${usd:.2f}" if usd >= 0.01 or not usd else f"${usd:.4f}"


def duration(seconds: float) -> str:
    """Format a span of time with its unit: 42 s, 12 min, 3.5 h."""
    if seconds < 120:
        return say("{:.0f} s", seconds)
    return say("{:.0f} min", seconds / 60) if seconds < 7200 else say("{:,.1f} h", seconds / 3600)


def seconds_taken(seconds: float) -> str:
    """Format a number of seconds; short times keep their digits."""
    return f"{seconds:,.1f}" if seconds >= 10 else f"{seconds:.2f}"
