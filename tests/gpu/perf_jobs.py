"""Training jobs in PyTorch for the measurements: models made from a configuration, random weights, no network.

A job has step() (one training step, which waits for the device only where its nature has it), wait(), and finish(): the
sha256 of losses and parameters. Same seeds, same bits: a run under Refrain must give the checksum of a bare one.
"""

import contextlib
import hashlib
import importlib.util
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA begins; needed for equal bits
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import moe_job  # noqa: E402

BATCHES = 16  # different ones, used in turn
LOGGED = 10  # the loss goes to the host every so many steps, as logging does


def ask_for_determinism(strict):
    """Kernels that give equal bits. Strict, but for histc on whole numbers, which is exact and refused all the same."""
    torch.use_deterministic_algorithms(True, warn_only=not strict)
    torch.utils.deterministic.fill_uninitialized_memory = False
    if strict and not hasattr(torch.histc, "refused"):
        refused = torch.histc

        def histc(*arguments, **named):
            torch._C._set_deterministic_algorithms(True, warn_only=True)
            try:
                return refused(*arguments, **named)
            finally:
                torch._C._set_deterministic_algorithms(True, warn_only=False)

        histc.refused = refused
        torch.histc = histc


class TorchJob:
    """Data, optimizer and the loop's body; a subclass makes the model."""

    batch, length, vocabulary = 4, 256, 8192
    autocast = True

    def __init__(self, options):
        torch.manual_seed(1)
        self.options, self.device = options, options.device
        if options.tiny:
            self.batch, self.length, self.vocabulary = 2, 32, 128
        with torch.device(self.device):
            self.model = self.make_model(options.tiny)
        self.model.train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
        self.data = torch.Generator().manual_seed(1)
        self.batches = [self.tokens(self.length) for _ in range(BATCHES)]
        self.steps, self.losses = 0, []

    def tokens(self, length):
        return torch.randint(self.vocabulary, (self.batch, length), generator=self.data).to(self.device)

    def next_batch(self):
        return self.batches[self.steps % BATCHES]

    def loss(self, tokens):
        return self.model(input_ids=tokens, labels=tokens).loss

    def step(self):
        tokens = self.next_batch()
        ranges = torch.autocast(self.device, dtype=torch.bfloat16) if self.autocast else contextlib.nullcontext()
        with ranges:
            loss = self.loss(tokens)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % LOGGED == 0:
            self.losses.append(loss.item())

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def finish(self):
        self.wait()
        digest = hashlib.sha256(" ".join(loss.hex() for loss in self.losses).encode())
        digest.update(moe_job.checksum(self.model.state_dict().values()).encode())
        return digest.hexdigest()

    def about(self):
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        strict = (torch.are_deterministic_algorithms_enabled() and
                  not torch.is_deterministic_algorithms_warn_only_enabled())
        return {"torch": torch.__version__, "parameters": parameters, "deterministic": strict}


class Gpt2(TorchJob):
    width, layers, heads = 512, 12, 8

    def make_model(self, tiny):
        from transformers import GPT2Config, GPT2LMHeadModel
        width, layers, heads = (64, 2, 2) if tiny else (self.width, self.layers, self.heads)
        return GPT2LMHeadModel(GPT2Config(n_layer=layers, n_embd=width, n_head=heads, vocab_size=self.vocabulary,
                                          n_positions=self.length, use_cache=False, bos_token_id=0, eos_token_id=0))


class Gpt2Compiled(Gpt2):
    def __init__(self, options):
        super().__init__(options)
        self.compiled = torch.compile(self.model)

    def loss(self, tokens):
        return self.compiled(input_ids=tokens, labels=tokens).loss


class GpuBound(Gpt2):
    width, layers, heads = 4096, 2, 32
    batch, length = 1, 4096


class Mixtral(TorchJob):
    """Grouped matrix products: one launch for all experts, no wait for the host."""

    autocast = False  # parameters are bfloat16, as the grouped product wants them
    experts = "grouped_mm"

    def make_model(self, tiny):
        import transformers
        width, layers, heads = (64, 2, 4) if tiny else (512, 8, 8)
        config = transformers.MixtralConfig(
            vocab_size=self.vocabulary, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
            num_attention_heads=heads, num_key_value_heads=heads // 2, num_local_experts=8, num_experts_per_tok=2,
            max_position_embeddings=max(512, self.length), use_cache=False, output_router_logits=False,
            bos_token_id=0, eos_token_id=0)
        grouped = importlib.util.find_spec("transformers.integrations.moe") is not None
        if grouped:
            config._experts_implementation = self.experts
        torch.set_default_dtype(torch.bfloat16)
        try:
            model = transformers.MixtralForCausalLM(config)
            if not grouped and self.experts == "grouped_mm":
                import grouped_experts
                grouped_experts.replace(model)
        finally:
            torch.set_default_dtype(torch.float32)
        return model

    def about(self):
        chosen = getattr(self.model.config, "_experts_implementation", None)
        return {**super().about(), "experts": chosen or ("own" if self.experts == "grouped_mm" else "loop")}


class MixtralLoop(Mixtral):
    """One expert after the other, with as many tokens as it got: waits for the host in every layer."""

    experts = "eager"


class Block(nn.Module):
    """Attention and two linear layers, for lengths of any kind."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in self.project(self.norm(x)).chunk(3, dim=-1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm_mlp(x))


class ChangingShapes(TorchJob):
    """Another sequence length in every step: nothing that was recorded fits for long.

    Each length comes once in 352 steps, in an order that gives every block about the same sum of them.
    """

    shortest, longest = 32, 384
    vocabulary = 1024

    def make_model(self, tiny):
        width = 32 if tiny else 128
        return nn.Sequential(nn.Embedding(self.vocabulary, width), Block(width, 4), Block(width, 4),
                             nn.LayerNorm(width), nn.Linear(width, self.vocabulary))

    def next_batch(self):
        length = self.shortest + self.steps * 193 % (self.longest - self.shortest)
        return self.batches[self.steps % BATCHES].repeat(1, 2)[:, :length].contiguous()

    def loss(self, tokens):
        logits = self.model(tokens)
        return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())


class Moe(moe_job.Job):
    """The mixture of experts of moe_job.py, with or without its NVTX ranges."""

    def __init__(self, options, ranges=True):
        arguments = ["--device", options.device]
        if options.tiny:
            arguments += ["--width", "32", "--layers", "2", "--length", "16"]
        super().__init__(moe_job.arguments().parse_args(arguments))
        self.device, self.losses = options.device, []
        self.emit_ranges(ranges)

    def emit_ranges(self, on):
        self.ranges.emit(on and self.device == "cuda")

    def step(self):
        loss = super().step()
        if self.steps % LOGGED == 0:
            self.losses.append(loss.item())

    wait, finish, about = TorchJob.wait, TorchJob.finish, TorchJob.about


MAKERS = {"gpt2": Gpt2, "gpt2_compiled": Gpt2Compiled, "gpu_bound": GpuBound, "mixtral": Mixtral,
          "mixtral_loop": MixtralLoop, "changing_shapes": ChangingShapes, "moe": Moe,
          "moe_plain": lambda options: Moe(options, ranges=False)}


def make(options, strict):
    if not options.no_deterministic:
        ask_for_determinism(strict)
    return MAKERS[options.job](options)
