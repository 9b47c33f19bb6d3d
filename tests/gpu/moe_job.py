#!/usr/bin/env python3
"""A small mixture-of-experts transformer and its training loop in plain PyTorch, as a user of Refrain would have them.

NVTX ranges stand around attention, router and preprocessing. The dispatch to the experts waits for the router's counts on
the host, as every data-dependent dispatch does: outside the ranges by default, within one by `--dispatch inside`.
Results are the same bits in every run on one device, so that two runs can be compared.
"""

import argparse
import contextlib
import hashlib
import json
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA begins; needed for equal bits

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

BATCHES = 64  # different ones, used in turn


def arguments(parser=None):
    """The options of the job, for this program and for those that run the same job."""
    parser = parser or argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--experts", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=512)
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--dispatch", default="outside", choices=["outside", "inside"],
                        help="where the expert loop stands: after the ranges, or within the range of the preprocessing")
    parser.add_argument("--out", help="file for losses, checksums and step times")
    return parser


class Ranges:
    """NVTX ranges on a GPU, nothing elsewhere."""

    def __init__(self, device):
        self.emit(device == "cuda")

    def emit(self, on):
        self.named = torch.cuda.nvtx.range if on else lambda name: contextlib.nullcontext()


class Attention(nn.Module):
    def __init__(self, options, ranges):
        super().__init__()
        self.heads, self.ranges = options.heads, ranges
        self.norm = nn.LayerNorm(options.width)
        self.project = nn.Linear(options.width, 3 * options.width)
        self.out = nn.Linear(options.width, options.width)
        self.drop_scores, self.drop_out = nn.Dropout(0.1), nn.Dropout(0.1)
        self.register_buffer("hidden", torch.ones(options.length, options.length, dtype=torch.bool).triu(1),
                             persistent=False)

    def forward(self, x):
        with self.ranges.named("attention"):
            batch, length, width = x.shape
            q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                       for part in self.project(self.norm(x)).chunk(3, dim=-1))
            scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
            scores = scores.masked_fill(self.hidden, float("-inf")).softmax(dim=-1)
            mixed = (self.drop_scores(scores) @ v).transpose(1, 2).reshape(batch, length, width)
            return x + self.drop_out(self.out(mixed))


class Experts(nn.Module):
    """Top-2 routing, tokens sorted by expert, one expert after the other with as many tokens as it got."""

    def __init__(self, options, ranges):
        super().__init__()
        self.count, self.ranges, self.inside = options.experts, ranges, options.dispatch == "inside"
        self.norm = nn.LayerNorm(options.width)
        self.router = nn.Linear(options.width, options.experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(options.width, 2 * options.width), nn.GELU(), nn.Dropout(0.1),
                          nn.Linear(2 * options.width, options.width)) for _ in range(options.experts))
        self.register_buffer("numbers", torch.arange(options.experts), persistent=False)

    def route(self, tokens):
        with self.ranges.named("router"):
            probabilities = self.router(tokens).float().softmax(dim=-1)
            weights, choice = probabilities.topk(2, dim=-1)
            weights = weights / weights.sum(dim=-1, keepdim=True)
            load = (choice.unsqueeze(-1) == self.numbers).any(dim=1).float().mean(dim=0)
            balance = (load * probabilities.mean(dim=0)).sum() * self.count
            return weights, choice, balance

    def prepare(self, tokens, choice):
        flat = choice.flatten()
        order = flat.argsort(stable=True)
        position = order.argsort()
        counts = (flat.unsqueeze(-1) == self.numbers).sum(dim=0)
        gathered = tokens.index_select(0, order // 2)
        return gathered, position, counts

    def dispatch(self, gathered, counts):
        """One launch sequence for each expert that got tokens: waits for the counts on the host."""
        outputs, first = [], 0
        for expert, count in zip(self.experts, counts.tolist()):
            if count > 0:
                outputs.append(expert(gathered[first:first + count]))
            first += count
        return torch.cat(outputs)

    def forward(self, x):
        normed = self.norm(x)
        tokens = normed.view(-1, x.shape[-1])
        weights, choice, balance = self.route(tokens)
        with self.ranges.named("preprocess"):
            gathered, position, counts = self.prepare(tokens, choice)
            if self.inside:
                mixed = self.dispatch(gathered, counts)
        if not self.inside:
            mixed = self.dispatch(gathered, counts)
        chosen = mixed.index_select(0, position).view(*choice.shape, -1)
        combined = (chosen * weights.unsqueeze(-1).to(chosen.dtype)).sum(dim=1)
        return x + combined.view_as(x), balance


class Model(nn.Module):
    def __init__(self, options, ranges):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.places = nn.Parameter(torch.randn(options.length, options.width) * 0.02)
        self.attention = nn.ModuleList(Attention(options, ranges) for _ in range(options.layers))
        self.experts = nn.ModuleList(Experts(options, ranges) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, options.vocabulary)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.places
        balances = []
        for attention, experts in zip(self.attention, self.experts):
            x, balance = experts(attention(x))
            balances.append(balance)
        logits = self.head(self.norm(x)).float()
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.flatten())
        return loss + 0.01 * torch.stack(balances).mean()


class Job:
    """Model, optimizer and data; each step() is one training step."""

    def __init__(self, options):
        torch.manual_seed(options.seed)
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
        self.options = options
        self.ranges = Ranges(options.device)
        self.model = Model(options, self.ranges).to(options.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: min(1.0, (step + 1) / 20))
        self.data = torch.Generator().manual_seed(options.seed)
        self.batches = [self.make_batch() for _ in range(BATCHES)]  # as a data loader would have them ready
        self.steps = 0

    def make_batch(self):
        """Sequences that can be learnt: each token follows from the one before, but for some noise."""
        options = self.options
        tokens = torch.empty(options.batch, options.length + 1, dtype=torch.long)
        tokens[:, 0] = torch.randint(options.vocabulary, (options.batch,), generator=self.data)
        noise = torch.randint(4, (options.batch, options.length), generator=self.data)
        for i in range(options.length):
            tokens[:, i + 1] = (tokens[:, i] * 5 + 3 + noise[:, i]) % options.vocabulary
        tokens = tokens.to(options.device)
        return tokens[:, :-1], tokens[:, 1:]

    def step(self, on_gradients=None):
        """One step; returns its loss on the device. `on_gradients` is called before the optimizer."""
        tokens, targets = self.batches[self.steps % BATCHES]
        self.steps += 1
        with torch.autocast(self.options.device, dtype=torch.bfloat16, enabled=self.options.bf16):
            loss = self.model(tokens, targets)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if on_gradients:
            on_gradients()
        self.optimizer.step()
        self.schedule.step()
        return loss.detach()


def checksum(tensors):
    """sha256 of all bytes."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def gradient_steps(steps):
    """The steps whose gradients are summed: the first ones, every fiftieth, the last."""
    return {1, 2, 5, 10, steps} | set(range(50, steps + 1, 50))


def train(options, before_step=None):
    """Runs the job; returns what --out gets. `before_step(number)` is called before each step and once after the last."""
    job = Job(options)
    chosen = gradient_steps(options.steps)
    losses, times, gradients = [], [], {}
    for step in range(1, options.steps + 1):
        if before_step:
            before_step(step)
        began = time.perf_counter()
        on_gradients = None
        if step in chosen:
            def on_gradients(step=step):
                gradients[step] = checksum(p.grad for p in job.model.parameters() if p.grad is not None)
        losses.append(job.step(on_gradients).item().hex())
        times.append(time.perf_counter() - began)
    if before_step:
        before_step(options.steps + 1)
    return {"options": vars(options), "torch": torch.__version__, "losses": losses, "gradients": gradients,
            "weights": checksum(job.model.state_dict().values()), "step_s": times}


def main():
    options = arguments().parse_args()
    result = train(options)
    times = sorted(result["step_s"][len(result["step_s"]) // 10:])
    print(f"{options.steps} steps, loss {float.fromhex(result['losses'][0]):.4f} -> "
          f"{float.fromhex(result['losses'][-1]):.4f}, median step {times[len(times) // 2] * 1e3:.2f} ms, "
          f"weights {result['weights'][:16]}")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
