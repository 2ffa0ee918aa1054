"""A dispatcher and one worker of tf.data service, each a process of its own."""
import subprocess
import sys


def start():
    """The dispatcher's address."""
    dispatcher = _role("dispatcher")
    _role("worker", dispatcher)
    return dispatcher


def _role(*args):
    process = subprocess.Popen([sys.executable, __file__, *args], stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    if not address:
        raise RuntimeError(f"the {args[0]} of tf.data service did not start")
    return address


def _run(role, dispatcher=None):
    import tensorflow as tf

    service = tf.data.experimental.service
    try:
        import tensorflow_text

        tensorflow_text.FastSentencepieceTokenizer  # loads its ops, which must be known where a graph arrives
    except ImportError:
        pass
    if role == "dispatcher":
        server = service.DispatchServer(service.DispatcherConfig(port=0))
        print(server.target.removeprefix("grpc://"), flush=True)
    else:
        server = service.WorkerServer(service.WorkerConfig(dispatcher_address=dispatcher))
        print("started", flush=True)
    server.join()


if __name__ == "__main__":
    _run(*sys.argv[1:])
