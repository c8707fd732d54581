"""What GitHub and GitLab run at each push of a student's repository: the public checks, shown where the student looks.

The virtual environment is kept between runs, with all that was installed into it and the values that were computed.
"""

from __future__ import annotations

GITHUB, GITLAB = ".github/workflows/check.yml", ".gitlab-ci.yml"
# As PyTorch's own documentation has it; what Linux gets without it is made for graphics cards, and fills gigabytes.
TORCH = "pip install torch torchvision --index-url https://download.pytorch.org/whl/cpu"
_GITHUB = """\
# Needs nothing but GitHub Actions being switched on for the repository. The summary is shown with each run; the results
# of single checks (JUnit) lie beside it, as an artifact.
name: check
on:
  push:
    branches-ignore: ["labgrade/**"]
  workflow_dispatch:
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    env:
      LABGRADE_CACHE: ${{{{ github.workspace }}}}/.venv/labgrade
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        id: python
        with: {{python-version: "3.12"}}
      - uses: actions/cache@v4
        id: kept
        with:
          path: .venv
          key: {key}-${{{{ steps.python.outputs.python-version }}}}-${{{{ hashFiles('{kit}', '{me}') }}}}
      - name: install
        if: steps.kept.outputs.cache-hit != 'true'
        run: |
          python -m venv .venv
          . .venv/bin/activate
          {torch}
          {install}
      - name: check
        run: |
          . .venv/bin/activate
          labgrade check{course} --all --json report.json && right=0 || right=$?
          labgrade export --json report.json --format github >> "$GITHUB_STEP_SUMMARY"
          labgrade export --json report.json --format junit --out junit.xml
          exit $right
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: results
          path: junit.xml
          if-no-files-found: ignore
"""
_GITLAB = """\
# Needs a runner that takes Docker images (GitLab.com's shared ones do), and CI/CD being switched on for the project.
# The results of single checks (JUnit) are shown on the pipeline's page, tab "Tests", and in merge requests.
check:
  image: python:3.12-slim
  timeout: 20 minutes
  rules:
    - if: $CI_COMMIT_BRANCH =~ /^labgrade\\//
      when: never
    - if: $CI_COMMIT_BRANCH
  variables:
    LABGRADE_CACHE: $CI_PROJECT_DIR/.venv/labgrade
  cache:
    key:
      prefix: {key}
      files: [{kit}, {me}]
    paths: [.venv/]
    when: always
  script:
    - |
      test -x .venv/bin/labgrade || {{
        python -m venv .venv
        . .venv/bin/activate
        {torch}
        {install}
      }}
    - |
      . .venv/bin/activate
      labgrade check{course} --all --json report.json && right=0 || right=$?
      labgrade export --json report.json --format markdown --out summary.md
      labgrade export --json report.json --format junit --out junit.xml
      exit $right
  artifacts:
    when: always
    expire_in: 4 weeks
    expose_as: results
    paths: [summary.md]
    reports:
      junit: junit.xml
"""


def files(install: str, *, own_code: bool, marker: str) -> dict[str, str]:
    """The files by path. `marker`: a file of the kit that changes with the labgrade that made it."""
    how = {"torch": TORCH, "install": install, "course": " --course ." if own_code else "", "key": "labgrade"}
    return {
        GITHUB: _GITHUB.format(**how, kit=marker, me=GITHUB),
        GITLAB: _GITLAB.format(**how, kit=marker, me=GITLAB),
    }
