#!/usr/bin/env python3
"""Trains a small recurrent language model on text with JAX, byte by byte, fed by Headrace; split over all local devices.

    python examples/jax_text.py FILE... [--field NAME] [--cluster HOST:PORT]

FILEs are text (a record is a line) or JSON Lines (--field: which field is the text). Without --cluster, a cluster runs inside this
process. To see it split over devices on one CPU: XLA_FLAGS=--xla_force_host_platform_device_count=4.

Needs jax and headrace. Prints the loss as it goes, and as its last line the mean loss of the epoch's first and last tenth, in nats a byte.
"""
import argparse
import functools
from typing import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import headrace as hr
import headrace.jax

WIDTH, UNITS = 64, 192
END = 10  # a line break ends a record


def pipeline_for(files: list[str], field: str | None, lines: int, passes: int) -> hr.Pipeline:
    pipeline = hr.read(files, "jsonl" if field else "text").repeat(passes)
    if field:
        pipeline = pipeline.json_fields(**{field: hr.bytes_})
    return pipeline.shuffle(2000, seed=1).batch(lines)


def windows(batches: Iterator[dict], field: str, rows: int, length: int) -> Iterator[dict[str, np.ndarray]]:
    """uint8 [rows, length + 1] of consecutive text, cut out of the batches' bytes as they lie in memory."""
    rest = np.empty(0, np.uint8)
    for batch in batches:
        column = batch[field]  # a BytesColumn: all lines' bytes in one array, and where each begins
        ends = (column.offsets[1:] - column.offsets[0]).astype(np.int64)
        rest = np.concatenate([rest, np.insert(column.data, ends, END)])
        size = rows * (length + 1)
        while rest.size >= size:
            yield {"bytes": rest[:size].reshape(rows, length + 1)}
            rest = rest[size:]


def initial(key: jax.Array) -> dict[str, jax.Array]:
    keys = jax.random.split(key, 4)
    scale = lambda k, *shape: jax.random.normal(k, shape) / np.sqrt(shape[0])  # noqa: E731
    return {"embed": scale(keys[0], 256, WIDTH), "in": scale(keys[1], WIDTH, 3 * UNITS), "state": scale(keys[2], UNITS, 3 * UNITS),
            "out": scale(keys[3], UNITS, 256)}


def loss_of(params: dict[str, jax.Array], text: jax.Array) -> jax.Array:
    """Mean cross-entropy of each byte given those before it, by a gated recurrent unit."""
    text = text.astype(jnp.int32)
    inputs = (params["embed"][text[:, :-1]] @ params["in"]).swapaxes(0, 1)

    def step(state, x):
        xr, xz, xn = jnp.split(x, 3, axis=-1)
        hr_, hz, hn = jnp.split(state @ params["state"], 3, axis=-1)
        z = jax.nn.sigmoid(xz + hz)
        state = z * state + (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr_) * hn)
        return state, state

    _, states = jax.lax.scan(step, jnp.zeros((text.shape[0], UNITS)), inputs)
    logits = states @ params["out"]
    wanted = text[:, 1:].swapaxes(0, 1)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[..., None], axis=-1))


@functools.partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, moments, text, step):
    """One step of Adam."""
    loss, gradients = jax.value_and_grad(loss_of)(params, text)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradients)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, moments[1], gradients)
    rate = 3e-3 * jnp.sqrt(1 - 0.99**step) / (1 - 0.9**step)
    params = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, (mean, square), loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--field", help="the files are JSON Lines, and this field is the text")
    parser.add_argument("--cluster", help="the dispatcher's address; left out: a cluster inside this process")
    parser.add_argument("--passes", type=int, default=1, help="times that each line comes in the epoch")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--length", type=int, default=64, help="bytes in a row")
    args = parser.parse_args()

    mesh = Mesh(jax.devices(), ("batch",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    params = jax.device_put(initial(jax.random.key(0)), everywhere)
    moments = jax.device_put((jax.tree.map(jnp.zeros_like, params),) * 2, everywhere)
    moments = jax.tree.map(jnp.copy, moments)  # donated: each its own memory
    losses: list[jax.Array] = []
    with hr.connect(args.cluster) if args.cluster else hr.local(workers=1) as cluster:
        stream = cluster.stream(pipeline_for(args.files, args.field, 64, args.passes))
        for batch in windows(iter(stream), args.field or "line", args.rows, args.length):
            text = hr.jax.to_arrays(batch, "local")["bytes"]
            params, moments, loss = train_step(params, moments, text, len(losses) + 1)
            losses.append(loss)
            if len(losses) % 20 == 1:
                print(f"step {len(losses) - 1}: loss {float(loss):.3f}", flush=True)
    tenth = max(len(losses) // 10, 1)
    first, last = (float(sum(part) / tenth) for part in (losses[:tenth], losses[-tenth:]))
    print(f"{len(losses)} steps on {len(jax.devices())} devices, loss {first:.3f} -> {last:.3f}")


if __name__ == "__main__":
    main()
