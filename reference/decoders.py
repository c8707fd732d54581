"""Decoders from their configuration: parameters, operations, memory. No model is built.

A decoder has an embedding, `layers` of attention and a feed-forward part, each behind an RMS norm with one weight for
each of the `width` numbers, a last norm and an output layer; nothing has a bias. `heads` queries, and `kv_heads` keys
and values, are `head_dim` wide. The feed-forward part has `ff_matrices` of width x ff: 3 where it is gated, the
default.
`tied`: the output layer is the embedding.
"""

from __future__ import annotations

from typing import Any

from ._config import known

Config = dict[str, Any]


def _attention(config: Config) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of each projection of a layer."""
    queries, keys = config["heads"] * config["head_dim"], config["kv_heads"] * config["head_dim"]
    return {
        "q": (config["width"], queries),
        "k": (config["width"], keys),
        "v": (config["width"], keys),
        "o": (queries, config["width"]),
    }


def _matrices(config: Config) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of each matrix of a layer."""
    up, down = (config["width"], config["ff"]), (config["ff"], config["width"])
    gated = {"gate": up} if config.get("ff_matrices", 3) == 3 else {}  # noqa: PLR2004 - gate, up and down
    return {**_attention(config), **gated, "up": up, "down": down}


def _full_heads(config: Config) -> Config:
    return {**config, "kv_heads": config["heads"]}


def decoder_parameters(config: Config) -> int:
    """How many parameters a decoder has."""
    known(config)
    width = config["width"]
    layer = sum(rows * columns for rows, columns in _matrices(config).values()) + 2 * width
    embeddings = config["vocab"] * width * (1 if config.get("tied") else 2)
    return int(embeddings + config["layers"] * layer + width)


def decoder_parameters_of_all_heads(config: Config) -> int:
    """The parameters of a decoder, with keys and values for each head.

    Slip of: decoder_parameters
    Hint: Keys and values are counted for all heads. Heads share them in groups: their matrices are only kv_heads x
        head_dim wide.
    Credit: 0.5
    """
    return decoder_parameters(_full_heads(config))


def decoder_parameters_of_one_embedding(config: Config) -> int:
    """The parameters of a decoder whose output layer is its embedding.

    Slip of: decoder_parameters
    Hint: The output layer has no matrix of its own here. It is tied to the embedding only where the task says so.
    Credit: 0.5
    """
    return decoder_parameters({**config, "tied": True})


def decoder_parameters_of_two_embeddings(config: Config) -> int:
    """The parameters of a decoder whose output layer has a matrix of its own.

    Slip of: decoder_parameters
    Hint: The output layer is counted beside the embedding, to which it is tied here.
    Credit: 0.5
    """
    return decoder_parameters({**config, "tied": False})


def decoder_parameters_ungated(config: Config) -> int:
    """The parameters of a decoder with two matrices in each feed-forward part.

    Slip of: decoder_parameters
    Hint: The feed-forward part has two matrices here. A gated one has three.
    Credit: 0.5
    """
    return decoder_parameters({**config, "ff_matrices": 2})


def decoder_parameters_without_norms(config: Config) -> int:
    """The parameters of a decoder's matrices.

    Slip of: decoder_parameters
    Hint: The weights of the norms are missing, two in each layer and one behind the last.
    Credit: 0.7
    """
    return decoder_parameters(config) - int((2 * config["layers"] + 1) * config["width"])


def decoder_flops(config: Config) -> int:
    """FLOPs of the matrix products of a forward pass over `batch` sequences of `tokens`, two for each MAC.

    The products of queries with keys and of scores with values are whole, as without a mask.
    """
    known(config)
    products = sum(rows * columns for rows, columns in _matrices(config).values())
    scores = 2 * config["tokens"] * config["heads"] * config["head_dim"]
    positions = config["tokens"] * config.get("batch", 1)
    return int(2 * positions * (config["layers"] * (products + scores) + config["width"] * config["vocab"]))


def decoder_macs(config: Config) -> int:
    """Multiply-accumulates of a forward pass.

    Slip of: decoder_flops
    Hint: These are multiply-accumulates. A product and a sum are two operations.
    Credit: 0.5
    """
    return decoder_flops(config) // 2


def decoder_flops_without_scores(config: Config) -> int:
    """FLOPs of a forward pass: two for each weight and token.

    Slip of: decoder_flops
    Hint: The products of queries with keys, and of scores with values, are missing; they grow with the square of the
        tokens.
    Credit: 0.5
    """
    scores = 4 * config["tokens"] ** 2 * config["heads"] * config["head_dim"] * config.get("batch", 1)
    return decoder_flops(config) - int(config["layers"] * scores)


def decoder_flops_without_output(config: Config) -> int:
    """FLOPs of a decoder's layers.

    Slip of: decoder_flops
    Hint: The output layer is missing, a product with the whole vocabulary for each token.
    Credit: 0.5
    """
    positions = config["tokens"] * config.get("batch", 1)
    return decoder_flops(config) - int(2 * positions * config["width"] * config["vocab"])


def decoder_flops_masked(config: Config) -> int:
    """FLOPs of a forward pass, half of the scores left out.

    Slip of: decoder_flops
    Hint: Half of attention's products are left out: those of queries with keys, those of scores with values, or what a
        causal mask hides. The task counts both, whole.
    Credit: 0.7
    """
    return (decoder_flops(config) + decoder_flops_without_scores(config)) // 2


def decoder_flops_of_all_heads(config: Config) -> int:
    """FLOPs of a forward pass, with keys and values for each head.

    Slip of: decoder_flops
    Hint: Keys and values are projected for all heads. Heads share them in groups.
    Credit: 0.5
    """
    return decoder_flops(_full_heads(config))


def adamw_bytes(config: Config) -> int:
    """Bytes of a decoder's weights and gradients, of AdamW's two moments and of a copy of the weights, if there is one.

    `weight_bytes`, `gradient_bytes`, `moment_bytes` and `copy_bytes` are those of one number; activations are left out.
    """
    each = config["weight_bytes"] + config["gradient_bytes"] + 2 * config["moment_bytes"] + config.get("copy_bytes", 0)
    return int(decoder_parameters(config) * each)


def adamw_bytes_without_gradients(config: Config) -> int:
    """Bytes of training without gradients.

    Slip of: adamw_bytes
    Hint: The gradients are missing, one for each parameter; or, where they take as many bytes, the weights.
    Credit: 0.5
    """
    return adamw_bytes({**config, "gradient_bytes": 0})


def adamw_bytes_of_one_moment(config: Config) -> int:
    """Bytes of training with one moment.

    Slip of: adamw_bytes
    Hint: AdamW keeps two moments of each parameter: the mean of its gradients, and that of their squares.
    Credit: 0.5
    """
    return adamw_bytes(config) - decoder_parameters(config) * int(config["moment_bytes"])


def adamw_bytes_without_copy(config: Config) -> int:
    """Bytes of training without the copy of the weights that is updated.

    Slip of: adamw_bytes
    Hint: The copy of the weights in float32 is missing, which mixed precision keeps for the update.
    Credit: 0.5
    """
    return adamw_bytes({**config, "copy_bytes": 0})


def adamw_weight_bytes(config: Config) -> int:
    """Bytes of the weights.

    Slip of: adamw_bytes
    Hint: These are the weights alone. Training keeps gradients and moments, too.
    Credit: 0.2
    """
    return int(decoder_parameters(config) * config["weight_bytes"])


def kv_cache_bytes(config: Config) -> int:
    """Bytes of the keys and values that a decoder keeps of `batch` sequences of `tokens`, `bytes` each number."""
    known(config)
    numbers = config["layers"] * config["kv_heads"] * config["head_dim"] * config["tokens"] * config.get("batch", 1)
    return int(2 * numbers * config["bytes"])


def kv_cache_bytes_of_all_heads(config: Config) -> int:
    """Bytes of a cache for each head.

    Slip of: kv_cache_bytes
    Hint: This keeps keys and values of all heads. Heads of a group share them: there are only kv_heads.
    Credit: 0.5
    """
    return kv_cache_bytes(_full_heads(config))


def kv_cache_bytes_of_keys(config: Config) -> int:
    """Bytes of the keys.

    Slip of: kv_cache_bytes
    Hint: This is half: keys and values are both kept, and each number takes `bytes` bytes.
    Credit: 0.5
    """
    return kv_cache_bytes(config) // 2


def kv_cache_bytes_of_one_sequence(config: Config) -> int:
    """Bytes of the cache of one sequence.

    Slip of: kv_cache_bytes
    Hint: This is the cache of one sequence. Each sequence of the batch has its own.
    Credit: 0.5
    """
    return kv_cache_bytes({**config, "batch": 1})


def kv_cache_bytes_of_one_layer(config: Config) -> int:
    """Bytes of the cache of one layer.

    Slip of: kv_cache_bytes
    Hint: This is the cache of one layer. Each layer has its own.
    Credit: 0.5
    """
    return kv_cache_bytes({**config, "layers": 1})


def lora_parameters(config: Config) -> int:
    """Parameters that LoRA trains: rank x (inputs + outputs) of each matrix that `targets` names (q, k, v, o, ...)."""
    shapes = _matrices(known(config))
    if lacking := set(config["targets"]) - shapes.keys():
        message = f"there is no matrix {' or '.join(sorted(lacking))} in a decoder whose ff_matrices is 2"
        raise ValueError(message)
    return int(config["layers"] * config["rank"] * sum(sum(shapes[name]) for name in config["targets"]))


def lora_parameters_of_all_heads(config: Config) -> int:
    """LoRA's parameters, with keys and values for each head.

    Slip of: lora_parameters
    Hint: The matrix of the values is taken to be as wide as that of the queries. With shared heads it has only kv_heads
        x head_dim outputs.
    Credit: 0.5
    """
    return lora_parameters(_full_heads(config))


def lora_parameters_of_one_factor(config: Config) -> int:
    """The parameters of LoRA's first factor.

    Slip of: lora_parameters
    Hint: This is one of the two factors. The second leads from the rank to the outputs.
    Credit: 0.5
    """
    shapes = _matrices(config)
    return int(config["layers"] * config["rank"] * sum(shapes[name][0] for name in config["targets"]))


def lora_parameters_of_square_matrices(config: Config) -> int:
    """LoRA's parameters, with matrices of width x width.

    Slip of: lora_parameters
    Hint: Each matrix is taken to be width x width. Queries, keys and values have heads x head_dim or kv_heads x
        head_dim outputs, and the feed-forward part has ff.
    Credit: 0.4
    """
    return int(config["layers"] * config["rank"] * 2 * config["width"] * len(config["targets"]))


def lora_target_parameters(config: Config) -> int:
    """The parameters of the matrices that LoRA adapts.

    Slip of: lora_parameters
    Hint: These are the matrices themselves, which LoRA leaves as they are. It trains two narrow factors beside each.
    Credit: 0.2
    """
    shapes = _matrices(config)
    return int(config["layers"] * sum(shapes[name][0] * shapes[name][1] for name in config["targets"]))


def lora_parameters_of_one_layer(config: Config) -> int:
    """LoRA's parameters in one layer.

    Slip of: lora_parameters
    Hint: This is one layer. The matrices of all layers are adapted.
    Credit: 0.5
    """
    return lora_parameters({**config, "layers": 1})
