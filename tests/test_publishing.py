"""What publishes the course runs what README says, and no more."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8"))
JOBS = WORKFLOW["jobs"]
STEPS = {name: job["steps"] for name, job in JOBS.items()}


def commands(name: str) -> list[str]:
    return [step["run"] for step in STEPS[name] if "run" in step]


def test_the_workflow_runs_the_two_commands_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    build, test = (
        re.search(rf"\*\*{what}\*\*.*?\n\n    (make \w+)", readme, re.DOTALL)[1]
        for what in ("Build the book", "Run the tests")
    )
    assert [command for command in commands("build") if command.startswith("make")] == [test, build]
    assert commands("publish") == []


def test_what_is_uploaded_is_where_the_book_is_built():
    (upload,) = [step for step in STEPS["build"] if step.get("uses", "").startswith("actions/upload-pages-artifact@")]
    assert upload["with"]["path"] == "_build/html"
    assert STEPS["build"].index(upload) == len(STEPS["build"]) - 1
    assert "_build/html/index.html" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_only_main_publishes_and_only_publishing_may_write():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "permissions" not in JOBS["build"]
    assert JOBS["publish"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert JOBS["publish"]["needs"] == "build"
    assert "github.ref == 'refs/heads/main'" in JOBS["publish"]["if"]
    assert "github.event_name != 'pull_request'" in JOBS["publish"]["if"]


def test_each_action_is_of_one_major_version_and_each_job_ends():
    used = [step["uses"] for steps in STEPS.values() for step in steps if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []
    assert all(job["timeout-minutes"] <= 90 for job in JOBS.values())


def minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", version).groups()))


def test_workflow_and_binder_have_a_python_that_the_library_accepts():
    low, high = re.search(r'requires-python = ">=([\d.]+),<([\d.]+)"', (ROOT / "pyproject.toml").read_text()).groups()
    (python,) = [step["with"]["python-version"] for step in STEPS["build"] if "setup-python" in step.get("uses", "")]
    for version in (python, (ROOT / "binder" / "runtime.txt").read_text()):
        assert minor(low) <= minor(version) < minor(high)


def test_binder_installs_the_course_in_its_exact_versions():
    """repo2docker reads the folder `binder` alone where there is one."""
    lines = (ROOT / "binder" / "requirements.txt").read_text().splitlines()
    named = dict(line.split() for line in lines if line.startswith("--"))
    assert named == {"--requirement": "../requirements.txt", "--constraint": "../constraints.txt"}
    assert all((ROOT / "binder" / file).is_file() for file in named.values())
    assert (ROOT / "requirements.txt").read_text().splitlines()[0] == "-e ."
