import json

import pytest
import torch
from torch import nn

from coterie.engine.adam import Adam
from coterie.engine.callbacks import Checkpoint, Progress
from coterie.engine.checkpoint import stored_identity
from coterie.engine.device import resolve_device
from coterie.engine.loop import Callback, Loop
from coterie.engine.stopping import Settling
from coterie.errors import InputError, InterruptedWarning
from coterie.store import read_archive


class Regression:
    """A small task: a linear layer with noise on its input, whose randomness follows from the epoch."""

    def __init__(self, rate: float = 0.05) -> None:
        self.layer = nn.Linear(3, 1)
        nn.init.constant_(self.layer.weight, 0.1)
        nn.init.zeros_(self.layer.bias)
        self.optimizer = Adam(self.layer.parameters(), rate)
        self.generator = torch.Generator()
        self.carried: list = []
        self.rates: list[float] = []

    def begin_epoch(self, epoch):
        self.generator.manual_seed(epoch)

    def losses(self, batch):
        noise = torch.randn(batch.shape, generator=self.generator)
        self.rates.append(self.optimizer.rate)
        error = (self.layer(batch + 0.1 * noise) - batch.sum(1, keepdim=True)).square().mean()
        return {"loss": error, "half": error / 2}, len(batch)

    def after_step(self, carried):
        self.carried.append(carried)

    def end_epoch(self, epoch):
        return {"weight": float(self.layer.weight.detach().sum())}

    def state(self):
        return dict(self.layer.state_dict())

    def load_state(self, state):
        self.layer.load_state_dict(state)


def some_batches(epoch):
    generator = torch.Generator().manual_seed(100 + epoch)
    return [torch.randn(8, 3, generator=generator) for _ in range(4)]


def loop_of(task, epochs=6, **options):
    return Loop(task, some_batches, per_epoch=4, max_epochs=epochs, **options)


def test_training_lowers_the_loss_and_records_each_epoch():
    task = Regression()
    loop = loop_of(task, 40)
    loop.run()
    assert [record["epoch"] for record in loop.history] == list(range(40))
    assert loop.history[-1]["loss"] < 0.2 * loop.history[0]["loss"]
    assert loop.history[5]["half"] == pytest.approx(loop.history[5]["loss"] / 2)
    assert loop.history[-1]["weight"] == pytest.approx(float(task.layer.weight.detach().sum()))
    assert task.carried == [8] * 160
    assert all(record["seconds"] > 0 for record in loop.history)


def test_the_schedule_scales_the_rate_by_the_share_of_training_done():
    task = Regression(rate=0.2)
    loop_of(task, 2, schedule=lambda done: 1 - done).run()
    assert task.rates == pytest.approx([0.2 * (1 - step / 8) for step in range(8)])


def test_gradients_and_losses_are_added_over_processes():
    class Doubled:
        """A peer that always has three times the gradients and losses of this process."""

        rank, size = 0, 2

        def sum(self, values):
            return values * 4

    gradients, losses = {}, {}
    for name, options in {"alone": {}, "two": {"collectives": Doubled()}}.items():
        loop = loop_of(Regression(), 1, **options)
        losses[name] = {key: float(value.detach()) for key, value in loop.step(some_batches(0)[0]).items()}
        gradients[name] = [parameter.grad.clone() for parameter in loop._parameters]
    torch.testing.assert_close(gradients["two"], [4 * gradient for gradient in gradients["alone"]])
    assert losses["two"] == pytest.approx({key: 4 * value for key, value in losses["alone"].items()})


def test_an_interrupt_ends_training_with_a_warning_and_keeps_the_history():
    class Interrupt(Callback):
        def on_batch_end(self, loop):
            if loop.epoch == 2:
                raise KeyboardInterrupt

    ends = []

    class End(Callback):
        def on_end(self, loop):
            ends.append(loop.epoch)

    loop = loop_of(Regression(), callbacks=[Interrupt(), End()])
    with pytest.warns(
        InterruptedWarning, match=r"^Interrupted in epoch 3 of 6; the model is finished as it is\.$"
    ):
        loop.run()
    assert loop.interrupted
    assert len(loop.history) == 2
    assert ends == [2]


@pytest.mark.parametrize("stopped_after", [1, 2, 5])
def test_a_resumed_run_ends_bit_for_bit_like_one_that_was_never_stopped(
    tmp_path, checkpoint_every_epoch, stopped_after
):
    whole = Regression()
    loop_of(whole, schedule=lambda done: 1 - 0.9 * done).run()

    class Stop(Callback):
        def on_epoch_end(self, loop, record):
            if loop.epoch == stopped_after:
                raise SystemExit

    path = tmp_path / "state.coterie"
    options = {"schedule": lambda done: 1 - 0.9 * done}
    with pytest.raises(SystemExit):
        loop_of(Regression(), callbacks=[Checkpoint(path, {"task": 1}), Stop()], **options).run()
    resumed = Regression()
    loop = loop_of(resumed, callbacks=[Checkpoint(path, {"task": 1})], **options)
    loop.run()
    assert len(resumed.carried) == 4 * (6 - stopped_after)
    assert torch.equal(resumed.layer.weight, whole.layer.weight)
    assert torch.equal(resumed.layer.bias, whole.layer.bias)
    assert [record["epoch"] for record in loop.history] == list(range(6))


def test_checkpoints_come_every_few_epochs_and_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.engine.callbacks.CHECKPOINT_EVERY", 2)
    written = []

    class Watch(Checkpoint):
        def on_epoch_end(self, loop, record):
            super().on_epoch_end(loop, record)
            written.append(read_archive(self.path)[0]["epoch"] if self.path.exists() else None)

    loop_of(Regression(), 5, callbacks=[Watch(tmp_path / "c", {})]).run()
    assert written == [None, 2, 2, 4, 5]


def test_a_checkpoint_of_another_run_is_refused_with_what_differs(tmp_path):
    path = tmp_path / "c"
    loop_of(Regression(), 1, callbacks=[Checkpoint(path, {"seed": 1, "data": [5, (2, 3)]})]).run()
    assert stored_identity(path) == {"seed": 1, "data": [5, [2, 3]]}
    with pytest.raises(
        InputError, match="belongs to a run with another seed; delete it or give another path"
    ):
        loop_of(Regression(), 1, callbacks=[Checkpoint(path, {"seed": 2, "data": [5, (2, 3)]})]).run()


def test_progress_is_silent_without_a_terminal(capsys):
    loop_of(Regression(), 2, callbacks=[Progress("task")]).run()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_progress_shows_the_epoch_and_time_left_on_a_terminal(monkeypatch):
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    loop_of(Regression(), 3, callbacks=[Progress("digits")]).run()
    assert "digits" in screen.getvalue()
    assert "of 3" in screen.getvalue()
    assert "left" in screen.getvalue()


def test_history_can_be_written_as_json():
    loop = loop_of(Regression(), 2)
    loop.run()
    assert json.loads(json.dumps(loop.history)) == loop.history


def test_an_unknown_device_is_one_sentence():
    with pytest.raises(InputError, match="device='quantum' cannot be used on this machine"):
        resolve_device("quantum")


def test_a_gpu_without_double_precision_is_not_taken_by_itself(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert resolve_device("auto").type == "cpu"


def settled_loop(callbacks=()):
    """A linear regression that has learned all it can after some epochs."""
    task = Regression(rate=0.1)
    task.end_epoch = lambda epoch: {"changed": 0.0}
    settling = Settling(200, 4, losses=0.1)
    return Loop(task, some_batches, per_epoch=4, max_epochs=200, settling=settling, callbacks=callbacks), task


def test_a_loop_ends_when_it_has_settled_and_a_resumed_one_where_the_whole_does(
    tmp_path, checkpoint_every_epoch
):
    whole, task = settled_loop()
    whole.run()
    assert 2 * 13 < len(whole.history) == whole.last_epoch < 200
    assert task.rates[-1] < 0.001 < task.rates[len(task.rates) // 2] == pytest.approx(0.1)

    class Dies(Checkpoint):
        def on_epoch_end(self, loop, record):
            super().on_epoch_end(loop, record)
            if loop.epoch == whole.last_epoch - 2:  # while the rate falls
                raise SystemExit

    dying, _ = settled_loop([Dies(tmp_path / "c", {})])
    with pytest.raises(SystemExit):
        dying.run()
    resumed, again = settled_loop([Checkpoint(tmp_path / "c", {})])
    resumed.run()
    assert len(resumed.history) == len(whole.history)
    assert torch.equal(again.layer.weight, task.layer.weight)
