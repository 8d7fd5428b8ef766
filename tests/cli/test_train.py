from __future__ import annotations

import pytest

from hips.errors import ConfigError
from hips.training import session
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    "given", [["--stages", "prior,dynamics"], ["--stages", "prior", "--stages", "dynamics"]]
)
def test_stages_are_listed_or_repeated(
    run: Run, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    jobs: list[session.TrainingJob] = []

    def refuse(job: session.TrainingJob, *_: object, **__: object) -> None:
        jobs.append(job)
        raise ConfigError("seen enough")

    monkeypatch.setattr(session, "train", refuse)
    run("train", "sokoban", "--size", "smoke", *given)
    assert [job.stages for job in jobs] == [("prior", "dynamics")]


def test_an_unknown_stage_is_named_with_those_there_are(run: Run) -> None:
    result = run("train", "sokoban", "--stages", "prior,priors")
    assert result.exit_code != 0
    assert "'priors'" in str(result.exception)
    assert "dynamics" in str(result.exception)
