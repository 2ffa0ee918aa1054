

# Third part of the host: the function and the loop. Follows host_answer.py.
def _die_with_parent(parent):
    """A killed worker leaves nothing behind, not even a function that never returns."""
    try:
        import ctypes
        import signal
        ctypes.CDLL(None, use_errno=True).prctl(1, int(signal.SIGKILL), 0, 0, 0)
    except Exception:
        pass
    if os.getppid() != parent:
        _exit(0)


# --- Loading.

def _numbers(version):
    import re
    return [int(n) for n in re.findall(r"\d+", version.split("+")[0])]


def _holds(have, op, want):
    a, b = _numbers(have), _numbers(want)
    length = max(len(a), len(b))
    wild = want.endswith(".*")
    if op == "~=":
        return _holds(have, ">=", want) and a[:len(b) - 1] == b[:-1]
    if wild:
        a = a[:len(b)]
        length = len(b)
    a, b = a + [0] * (length - len(a)), b + [0] * (length - len(b))
    return {"==": a == b, "!=": a != b, ">=": a >= b, "<=": a <= b, ">": a > b, "<": a < b}[op]


def _require(requirement):
    import importlib.metadata
    import re
    match = re.fullmatch(r"\s*([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*((?:(?:==|!=|>=|<=|~=|>|<)\s*[^,\s]+\s*,?\s*)*)", requirement)
    if not match:
        raise Refused(f"requires: '{requirement}' is not like 'numpy>=1.20'")
    name, conditions = match.groups()
    try:
        have = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise Refused(f"requires '{requirement}': {name} is not installed in the worker's Python, {sys.executable}") from None
    for op, want in re.findall(r"(==|!=|>=|<=|~=|>|<)\s*([^,\s]+)", conditions):
        if not _holds(have, op, want):
            raise Refused(f"requires '{requirement}': the worker's Python, {sys.executable}, has {name} {have}")


def _find(spec):
    if spec["pickled"]:
        import base64
        try:
            import cloudpickle
        except ImportError:
            raise Refused(f"a pickled function needs cloudpickle in the worker's Python, {sys.executable}; install it there, or put "
                          f"the function into a module") from None
        return cloudpickle.loads(base64.b64decode(spec["pickled"]))
    import importlib
    module, _, name = spec["function"].partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise Refused(f"module '{module}' ({getattr(found, '__file__', 'built in')}) has no '{name}'")
        found = getattr(found, part)
    return found


def _where(error):
    """"file.py:12 in name": the innermost line of the function's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    frames = [f for f in frames if f.filename != "<headrace>"]
    return f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno} in {frames[-1].name})" if frames else ""


def _words(error):
    if isinstance(error, Refused):
        return str(error)[:MAX_ERROR]
    try:
        text = str(error)
    except BaseException:
        text = "(its message cannot be shown)"
    return f"{type(error).__name__}{': ' if text else ''}{text}"[:MAX_ERROR] + _where(error)


class Function:
    """The loaded function, and how its arguments and results look."""

    def __init__(self, spec):
        for requirement in spec["requires"]:
            _require(requirement)
        self.call = _find(spec)
        if not callable(self.call):
            raise Refused(f"'{spec['function']}' is a {type(self.call).__name__}, not a function")
        self.kind = spec["kind"]
        self.name = spec["function"]
        self.batched = spec["batched"]
        self.random = spec["random"]
        self.names = [name for name, _ in spec["inputs"]]
        self.dtypes = [_dtype(dtype, name) for name, dtype in spec["inputs"]]
        self.outputs = [Output(*o) for o in spec["outputs"]]
        self.returned = {o.name for o in self.outputs}
        self.words = struct.Struct(f"<{HEADER_WORDS + COLUMN_WORDS * len(self.names)}q")
        # Where the input of the same name and type stands: a value that is handed back as it was is not copied.
        types = {name: (i, dtype) for i, (name, dtype) in enumerate(spec["inputs"])}
        self.same = [types[o.name][0] if types.get(o.name, (0, ""))[1] == o.type_name else None for o in self.outputs]
        self.plan = list(zip(self.outputs, self.same))
        self.warned = False
        self.check_signature()

    def check_signature(self):
        import inspect
        try:
            parameters = inspect.signature(self.call).parameters
        except (TypeError, ValueError):
            return
        if "rng" in parameters and not self.random:
            raise Refused(f"'{self.name}' takes `rng`: give the step `random: true`, which says that it draws numbers")
        if self.random and "rng" not in parameters and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            raise Refused(f"the step says `random: true`, but '{self.name}' has no parameter `rng`")

    # --- Arguments: what the columns of a request give for its rows.

    def column(self, index, words, rows, request):
        b = HEADER_WORDS + COLUMN_WORDS * index
        kind, rank, data_at = words[b], words[b + 1], words[b + 8]
        dtype = self.dtypes[index]
        if dtype is not None:
            if kind == DENSE:
                return ndarray((rows, *words[b + 2:b + 2 + rank]), dtype, request, data_at)
            out = []
            for shape in self.shapes(words[b + 11], rows, request):
                out.append(ndarray(shape, dtype, request, data_at))
                data_at += out[-1].nbytes
            return out
        ends = np_frombuffer(request, np_int64, words[b + 12] + 1, words[b + 10]).tolist()
        data = request[data_at:data_at + words[b + 9]].tobytes()
        strings = [data[s:e] for s, e in zip(ends, ends[1:])]
        if kind == DENSE and rank == 0:
            return strings
        shapes = [tuple(words[b + 2:b + 2 + rank])] * rows if kind == DENSE else self.shapes(words[b + 11], rows, request)
        out, begin = [], 0
        for shape in shapes:
            items = 1
            for d in shape:
                items *= d
            flat = np_empty(items, object)
            flat[:] = strings[begin:begin + items]
            out.append(flat.reshape(shape) if shape else flat[0])
            begin += items
        return out

    def shapes(self, at, rows, request):
        dims = np_frombuffer(request, np_int64, rows * DIMS_WORDS, at).reshape(rows, DIMS_WORDS).tolist()
        return [tuple(d[1:1 + d[0]]) for d in dims]

    # --- Calls. Each fills `status` (rows out of each row, or FAILED), `errors`, and the columns' values.

    def contents(self, request):
        """Rows, whether each is a call of its own, columns, keys. A request that lies as the last one in its slot did costs a look."""
        head = request.memory[:self.words.size]
        if head == request.seen:
            return request.contents
        request.forget()
        words, memory = self.words.unpack(head), request.bytes
        rows = words[0]
        columns = [self.column(i, words, rows, memory) for i in range(len(self.names))]
        keys = np_frombuffer(memory, np_uint64, 2 * rows, words[2]).reshape(rows, 2) if self.random else None
        contents = rows, words[4], columns, keys
        if all(type(c) is ndarray for c in columns):
            request.remember(head, contents)
        return contents

    def run(self, request, answer):
        rows, single, columns, keys = self.contents(request)
        if self.batched and not single:
            try:
                return rows, *self.run_batched(rows, columns)
            except BaseException as error:
                if not _mine[0]:
                    _exit(0)
                if rows == 1:
                    return rows, [FAILED], [_words(error)], [[] for _ in self.outputs], 0
            # One of them is to blame: each on its own tells which.
        return rows, *self.run_rows(rows, columns, keys, answer)

    def arguments(self, columns, row):
        """A batched call of one row."""
        return [c[row:row + 1] if isinstance(c, ndarray) else np_object(c[row:row + 1]) for c in columns]

    def run_rows(self, rows, columns, keys, answer):
        status, errors = [], []
        values = [[] for _ in self.outputs]
        unchanged = [s is not None and self.kind == "map" and not self.batched for s in self.same]
        call, names, kind, progress = self.call, self.names, self.kind, answer.words
        given = zip(*columns) if columns else iter([()] * rows)
        for row, arguments in enumerate(given):
            progress[PROGRESS_AT] = row
            try:
                if self.batched:
                    result = self.check_batch(1, call(dict(zip(names, self.arguments(columns, row)))))
                    if not _mine[0]:
                        _exit(0)
                    if kind == "filter":
                        status.append(1 if result[0] else 0)
                    else:
                        for column, value in zip(values, result):
                            column.append(value[0])
                        status.append(1)
                    continue
                record = dict(zip(names, arguments))
                if keys is None:
                    result = call(record)
                else:
                    result = call(record, rng=Generator(Philox(key=keys[row])))
                if kind == "filter":
                    status.append(self.check_condition(result))
                elif kind == "map":
                    checked = self.check_record(result)
                    for i, value in enumerate(checked):
                        values[i].append(value)
                        if unchanged[i] and result[self.outputs[i].name] is not arguments[self.same[i]]:
                            unchanged[i] = False
                    status.append(1)
                else:
                    status.append(self.take_parts(result, values))
            except BaseException as error:
                status.append(FAILED)
                errors.append(_words(error))
            if not _mine[0]:
                _exit(0)
        rows_out = sum(s for s in status if s > 0)
        values = [UNCHANGED if u and rows_out == len(v) else v for u, v in zip(unchanged, values)]
        every = kind != "flat_map" and rows_out == rows and not errors
        return None if every else status, errors, values, rows_out

    def run_batched(self, rows, columns):
        # Views of what is kept for the next block: a function may give an array another shape.
        arguments = {}
        for name, column in zip(self.names, columns):
            arguments[name] = column.view() if isinstance(column, ndarray) else np_object(column)
        given = tuple(arguments.values())
        result = self.call(arguments)
        if not _mine[0]:
            _exit(0)
        if self.kind == "filter":
            keep = self.check_batch(rows, result)
            return keep, [], [], int(np_count_nonzero(keep))
        self.check_fields(result)
        values = []
        for output, same in self.plan:
            value = result[output.name]
            if same is not None and value is given[same]:
                value = UNCHANGED  # whether its shape is the declared one is looked at by the worker
            elif (output.fixed is None or type(value) is not ndarray or value.dtype is not output.dtype
                  or value.shape != (rows, *output.fixed)):
                value = self.check_rows(output, value, rows)
            values.append(value)
        return None, [], values, rows

    def check_condition(self, result):
        if isinstance(result, (bool, np_bool)):
            return 1 if result else 0
        raise Refused(f"returned a {type(result).__name__}; a filter returns True or False")

    def check_fields(self, result):
        if type(result) is dict and result.keys() == self.returned:
            return
        if not isinstance(result, dict):
            raise Refused(f"returned a {type(result).__name__}; it must be a dict of the fields {', '.join(o.name for o in self.outputs)}")
        if result.keys() != self.returned:
            names = [o.name for o in self.outputs]
            missing = [n for n in names if n not in result]
            extra = [str(n) for n in result if n not in names]
            raise Refused("returned a dict " + " and ".join(
                ([f"without '{missing[0]}', which is declared"] if missing else []) +
                ([f"with '{extra[0]}', which is not declared (returns: ...)"] if extra else [])))

    def check_record(self, result):
        self.check_fields(result)
        return [o.check(result[o.name]) for o in self.outputs]

    def take_parts(self, result, values):
        try:
            parts = list(result)
        except TypeError:
            raise Refused(f"returned a {type(result).__name__}; flat_map returns a list or an iterator of dicts") from None
        if isinstance(result, dict):
            raise Refused("returned a dict; flat_map returns a list or an iterator of dicts")
        checked = [self.check_record(part) for part in parts]
        for part in checked:
            for column, value in zip(values, part):
                column.append(value)
        return len(checked)

    def check_batch(self, rows, result):
        if self.kind == "filter":
            keep = np_asarray(result)
            if keep.dtype != np_bool or keep.shape != (rows,):
                raise Refused(f"returned {keep.dtype}{list(keep.shape)}; for {rows} records a filter returns bool[{rows}]")
            return keep
        self.check_fields(result)
        return [self.check_rows(output, result[output.name], rows) for output in self.outputs]

    def check_rows(self, output, value, rows):
        """A returned field of `rows` rows: an array as it is, or a list of checked values."""
        if not isinstance(value, (ndarray, list, tuple)):
            output.refuse(f"a {type(value).__name__} instead of an array of {rows} rows")
        if len(getattr(value, "shape", [0])) == 0 or len(value) != rows:
            output.refuse(f"{len(value) if len(getattr(value, 'shape', [0])) else 'no'} rows for {rows} records")
        if output.dtype is not None and isinstance(value, ndarray) and value.dtype != object:
            if value.dtype != output.dtype:
                output.check(value)  # says what is wrong
            output.check_shape(value.shape[1:], f"rows of shape {list(value.shape[1:])}")
            return value
        return [output.check(v) for v in value]

    def block(self, request, answer, sequence, started):
        """Works on the request in `request`, writes the answer. `started`, and returned: the process's CPU time at its begin and end."""
        answer.start(sequence, len(self.outputs))
        rows, status, errors, values, rows_out = self.run(request, answer)
        try:
            self.write(answer, values)
        except Refused as error:
            status, rows_out = [FAILED] * rows, 0
            errors = [str(error)] * rows
            answer.start(sequence, len(self.outputs))
            self.write(answer, [[] for _ in self.outputs])
        ended = _cpu()
        answer.finish(rows, rows_out, len(self.outputs) if self.kind != "filter" else 0, status, errors, ended - started)
        return ended

    def write(self, answer, values):
        for index, value in enumerate(values):
            output = self.outputs[index]
            if value is UNCHANGED:
                answer.unchanged(index)
            elif output.dtype is None:
                answer.strings(index, output, value)
            elif isinstance(value, ndarray):
                answer.dense(index, value)
            else:
                answer.numbers(index, output, value)


def _load(request, answer, size):
    spec = json.loads(bytes(request.view(size)[8:8 + struct.unpack_from("<q", request.bytes)[0]]))
    _die_with_parent(spec["parent"])
    sys.path[:] = spec["path"] + [p for p in sys.path if p]
    function, error = None, ""
    try:
        function = Function(spec)
    except BaseException as failure:
        error = _words(failure)
        if not isinstance(failure, Refused):
            error = f"cannot load '{spec['function']}' with {sys.executable}: {error}"
    text = error.encode(errors="replace")[:4096]
    answer.words[0] = len(text)
    answer.memory[8:8 + len(text)] = text
    return function


def _serve():
    requests = answers = posted = None
    function = None
    spent = _cpu()
    told, since = [], 0  # answers that the worker does not know of yet, and when the first of them was begun
    while True:
        messages = _read(CONTROL, 32 * SLOTS)
        if not messages or len(messages) % 32 != 0:
            _exit(0)  # the worker is gone, or wants this process to go
        began = _now()
        for operation, slot, sequence, size in _message.iter_unpack(messages):
            if requests is None:
                requests = [Request(i) for i in range(SLOTS)]
                answers = [Answer(i, sequence) for i in range(SLOTS)]
                posted = answers[0].head()
            if operation == LOAD:
                function = _load(requests[slot], answers[slot], size)
            else:
                request = requests[slot]
                if size != request.size:
                    request.view(size)
                spent = function.block(request, answers[slot], sequence, spent)
                if not function.warned and request.kept():
                    function.warned = True
                    sys.stderr.write(f"{function.name} keeps arrays that it was given: their bytes change with later blocks; keep copies\n")
            now = _now()
            if not told:
                since = began
            began = now
            told.append(_message.pack(operation, slot, sequence, answers[slot].size))
            if len(told) >= TOLD_AT_ONCE or posted[POSTED_AT] <= sequence or now - since > TOLD_WITHIN_NANOS:
                _write(CONTROL, b"".join(told))
                told.clear()


def _main():
    for fd in (CONTROL, *REQUESTS, *ANSWERS, 4):
        os.set_inheritable(fd, False)
    try:
        _serve()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        _exit(70)


_main()
