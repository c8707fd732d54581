"""Which features of networks are said to make the difference."""

from __future__ import annotations

from labgrade.core.task import InputSpec, SubjectSpec
from labgrade.diagnosis.networks.called import Called
from labgrade.diagnosis.networks.small_networks import SmallNetwork, networks
from labgrade.diagnosis.probe import Trial
from labgrade.diagnosis.separating import features, separating
from labgrade.verdict import correct, incorrect

IMAGES = networks()


def called(is_right, among=IMAGES):
    """A function that is right on the networks of whose features something holds."""
    return [
        Called(network=each, trial=Trial(verdict=correct() if is_right(features(each)) else incorrect("off")))
        for each in among
    ]


def test_a_feature_that_makes_the_difference_is_named():
    assert separating(called(lambda have: "a stride" not in have)) == ("a stride",)
    assert separating(called(lambda have: "several convolutions" not in have)) == ("several convolutions",)


def test_what_two_features_are_needed_for_is_named_as_a_pair():
    both = called(lambda have: not {"a batch of several", "linear layers"} <= have)
    assert separating(both) == ("a batch of several and linear layers",)
    also = called(lambda have: "a stride" not in have and not {"a batch of several", "linear layers"} <= have)
    assert separating(also) == ("a stride", "a batch of several and linear layers")


def test_nothing_is_named_that_the_difference_does_not_hang_on():
    assert separating(called(lambda have: "dilation" in have)) == ()
    assert separating(called(lambda have: False)) == ()
    mixed = called(lambda have: "groups" not in have)
    mixed[0] = Called(network=mixed[9].network, trial=Trial(verdict=correct()))  # one with groups is right
    assert separating(mixed) == ()


def config(words):
    subject = SubjectSpec(model="config", input=InputSpec(shape=()), options={}, passing=True)
    return SmallNetwork(subject=subject, words=words, rank=0)


def test_a_key_of_a_config_is_named_where_the_own_one_is_right():
    some = called(lambda have: have != {"another `b`"}, [config("another `a`"), config("another `b`"), config("")])
    assert separating(some, own=True) == ("another `b`",)
    several = called(lambda have: have != {"another `b`"}, [config(f"another `{key}`") for key in "abc"])
    assert separating(several, own=True) == ("another `b`",)
    assert separating(several, own=False) == ()


def test_a_file_has_more_than_the_words_that_it_is_called_by():
    subject = SubjectSpec(model="generated/branches.onnx", input=InputSpec(shape=(1, 3)), options={})
    files = [
        SmallNetwork(subject=subject, words=words, rank=0)
        for words in ("a skip", "a skip", "a loop", "a loop", "a loop")
    ]
    seen = [
        Called(network=each, trial=Trial(verdict=correct() if each.words == "a loop" else incorrect("off")))
        for each in files
    ]
    assert separating(seen) == ()
