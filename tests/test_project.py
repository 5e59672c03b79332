import inspect
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import skrank

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^python3 -m venv .*$", README, flags=re.MULTILINE)


def public_objects():
    """Classes and functions that the public modules name in ``__all__``."""
    for name in ["skrank", "skrank.losses", "skrank.metrics"]:
        module = import_module(name)
        for member in getattr(module, "__all__", []):
            item = getattr(module, member)
            if inspect.isclass(item) or inspect.isfunction(item):
                yield pytest.param(item, id=f"{name}.{member}")


def test_readme_has_two_commands_each_with_its_own_environment():
    assert len(COMMANDS) == 2
    for command in COMMANDS:
        environment = re.match(r"python3 -m venv (\S+) && ", command)[1]
        assert command.count(f"{environment}/bin/") == 2
    quickstart, tests = COMMANDS
    assert "'.[plot]'" in quickstart
    assert quickstart.endswith("examples/quickstart.py")
    assert "'.[test]'" in tests
    assert "pytest" in tests


def test_ci_runs_the_test_command_of_the_readme():
    script = ROOT / ".ci" / "run"
    text = script.read_text()
    assert script.stat().st_mode & 0o100
    assert "set -euo pipefail" in text
    pattern = re.search(r"grep -E '(.*)' README\.md", text)[1]
    matches = [line for line in README.splitlines() if re.search(pattern, line)]
    assert matches == [COMMANDS[1]]
    for step in ["ruff check", "ruff format --check", "mypy", "examples/quickstart.py"]:
        assert step in text


def test_files_named_in_the_readme_exist():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert links
    assert not missing


def test_version_is_the_same_everywhere():
    version = PYPROJECT["project"]["version"]
    assert skrank.__version__ == version
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## (\S+)", changelog, flags=re.MULTILINE)[1] == version


def test_runtime_dependencies():
    names = {re.match(r"[\w-]+", line)[0] for line in PYPROJECT["project"]["dependencies"]}
    required = "scikit-learn numpy scipy cvxpy joblib numba threadpoolctl tqdm"
    assert names == set(required.split())
    assert {"plot", "dask", "test", "docs", "dev"} <= set(
        PYPROJECT["project"]["optional-dependencies"]
    )


@pytest.mark.parametrize("item", list(public_objects()))
def test_public_names_have_examples(item):
    doc = inspect.getdoc(item) or ""
    assert doc, f"{item.__name__} has no docstring"
    assert re.search(r"^Examples\n-{8}\n", doc, flags=re.MULTILINE)
    assert ">>> " in doc


@pytest.mark.parametrize("module", ["cvxpy", "matplotlib", "pandas", "dask", "torch"])
def test_import_is_light(module):
    # scikit-learn itself imports pandas where it is installed
    code = (
        "import sys, sklearn.metrics; before = set(sys.modules); "
        f"import skrank, skrank.metrics; sys.exit({module!r} in set(sys.modules) - before)"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=False)
    assert finished.returncode == 0, f"import skrank imports {module}"
