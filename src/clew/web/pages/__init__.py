"""The pages, drawn here with Jinja; scripts add what moves."""

from clew.web.pages import asking, groups, progress, project, review

#: Routers of the pages.
ROUTERS = tuple(part.router for part in (asking, groups, review, progress, project))
