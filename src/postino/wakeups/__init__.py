"""Wake-ups: hints to a waiting worker that there may be work, within a process or between processes."""
