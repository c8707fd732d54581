"""Never returns, and wants to hear of no signal."""

import signal


def total_macs(model, input_size):
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            pass
        except BaseException:
            pass
