# Hooks of MkDocs: a link from a page to a file outside of docs/ leads to the repository; tables get the class that the theme knows.

import posixpath
import re

LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def on_page_markdown(markdown, page, config, **_):
    folder = posixpath.dirname(page.file.src_uri)

    def outside(match):
        path = posixpath.normpath(posixpath.join("docs", folder, match[2]))
        if path.startswith("docs/"):
            return match[0]
        return f"{match[1]}{config.repo_url}/blob/main/{path}{match[3]}"

    return LINK.sub(outside, markdown)


def on_page_content(html, **_):
    return html.replace("<table>", '<table class="docutils">')
