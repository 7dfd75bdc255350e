"""Session files of AI coding tools -> typed events, in flat memory, with every line accounted for.

`discover.find()` yields the sessions of all hosts, `registry.read(session, report)` yields a session's events,
`messages.merge(events)` puts an assistant's split message together, `survey.survey(sessions)` counts.
"""
