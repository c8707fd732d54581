"""Slips in the sizes that layers put out: what is forgotten of a layer goes through all that follow it."""

from __future__ import annotations

from .._counting import wrong
from .compose import SIZE, Library, Slip

READ = "read the size from a forward hook"
PADDING = f"Padding is ignored. It adds 2 * padding to the size before the kernel is subtracted; or {READ}."
PADDING_ONCE = f"Padding is added once. It lies on both sides: the size grows by 2 * padding; or {READ}."
STRIDE = f"The stride of convolutions is ignored. Divide by it when you compute the size of the output, or {READ}."
DILATION = (
    "Dilation is ignored. A dilated kernel covers dilation * (kernel_size - 1) + 1 pixels: put that into the size of "
    f"the output, or {READ}."
)

SIZES: Library = {
    "ceil_mode": Slip(
        of=SIZE,
        change=wrong.without_ceil_mode,
        says=f"Sizes are rounded down behind every pool, where ceil_mode=True rounds up. Take the rounding from each "
        f"pool's ceil_mode, or {READ}.",
    ),
    "dilation": Slip(
        of=SIZE,
        change=wrong.without_dilation,
        says=DILATION,
    ),
    "same_padding": Slip(
        of=SIZE,
        change=wrong.same_as_zero,
        says="padding='same' is taken for no padding. It keeps the size of the input.",
    ),
    "padding": Slip(
        of=SIZE,
        change=wrong.without_padding,
        says=PADDING,
    ),
    "padding_once": Slip(
        of=SIZE,
        change=wrong.padding_once,
        says=PADDING_ONCE,
    ),
    "stride": Slip(
        of=SIZE,
        change=wrong.without_stride,
        says=STRIDE,
    ),
    "pools": Slip(
        of=SIZE,
        change=wrong.without_pools,
        says=f"Pools leave the size as it is here, but they make it smaller. Follow the size through each pool, or "
        f"{READ}.",
    ),
    "square": Slip(
        of=SIZE,
        change=wrong.square,
        says="Kernel, stride and padding are taken to be square. Each has a height and a width, and they may differ.",
    ),
}
