"""Slips in the sizes that layers put out: what is forgotten of a layer goes through all that follow it."""

from __future__ import annotations

from .._counting import wrong
from .common import ratio
from .compose import SIZE, Library, Slip
from .operations import computed, inside, of_conv, of_image, over_stride, places

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
# Of the true input of each convolution: what is wrong there does not go on.
OWN_SIZES: Library = {
    "image_size": Slip(
        of="positions",
        change=of_image,
        says=f"Each convolution is counted at all positions of the image. Behind strides and pools there are fewer: "
        f"{READ}.",
    ),
    "own_padding": Slip(of="positions", change=computed(lambda n, k, _, s, d: places(n, k, 0, s, d)), says=PADDING),
    "own_padding_once": Slip(of="positions", change=computed(places), says=PADDING_ONCE),
    "own_stride": Slip(
        of="positions", change=computed(lambda n, k, pad, _, d: places(n, k, 2 * pad, 1, d)), says=STRIDE
    ),
    "own_dilation": Slip(
        of="positions", change=computed(lambda n, k, pad, s, _: places(n, k, 2 * pad, s, 1)), says=DILATION
    ),
    "no_plus_one": Slip(
        of="positions",
        change=computed(lambda n, k, pad, s, d: places(n, k, 2 * pad, s, d) - 1),
        says="The size of a convolution's output is too small by one in each direction. The quotient in the formula is "
        f"the number of steps; the first position comes before these: add 1, or {READ}.",
    ),
    **{
        name: Slip(
            of="positions",
            change=over_stride(up),
            says=f"The output's size is taken for that of the input over the stride. Kernel, padding and dilation "
            f"change it, too: compute it from all of them, or {READ}.",
        )
        for name, up in (("input_over_stride", 0), ("input_over_stride_up", 1))
    },
    "rounded_up": Slip(
        of="positions",
        change=computed(lambda n, k, pad, s, d: -(-(n + 2 * pad - d * (k - 1) - 1) // s) + 1),
        says="The size of a convolution's output is rounded up. Where the stride does not fit, a convolution rounds "
        f"down: use // in the formula, or {READ}.",
    ),
    "stride_twice": Slip(
        of="positions",
        change=computed(lambda n, k, pad, s, d: places(n, k, 2 * pad, s, d) // s),
        says="The output's height and width are divided by the stride once more. The output is smaller by it already.",
    ),
    "padding_free": Slip(
        of="kernel",
        change=of_conv(lambda o: ratio(inside(o), [*o.weight_shape[2:], *o.output_shape[2:]])),
        says="Products with the zeros of the padding are left out. A convolution multiplies these zeros, too: each "
        "output takes the whole kernel.",
    ),
}
