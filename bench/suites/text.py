"""JSON Lines to padded batches of token ids, next to the peers of bench/peers. Without --peers there is nothing to compare with."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))


def run(context):
    if not context.peers:
        print("text: compares with peers only; ask for --peers", file=sys.stderr)
        return
    import versus

    yield from versus.text(context)
