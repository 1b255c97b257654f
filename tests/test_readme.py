"""What README promises runs."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_first_example_prints_what_it_says(capsys):
    example, _ = EXAMPLES
    exec(example, {})
    printed = capsys.readouterr().out
    assert re.fullmatch(r"tensor\(\[(\d\.\d+,? ?){6}\]\)\n", printed)
    (first,) = re.findall(r"nats, by layer: (\S+),", example)
    assert printed.startswith(f"tensor([{first}"), printed


def test_the_second_example_finds_what_it_says(capsys):
    example = EXAMPLES[1]
    exec(example, {})
    (says,) = re.findall(r"# (6 layers: .*) \.\.\.", example)
    assert capsys.readouterr().out.startswith(says)


def test_the_commands_are_in_the_makefile_and_the_picture_is_there():
    rules = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"make ([a-z]+)", README)) <= set(rules)
    (picture,) = re.findall(r'<img src="([^"]+)"', README)
    assert (ROOT / picture).stat().st_size < 200_000
