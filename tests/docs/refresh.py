"""Write into the pages what their commands print now: `python -m tests.docs.refresh PAGE...`. Then read the diff.

Only output that is shown is renewed, and only where no `...` stands in it.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import Page


class Refreshing(Page):
    def run_line(self, command, expected, where):
        super().run_line(command, "", where)
        if expected.strip():
            self.renew(f"$ {command}\n", expected)

    def check_printed(self, expected, where):
        self.renew("```text printed\n", expected)

    def renew(self, before, expected):
        """Put what was printed in the place of what was expected, behind the line before it."""
        if "..." not in expected:
            text = self.path.read_text(encoding="utf-8")
            printed = "".join(f"{line.rstrip()}\n" for line in self.printed.splitlines())
            self.path.write_text(text.replace(before + expected, before + printed, 1), encoding="utf-8")


def main():
    for page in [Path(name).resolve() for name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "examples").symlink_to(Path(__file__).parents[2] / "examples")
            os.chdir(folder)
            sys.path.insert(0, folder)
            Refreshing(page, Path(folder)).run()
            os.chdir("/")


if __name__ == "__main__":
    main()
