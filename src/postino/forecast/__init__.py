"""Forecasts: what would run when, by the real rules on a copy of the queue and a virtual clock. Nothing is sent."""
