"""``/api/v1``: all that the pages, `clew.Client` and other programs can do."""

from clew.web.api import answering, edits, files, people, results

#: Routers of the app.
ROUTERS = tuple(part.router for part in (answering, results, edits, files, people))
