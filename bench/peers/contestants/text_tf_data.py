"""Text by tf.data, in this process or by tf.data service. Everything is done on vectors of 64 lines, as tensorflow.org/guide/data_performance
asks for; FastSentencepieceTokenizer is the form of the tokenizer that keeps its model in the graph, so a service can run it.

TensorFlow has no JSON op, and tf.py_function cannot run in a tf.data service worker: the lines are taken apart by regular expressions
that fit these files, which is less work than parsing JSON."""
import contestant
import tensorflow as tf
import tensorflow_text as tf_text
import tf_service

AUTOTUNE = tf.data.AUTOTUNE


def make(args):
    with open(args["model"], "rb") as file:
        model = file.read()
    tokenizer = tf_text.FastSentencepieceTokenizer(model)

    def field(lines, which):
        text = tf.strings.regex_replace(lines, r'^\{"question": "(.*)", "answer": "(.*)"\}$', which)
        text = tf.strings.regex_replace(text, r"\\n", "\n")
        return tf.strings.regex_replace(text, r'\\(["\\/])', r"\1")

    def batch(lines):
        out = {}
        for name, which in (("question", r"\1"), ("answer", r"\2")):
            tokens = tokenizer.tokenize(field(lines, which))
            out[name] = tokens.to_tensor()
            out[name + "_length"] = tokens.row_lengths()
        return out

    options = tf.data.Options()
    options.deterministic = False
    dataset = (tf.data.Dataset.list_files(args["jsonl"])
               .interleave(tf.data.TextLineDataset, num_parallel_calls=AUTOTUNE, deterministic=False)
               .batch(64).map(batch, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE).with_options(options))
    if args["service"]:
        service = tf.data.experimental.service
        dataset = dataset.apply(service.distribute(service.ShardingPolicy.DYNAMIC, "grpc://" + tf_service.start(), compression=None))
        dataset = dataset.prefetch(AUTOTUNE)

    def run():
        batches, tokens = contestant.Batches(), 0
        for b in dataset.as_numpy_iterator():
            batches.take(b["question"])
            tokens += int(b["question_length"].sum()) + int(b["answer_length"].sum())
        return batches.result(tokens=tokens)

    return run


contestant.serve(make)
