"""Training of a multi-layer perceptron in JAX, without XLA's own graphs: many small kernels, launched one by one.

Same shape as the jobs of perf_jobs.py. The batch changes with every step; Adam is written by hand.
"""

import hashlib
import os

# Command buffers are XLA's CUDA graphs; with them there is nothing left to launch. Autotuning may choose by time.
FLAGS = "--xla_gpu_enable_command_buffer= --xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402

BATCHES, LAYERS, BATCH, WIDTH = 16, 12, 256, 512
RATE, DECAY, DECAY_SQUARE, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def forward(layers, x):
    for weight, bias, scale in layers:
        centred = x - x.mean(axis=-1, keepdims=True)
        normed = centred * jax.lax.rsqrt(jnp.square(centred).mean(axis=-1, keepdims=True) + 1e-5) * scale
        x = x + jax.nn.gelu(normed @ weight + bias)
    return x


def loss_of(layers, x, target):
    return jnp.square(forward(layers, x) - target).mean()


def train_step(state, x, target):
    """(parameters, first moments, second moments, number) after one step, and the loss."""
    layers, first, second, number = state
    loss, gradients = jax.value_and_grad(loss_of)(layers, x, target)
    number = number + 1
    first = jax.tree.map(lambda m, g: DECAY * m + (1 - DECAY) * g, first, gradients)
    second = jax.tree.map(lambda v, g: DECAY_SQUARE * v + (1 - DECAY_SQUARE) * g * g, second, gradients)

    def moved(p, m, v):
        return p - RATE * (m / (1 - DECAY ** number)) / (jnp.sqrt(v / (1 - DECAY_SQUARE ** number)) + EPSILON)

    return (jax.tree.map(moved, layers, first, second), first, second, number), loss


class Job:
    """State and data; each step() is one call of the jitted step, which returns before the device is done."""

    def __init__(self, options):
        depth, width = (2, 32) if options.tiny else (LAYERS, WIDTH)
        random = numpy.random.default_rng(1)

        def normal(*shape):
            return jnp.asarray(random.standard_normal(shape, dtype=numpy.float32))

        layers = [(normal(width, width) * width ** -0.5, jnp.zeros(width), jnp.ones(width)) for _ in range(depth)]
        zeros = jax.tree.map(jnp.zeros_like, layers)
        self.state = (layers, zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros((), jnp.float32))
        self.batches = [(normal(BATCH, width), normal(BATCH, width)) for _ in range(BATCHES)]
        self.train_step = jax.jit(train_step, donate_argnums=0)
        self.steps, self.losses = 0, []

    def step(self):
        self.state, loss = self.train_step(self.state, *self.batches[self.steps % BATCHES])
        self.steps += 1
        if self.steps % 10 == 0:
            self.losses.append(float(loss))

    def wait(self):
        jax.block_until_ready(self.state)

    def finish(self):
        self.wait()
        digest = hashlib.sha256(" ".join(loss.hex() for loss in self.losses).encode())
        for leaf in jax.tree.leaves(self.state[0]):
            digest.update(numpy.asarray(leaf).tobytes())
        return digest.hexdigest()

    def about(self):
        leaves = jax.tree.leaves(self.state[0])
        return {"jax": jax.__version__, "parameters": sum(leaf.size for leaf in leaves), "platform": jax.default_backend(),
                "deterministic": True}
