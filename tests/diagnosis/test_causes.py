"""Where a change of a function makes it right, a sentence says what was wrong: it follows from what was changed."""

import ast

import pytest

from labgrade.diagnosis.repair.causes import cause
from labgrade.diagnosis.repair.edits import edits

# a wrong statement or expression of a function's body, how it is right, and what is said of it
SAID = [
    ("macs[str(m)] = m.out", "macs[str(m)] = macs.get(str(m), 0) + m.out",
     "`macs[str(m)] = ...` throws away what stood there before. `str(m)` is the same for all that are printed alike."),
    ("macs[f'{m}'] = m.out", "macs[f'{m}'] = macs.get(f'{m}', 0) + m.out",
     "`macs[f'{m}'] = ...` throws away what stood there before. `f'{m}'` is the same for all that are printed alike."),
    ("k = name.split('.')[-1]\n    macs[k] = 1", "k = name.split('.')[-1]\n    macs[k] = macs.get(k, 0) + 1",
     ("`macs[k] = ...` throws away what stood there before. "
      "`k` is a part of a name: it is the same for modules in several places.")),
    ("macs[type(m).__name__] = 1", "macs[type(m).__name__] = macs.get(type(m).__name__, 0) + 1",
     ("`macs[type(m).__name__] = ...` throws away what stood there before. "
      "`type(m).__name__` is the same for all of one class.")),
    ("macs[m] = 1", "macs[m] = macs.get(m, 0) + 1",
     "`macs[m] = ...` throws away what stood there before. `m` is the same for several of them."),
    ("for k, m in x.named_children():\n        macs[k] = 1",
     "for k, m in x.named_children():\n        macs[k] = macs.get(k, 0) + 1",
     ("`macs[k] = ...` throws away what stood there before. "
      "`k` is a name within the module around it: several may have the same.")),
    ("total = 2", "total += 2", "`total = ...` throws away what it held before."),
    ("total += m.numel()", "pass", "`total += m.numel()` counts what does not belong there."),
    ("for m in x.children(): go(m)", "for m in x.modules(): go(m)",
     "`children()` gives what lies directly below alone: what is deeper in the model is left out."),
    ("for _, m in x.named_modules(): go(m)", "for _, m in x.named_children(): go(m)",
     "`named_modules()` gives the model itself and everything at any depth, not only what lies directly below."),
    ("y = x.out_channels", "y = x.in_channels",
     "The channels that come out stand where those that go in belong."),
    ("y = a.height * 2", "y = a.height", "The factor `2` is too much."),
    ("y = 2 * a.height * m.heads", "y = 2 * a.height", "The factor `m.heads` is too much."),
    ("y = a * k(1) + m.bias", "y = a * k(1)", "`m.bias` is added, and does not belong there."),
    ("y = a - 1", "y = a", "`1` is subtracted, and should not be."),
    ("y = a // 4", "y = -(-a // 4)", "`//` rounds down: what is left over behind the last whole one is dropped."),
    ("y = a * max(1, r[t])", "y = a * 1", "It is counted `max(1, r[t])` times, and belongs there once."),
    ("y = n + p - k", "y = n + 2 * p - k", "`p` is added once, and belongs there twice."),
    ("y = n + pad - k", "y = n + 2 * pad - k",
     "`pad` is added once, and belongs there twice. The padding is on both sides."),
    ("y = a * m.k[0] * m.k[0]", "y = a * m.k[0] * m.k[1]",
     "`m.k[0]` is taken twice: that is right only where both of `m.k` are the same."),
    ("y = a.stride[1]", "y = a.stride[0]", "The second of `a.stride` stands where the first belongs."),
    ("y = f(x[0])", "y = f(x)", "`x[0]` is the first one alone, where all of them belong."),
    ("y = sum(x[1:])", "y = sum(x)", "`x[1:]` leaves out a part."),
    ("y = a if k == 1 else 0", "y = a", "Where `k == 1` does not hold, `0` stands in place of `a`."),
    ("y = sum(p for p in q if p.b)", "y = sum(p for p in q if True)", "`if p.b` leaves out some that belong there."),
    ("if m.g == 1 and m.w:\n        go()", "if m.w:\n        go()", "`m.g == 1` lets too little through."),
    ("if m.g == 1 or m.w:\n        go()", "if m.w:\n        go()", "`m.g == 1` lets too much through."),
    ("for m in x:\n        if m.g: continue\n        go()", "for m in x:\n        if False: continue\n        go()",
     "`if m.g: continue` leaves out some that belong there."),
    ("if m.g:\n        go()", "if True:\n        go()", "`if m.g` leaves out some that belong there."),
    ("y = {p for p in x}", "y = [p for p in x]",
     "A set keeps what is equal once: the second of two equal ones is lost."),
    ("y = np.int32(x)", "y = np.int64(x)", "`int32` is too small a type for these numbers."),
    ("for m in x:\n        return m.y", "for m in x:\n        pass\n    return m.y",
     "The function returns within the loop, before that has gone through everything."),
    ("for m in x:\n        do(lambda a: keep(m))", "for m in x:\n        do(lambda a, m=m: keep(m))",
     "`m` is read when the function is called: by then it has the last value of the loop."),
    ("for m in x:\n        go(m)",
     "for m in x:\n        if hasattr(m, 'children') and any(True for _ in m.children()): continue\n        go(m)",
     "A module with modules inside is counted, and what is inside of it once more."),
    ("q(lambda m, i, o: t.append(i[0].numel()))", "q(lambda m, i, o: t.append(o.numel()))",
     "What the layer is given is taken where what it puts out belongs."),
    ("q(lambda m, i, o, r=r: t.append(o.numel()))", "q(lambda m, i, o, r=r: t.append(i[0].numel()))",
     "What the layer puts out is taken where what it is given belongs."),
    ("h, w = x\n    y = h * h * n", "h, w = x\n    y = h * w * n",
     "`h` is taken twice: `w` is missing in the product."),
    ("h_out, w_out = x\n    y = w_out * n", "h_out, w_out = x\n    y = h_out * n", ""),
    ("y = round(a * n, 2)", "y = a * n", "`round(a * n, 2)` rounds, and should not."),
    ("y = Counter(x).most_common(10)", "y = Counter(x)", "`most_common(10)` keeps the 10 most frequent alone."),
    ("y = min(a, n - 1)", "y = a", "`n - 1` stands in place of `a` where it is smaller."),
    ("y = a * 2 // n", "y = a * 2", "It is divided by `n`, and should not be."),
    ("y = groupby(x)", "y = groupby(sorted(x))", "`groupby` joins what stands side by side alone."),
    ("macs[k] = x", "macs[k] = x.clone()",
     "What is kept is not a copy: it changes when the tensor is written to later."),
    ("if m.g:\n        return k\n    y = 1", "if True:\n        return k\n    y = 1", ""),
    # what the change itself says as well
    ("y = a * 2", "y = a * 4", ""),
    ("y = a + b", "y = a - b", ""),
]  # fmt: skip


def tree(source):
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return ""


def written(body):
    return f"def f(x, a, m, n, p, k, r, t, q, name, macs, total):\n    {body}\n"


@pytest.mark.parametrize(("wrong", "right", "says"), SAID, ids=[each[0] for each in SAID])
def test_what_was_wrong_follows_from_the_change(wrong, right, says):
    source = written(wrong)
    edit = next(each for each in edits(source, "f") if tree(each.applied(source)) == tree(written(right)))
    assert cause(source, [edit]) == says


APPLIED = """
def f(model):
    def register(m):
        m.register_forward_hook(count)
        for c in m.children():
            register(c)
    model.apply(register)
"""


def test_what_apply_and_a_function_do_both_reaches_what_is_deep_several_times():
    (edit,) = (each for each in edits(APPLIED, "f") if "register(c)" not in each.applied(APPLIED))
    assert cause(APPLIED, [edit]).startswith("`apply` calls `register` for every module already, and `register` goes")


def test_changes_that_say_different_things_say_nothing_together():
    source = written("y = a * 2\n    z = a + n")
    some = [each for each in edits(source, "f") if each.text == "a"]
    assert len(some) == 2
    assert cause(source, some) == ""
    assert cause("def f(:", some) == ""
