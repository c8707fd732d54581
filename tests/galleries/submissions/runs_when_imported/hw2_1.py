"""A script: works and prints while it is imported, too, but keeps its main part to itself."""

print("training ...")
RESULT = sum(range(1000))


def total_macs(model, input_size):
    return RESULT


if __name__ == "__main__":
    raise SystemExit("only when it is run")
