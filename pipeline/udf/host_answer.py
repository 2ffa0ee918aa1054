

# Second part of the host: the shared memory of a slot. Follows host_values.py.
_column_head = struct.Struct("<13q")


class Answer:
    """Writes one answer into a slot's shared memory."""

    def __init__(self, slot, limit):
        self.fd = ANSWERS[slot]
        self.limit = limit
        self.map()

    def map(self):
        self.size = os.fstat(self.fd).st_size
        self.memory = mmap.mmap(self.fd, self.size)
        self.words = memoryview(self.memory).cast("q")
        # index -> (shape, begin, end, array): a column that still lies as the last block's did needs its bytes alone.
        self.lying = {}

    def head(self):
        """The words of its header, as they are at any time."""
        return memoryview(mmap.mmap(self.fd, 8 * HEADER_WORDS)).cast("q")

    def start(self, sequence, columns):
        self.words[SEQUENCE_AT] = sequence
        self.at = 8 * (HEADER_WORDS + COLUMN_WORDS * columns)

    def take(self, nbytes):
        """The offset of so many bytes, 64-byte aligned."""
        at = (self.at + 63) & ~63
        self.at = at + nbytes
        if self.at > self.size:
            if self.at > self.limit:
                raise Refused(f"returned more than {self.limit} bytes for one block; udf_block_bytes limits it")
            size = self.size
            while size < self.at:
                size *= 2
            os.posix_fallocate(self.fd, 0, min(size, self.limit))
            self.map()  # views of the old mapping stay valid
        return at

    def array(self, shape, dtype, at):
        return ndarray(shape, dtype, self.memory, at)

    def int64s(self, values):
        at = self.take(8 * len(values))
        self.array((len(values),), np_int64, at)[:] = values
        return at

    def blob(self, data):
        at = self.take(len(data))
        self.memory[at:at + len(data)] = data
        return at

    def column(self, index, *words):
        self.lying.pop(index, None)
        _column_head.pack_into(self.memory, 8 * (HEADER_WORDS + COLUMN_WORDS * index), *words)

    def unchanged(self, index):
        self.lying.pop(index, None)
        self.words[HEADER_WORDS + COLUMN_WORDS * index] = UNCHANGED

    def dims(self, shapes):
        rows = np_zeros((len(shapes), DIMS_WORDS), np_int64)
        for row, shape in zip(rows, shapes):
            row[0] = len(shape)
            row[1:1 + len(shape)] = shape
        return self.int64s(rows.reshape(-1))

    def dense(self, index, array):
        """Rows that one array holds."""
        shape, begin = array.shape, self.at
        last = self.lying.get(index)
        if last is not None and last[0] == shape and last[1] == begin:
            self.at = last[2]
            last[3][...] = array
            return
        at = self.take(array.nbytes)
        to = self.array(shape, array.dtype, at)
        to[...] = array
        self.numeric(index, shape[1:], at, array.nbytes, array.size)
        self.lying[index] = (shape, begin, self.at, to)

    def numeric(self, index, shape, at, nbytes, items):
        self.column(index, DENSE, len(shape), *shape, *(0,) * (6 - len(shape)), at, nbytes, 0, 0, items)

    def numbers(self, index, output, values):
        dtype = output.dtype
        shapes = [v.shape for v in values]
        first = shapes[0] if shapes else output.fixed or (0,) * len(output.dims or ())
        if output.fixed is not None or all(s == first for s in shapes):
            shape = output.fixed if output.fixed is not None else first
            items = len(values)
            for d in shape:
                items *= d
            at = self.take(items * dtype.itemsize)
            to = self.array((len(values), *shape), dtype, at)
            if shape == ():
                to[:] = values
            else:
                for i, value in enumerate(values):
                    to[i] = value
            return self.numeric(index, shape, at, items * dtype.itemsize, items)
        items = sum(v.size for v in values)
        at = self.take(items * dtype.itemsize)
        to = self.array((items,), dtype, at)
        begin = 0
        for value in values:
            to[begin:begin + value.size] = value.reshape(-1)
            begin += value.size
        self.column(index, RAGGED, 0, 0, 0, 0, 0, 0, 0, at, items * dtype.itemsize, 0, self.dims(shapes), items)

    def strings(self, index, output, values):
        if output.scalar:
            flat, shapes = values, None
        else:
            values = [v if isinstance(v, tuple) else ((), [v]) for v in values]
            flat = [s for _, strings in values for s in strings]
            shapes = [shape for shape, _ in values]
        offsets = np_zeros(len(flat) + 1, np_int64)
        np_cumsum([len(s) for s in flat], out=offsets[1:])
        offsets_at = self.int64s(offsets)
        data_at = self.blob(b"".join(flat))
        if shapes is None:
            self.column(index, DENSE, 0, 0, 0, 0, 0, 0, 0, data_at, int(offsets[-1]), offsets_at, 0, len(flat))
        else:
            self.column(index, RAGGED, 0, 0, 0, 0, 0, 0, 0, data_at, int(offsets[-1]), offsets_at, self.dims(shapes), len(flat))

    def finish(self, rows, rows_out, columns, status, errors, cpu):
        """`status`: an int for each row; None: one row came out of each."""
        status_at = EVERY_ROW
        if status is not None:
            status_at = self.take(8 * rows)
            self.array((rows,), np_int64, status_at)[:] = status
        offsets_at = data_at = end = 0
        if errors:
            texts = [e.encode(errors="replace") for e in errors]
            offsets = [0]
            for text in texts:
                offsets.append(offsets[-1] + len(text))
            end = offsets[-1]
            offsets_at = self.int64s(offsets)
            data_at = self.blob(b"".join(texts))
        _answer_head.pack_into(self.memory, 8, rows, rows_out, columns, status_at, len(errors), offsets_at, data_at, end, cpu, self.at)
        self.words[0] = 1  # last: who sees it sees all the others


class Request:
    """A slot's request memory, read-only."""

    def __init__(self, slot):
        self.fd = REQUESTS[slot]
        self.size = 0
        self.forget()

    def view(self, size):
        if size != self.size:
            self.forget()
            self.memory = mmap.mmap(self.fd, size, prot=mmap.PROT_READ)
            self.bytes, self.size = memoryview(self.memory), size
            self.references = _refcount(self.bytes)
        return self.bytes

    def forget(self):
        self.seen, self.contents = None, None

    def remember(self, head, contents):
        """What was made of a request whose header was `head`, for the next ones that are alike: arrays alone, no values."""
        self.seen, self.contents = head, contents

    def kept(self):
        """Somebody still holds an array of a block that is done."""
        if self.seen is None:
            return _refcount(self.bytes) > self.references
        for array in self.contents[2]:
            if _refcount(array) > 3:  # the list's, the loop's, the call's
                return True
        return False
