"""A mixture of experts with grouped matrix products, for releases of transformers that have none of their own."""

import torch
from torch import nn
from torch.nn import functional as F


class GroupedExperts(nn.Module):
    """Top-k routing; tokens sorted by expert; one grouped product for all experts. Never waits for the host."""

    def __init__(self, config):
        super().__init__()
        width, inner, self.count = config.hidden_size, config.intermediate_size, config.num_local_experts
        self.chosen = config.num_experts_per_tok
        self.gate = nn.Linear(width, self.count, bias=False)
        self.up = nn.Parameter(torch.randn(self.count, width, 2 * inner) * 0.02)
        self.down = nn.Parameter(torch.randn(self.count, inner, width) * 0.02)
        self.register_buffer("numbers", torch.arange(self.count), persistent=False)

    def forward(self, hidden):
        tokens = hidden.flatten(0, 1)
        logits = self.gate(tokens)
        weights, choice = logits.float().softmax(dim=-1).topk(self.chosen, dim=-1)
        weights = (weights / weights.sum(dim=-1, keepdim=True)).to(tokens.dtype)
        flat = choice.flatten()
        order = flat.argsort(stable=True)
        ends = (flat.unsqueeze(-1) == self.numbers).sum(dim=0).cumsum(dim=0).to(torch.int32)
        gathered = tokens.index_select(0, order // self.chosen)
        gate, up = torch._grouped_mm(gathered, self.up, offs=ends).chunk(2, dim=-1)
        mixed = torch._grouped_mm(F.silu(gate) * up, self.down, offs=ends)
        mixed = mixed.index_select(0, order.argsort()).unflatten(0, (-1, self.chosen))
        return (mixed * weights.unsqueeze(-1)).sum(dim=1).view_as(hidden), logits


def replace(model):
    """Puts GroupedExperts in the place of every expert block of a Mixtral model of transformers 4."""
    for layer in model.model.layers:
        layer.block_sparse_moe = GroupedExperts(model.config)
