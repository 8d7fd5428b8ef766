from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from hips.data import Demonstrations, export_minari, import_minari
from hips.errors import DatasetError, MissingExtraError
from tests.toys import LineWorld

IDENTIFIER = "line/expert-v0"


@pytest.fixture(autouse=True)
def minari_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


@pytest.fixture
def small(dataset: Demonstrations) -> Demonstrations:
    return dataset.select(np.arange(12))


def test_out_and_in_again(small: Demonstrations) -> None:
    export_minari(small, IDENTIFIER)
    back = import_minari(IDENTIFIER, LineWorld())
    np.testing.assert_array_equal(back.starts, small.starts)
    np.testing.assert_array_equal(back.actions, small.actions)
    np.testing.assert_array_equal(back.offsets, small.offsets)
    assert back.manifest["source"] == {"minari": IDENTIFIER, "episodes_left_out": 0}


def test_other_projects_see_grids_actions_and_a_reward_at_the_goal(small: Demonstrations) -> None:
    import minari

    export_minari(small, IDENTIFIER)
    dataset = minari.load_dataset(IDENTIFIER)
    assert dataset.total_episodes == 12
    trajectories = small.replay()
    for i, episode in enumerate(dataset.iterate_episodes()):
        part = slice(trajectories.offsets[i], trajectories.offsets[i + 1])
        np.testing.assert_array_equal(episode.observations, trajectories.states[part])
        assert episode.rewards.tolist() == [0.0] * (len(episode.rewards) - 1) + [1.0]
        assert episode.terminations[-1]
        assert not episode.truncations.any()


def write_foreign(observations: np.ndarray, actions: list[int], num_actions: int = 2) -> None:
    import minari
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer

    steps = len(actions)
    buffer = EpisodeBuffer(
        id=0,
        observations=list(observations),
        actions=actions,
        rewards=[0.0] * steps,
        terminations=[False] * steps,
        truncations=[False] * (steps - 1) + [True],
    )
    minari.create_dataset_from_buffers(
        IDENTIFIER,
        [buffer],
        observation_space=spaces.Box(0, 9, observations.shape[1:], observations.dtype.type),
        action_space=spaces.Discrete(num_actions),
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
class TestForeign:
    def walk(self, steps: int) -> np.ndarray:
        return np.stack([np.eye(8, dtype=np.uint8)[i : i + 1] for i in range(steps + 1)])

    def test_a_dataset_without_our_metadata(self) -> None:
        write_foreign(self.walk(7), [1] * 7)
        assert import_minari(IDENTIFIER, LineWorld()).plan(0).tolist() == [1] * 7

    def test_episodes_that_reach_no_goal(self) -> None:
        write_foreign(self.walk(3), [1] * 3)
        with pytest.raises(DatasetError, match="no episode"):
            import_minari(IDENTIFIER, LineWorld())

    def test_observations_of_another_shape(self) -> None:
        write_foreign(self.walk(7), [1] * 7)
        with pytest.raises(DatasetError, match="needs uint8 grids"):
            import_minari(IDENTIFIER, LineWorld(length=9))

    def test_observations_that_are_no_grids(self) -> None:
        write_foreign(self.walk(7).astype(np.float32), [1] * 7)
        with pytest.raises(DatasetError, match="float32"):
            import_minari(IDENTIFIER, LineWorld())

    def test_symbols_that_do_not_exist(self) -> None:
        write_foreign(self.walk(7) * 9, [1] * 7)
        with pytest.raises(DatasetError, match="symbols"):
            import_minari(IDENTIFIER, LineWorld())

    def test_actions_that_do_not_exist(self) -> None:
        write_foreign(self.walk(7), [1] * 6 + [3], num_actions=5)
        with pytest.raises(DatasetError, match="left, right"):
            import_minari(IDENTIFIER, LineWorld())


def test_a_dataset_that_is_not_there() -> None:
    with pytest.raises(DatasetError, match="nothing/here-v0"):
        import_minari("nothing/here-v0", LineWorld())


def test_an_identifier_minari_does_not_take(small: Demonstrations) -> None:
    with pytest.raises(DatasetError, match="rejected"):
        export_minari(small, "no version")


def test_exporting_twice_is_refused(small: Demonstrations) -> None:
    export_minari(small, IDENTIFIER)
    with pytest.raises(DatasetError, match="rejected"):
        export_minari(small, IDENTIFIER)


def test_without_minari(small: Demonstrations, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(MissingExtraError, match=r"hips-epsilon\[minari\]"):
        export_minari(small, IDENTIFIER)
