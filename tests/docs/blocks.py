"""The fenced blocks of a page of Markdown, and how each kind is run.

| block | what happens |
| --- | --- |
| ```python | runs, in one namespace for the page; with `>>>` in it, as a doctest |
| ```python NAME, ```csv NAME, ```yaml NAME ... | is written to the file NAME |
| ```console | each line after `$` runs; lines below it are what it must print, `...` standing for anything |
| ```text printed | is what the block before it must have printed |
| ```text | is only read |

Pages run in a folder that has the `examples` of a checkout. A command must succeed, unless `$ echo $?` follows.
What is printed only where something takes long is left out.
"""

import doctest
import io
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from unspool.cli.app import run_command

FENCE = re.compile(r"^```(\S*) ?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
ONLY_IF_SLOW = re.compile(
    r"^(compiling: .*|(?:reading|writing|generating|fitting) .* …"
    r"|(?:[\w-]+: )?(?:comparing|billing|solving|making a few runs) …"
    r"|.* (?:jobs|replicas|cases|set-ups|runs)/s, .* left)\n",
    re.MULTILINE,
)
WRITTEN = ("python", "csv", "tsv", "yaml", "toml", "json", "xml", "text")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its first line, its text, and the line of the page on which that is."""

    language: str
    name: str
    text: str
    line: int


def blocks_of(page):
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0, f"{page}: a fence is not closed"
    return [
        Block(match[1], match[2], match[3], text.count("\n", 0, match.start()) + 2) for match in FENCE.finditer(text)
    ]


def commands_of(text):
    """(command, expected output) of each `$` line of a console block."""
    first, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not first, f"a console block begins with '$ ', not with {first!r}"
    return [(command, expected) for command, _, expected in (part.partition("\n") for part in parts)]


def matches(expected, printed):
    """Whether a text was printed, blanks at the ends of lines apart; `...` stands for anything."""
    pattern = re.escape(_trimmed(expected)).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, _trimmed(printed), re.DOTALL) is not None


def _trimmed(text):
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


@dataclass
class Page:
    """A page being run: the folder that it runs in, its Python names, and what the last thing printed and returned."""

    path: Path
    folder: Path
    names: dict = field(default_factory=lambda: {"__name__": "page"})
    printed: str = ""
    code: int = 0

    def run(self):
        """Run every block in order; whatever fails names the line."""
        for block in blocks_of(self.path):
            where = f"{self.path}:{block.line}"
            if block.name and block.name != "printed":
                assert block.language in WRITTEN, f"{where}: no block of {block.language} is written to a file"
                Path(self.folder, block.name).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                self.run_python(block, where)
            elif block.language == "console":
                for command, expected in commands_of(block.text):
                    self.run_line(command, expected, where)
                assert self.code == 0, f"{where}: the last command ended with {self.code}:\n{self.printed}"
            elif block.name == "printed":
                self.check_printed(block.text, where)
            else:
                assert block.language == "text", f"{where}: blocks of '{block.language}' are not run"

    def run_python(self, block, where):
        output, failures = io.StringIO(), 0
        with redirect_stdout(output):
            if ">>>" in block.text:
                test = doctest.DocTestParser().get_doctest(block.text, {}, where, str(self.path), block.line - 1)
                test.globs = self.names
                failures = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False).failed
            else:
                lines_before = "\n" * (block.line - 1)
                exec(compile(lines_before + block.text, self.path, "exec", dont_inherit=True), self.names)
        self.printed = output.getvalue()
        assert failures == 0, self.printed

    def check_printed(self, expected, where):
        assert matches(expected, self.printed), f"{where}: printed was\n{self.printed}"

    def run_line(self, command, expected, where):
        if command == "echo $?":
            self.printed, self.code = f"{self.code}\n", 0
        else:
            assert self.code == 0, f"{where}: the command before '{command}' ended with {self.code}:\n{self.printed}"
            self.code, self.printed = self.call(command)
        assert not expected.strip() or matches(expected, self.printed), f"{where}: '{command}' printed\n{self.printed}"

    def call(self, command):
        """The exit code of a command, and what it wrote to stdout and stderr in turn."""
        program, *arguments = shlex.split(command)
        if program != "unspool":
            program = sys.executable if program == "python" else program
            done = subprocess.run(
                [program, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
            )
            return done.returncode, done.stdout + done.stderr
        output = io.StringIO()
        with redirect_stdout(output), redirect_stderr(output):
            code = run_command(arguments)
        return code, ONLY_IF_SLOW.sub("", output.getvalue())
