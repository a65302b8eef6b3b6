#!/usr/bin/env python3
"""Known answers of Poseidon and Poseidon2 over Goldilocks, by an implementation of the papers that is slow and plain.

usage: poseidon.py           writes ../vectors/poseidon1.json and ../vectors/poseidon2.json
       poseidon.py --check   fails unless they are what it would write

Poseidon: Grassi, Khovratovich, Rechberger, Roy, Schofnegger, USENIX Security 2021, https://eprint.iacr.org/2019/458.
Poseidon2: Grassi, Khovratovich, Schofnegger, https://eprint.iacr.org/2023/323.

The instances are the default ones of p3-goldilocks 0.8.0. Round constants are generated here, as appendix E of the
first paper says. What Plonky3 chose itself is in MDS_ROWS, M4 and DIAGONALS; ../tests/known_answers.rs compares these
and the round constants with its public items. Poseidon of width 16 has no default instance there: here it takes
Plonky3's matrix of that width and the round numbers of the other two.
"""

import json
import sys
from pathlib import Path

P = 2**64 - 2**32 + 1
WIDTHS = (8, 12, 16)
FULL_ROUNDS = 8
PARTIAL_ROUNDS = 22

# First rows of the circulant MDS matrices of Poseidon.
MDS_ROWS = {
    8: [7, 1, 3, 8, 8, 3, 4, 9],
    12: [1, 1, 2, 1, 8, 9, 10, 7, 5, 9, 4, 10],
    16: [1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3],
}

# First row of the circulant 4 x 4 matrix in Poseidon2's external matrix. The paper proposes another M4.
M4 = [2, 3, 1, 1]


def inverse_power_of_2(bits):
    return pow(2, -bits, P)


# The diagonals that are added to the all-one matrix, which gives Poseidon2's internal matrix.
DIAGONALS = {
    8: [-2, 1, 2, inverse_power_of_2(1), 3, -inverse_power_of_2(1), -3, -4],
    12: [-2, 1, 2, inverse_power_of_2(1), 3, 4, -inverse_power_of_2(1), -3, -4]
    + [inverse_power_of_2(2), -inverse_power_of_2(2), inverse_power_of_2(3)],
    16: [-2, 1, 2, inverse_power_of_2(1), 3, 4, -inverse_power_of_2(1), -3, -4]
    + [inverse_power_of_2(bits) for bits in (3, 4, 5)]
    + [-inverse_power_of_2(bits) for bits in (3, 4, 5)]
    + [inverse_power_of_2(32)],
}


def grain(width):
    """Elements of the field from the Grain LFSR in its self-shrinking mode: appendix E, without end."""

    def bits_of(value, count):
        return [value >> i & 1 for i in reversed(range(count))]

    # A prime field, the S-box x^alpha, the bits of an element, the width, the rounds, thirty ones.
    state = bits_of(1, 2) + bits_of(0, 4) + bits_of(64, 12) + bits_of(width, 12)
    state += bits_of(FULL_ROUNDS, 10) + bits_of(PARTIAL_ROUNDS, 10) + [1] * 30
    assert len(state) == 80

    def clock():
        bit = 0
        for tap in (62, 51, 38, 23, 13, 0):
            bit ^= state[tap]
        state.pop(0)
        state.append(bit)
        return bit

    def sampled():
        while True:
            taken, bit = clock(), clock()
            if taken:
                return bit

    for _ in range(160):
        clock()
    while True:
        element = 0
        for _ in range(64):
            element = element << 1 | sampled()
        if element < P:
            yield element


def matrix_times(matrix, state):
    return [sum(entry * x for entry, x in zip(row, state)) % P for row in matrix]


def circulant(row):
    width = len(row)
    return [[row[(j - i) % width] for j in range(width)] for i in range(width)]


class Poseidon:
    """Section 2.3: constants, S-boxes and the MDS matrix in every round."""

    def __init__(self, width):
        rounds = FULL_ROUNDS + PARTIAL_ROUNDS
        stream = grain(width)
        self.width = width
        self.constants = [[next(stream) for _ in range(width)] for _ in range(rounds)]
        self.matrix = MDS_ROWS[width]
        self.mds = circulant(self.matrix)

    def permute(self, state):
        for number, constants in enumerate(self.constants):
            state = [(x + c) % P for x, c in zip(state, constants)]
            last_partial = FULL_ROUNDS // 2 + PARTIAL_ROUNDS
            boxes = 1 if FULL_ROUNDS // 2 <= number < last_partial else self.width
            state = [pow(x, 7, P) for x in state[:boxes]] + state[boxes:]
            state = matrix_times(self.mds, state)
        return state


class Poseidon2:
    """Section 5: an external matrix before the first round and in each external one, an internal one in the others."""

    def __init__(self, width):
        stream = grain(width)

        def rounds(count, constants):
            return [[next(stream) for _ in range(constants)] for _ in range(count)]

        self.width = width
        self.constants = rounds(FULL_ROUNDS // 2, width)
        self.constants += rounds(PARTIAL_ROUNDS, 1)
        self.constants += rounds(FULL_ROUNDS // 2, width)
        self.matrix = [entry % P for entry in DIAGONALS[width]]
        self.internal = [
            [1 + (self.matrix[i] if i == j else 0) for j in range(width)] for i in range(width)
        ]
        # circ(2 M4, M4, ..., M4)
        m4 = circulant(M4)
        self.external = [
            [(2 if i // 4 == j // 4 else 1) * m4[i % 4][j % 4] for j in range(width)]
            for i in range(width)
        ]

    def permute(self, state):
        state = matrix_times(self.external, state)
        for constants in self.constants:
            boxes = len(constants)
            state = [pow(x + c, 7, P) for x, c in zip(state, constants)] + state[boxes:]
            state = matrix_times(self.external if boxes > 1 else self.internal, state)
        return state


# Representatives next to the carries of a reduction; four are not canonical.
EDGES = [0, 1, 2**32 - 2, 2**32 - 1, 2**32, 2**63 - 1, 2**63, (P + 1) // 2]
EDGES += [P - 2**32, P - 1, P, P + 1, 2**64 - 2, 2**64 - 1]


def vectors(permutation):
    width = permutation.width
    inputs = [[x] * width for x in (0, P - 1, P, 2**64 - 1)]
    # Each edge in several positions.
    inputs += [[EDGES[(i + start) % len(EDGES)] for i in range(width)] for start in (0, 5, 10)]
    inputs += [[(2**64 - 1) * (i % 2) for i in range(width)]]
    # Each result is the next input.
    chained = list(range(width))
    for _ in range(8):
        inputs.append(chained)
        chained = permutation.permute(chained)
    return [(state, permutation.permute(state)) for state in inputs]


def to_json(permutation):
    """An array of instances, with one state or row a line."""

    def row(elements):
        return json.dumps([f"{x:#018x}" for x in elements])

    def block(rows):
        return "[\n" + ",\n".join(f"      {row}" for row in rows) + "\n    ]"

    def instance(width):
        chosen = permutation(width)
        states = vectors(chosen)
        return f"""  {{
    "width": {width},
    "matrix": {row(chosen.matrix)},
    "constants": {block(map(row, chosen.constants))},
    "inputs": {block(row(before) for before, _ in states)},
    "outputs": {block(row(after) for _, after in states)}
  }}"""

    return "[\n" + ",\n".join(map(instance, WIDTHS)) + "\n]\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    folder = Path(__file__).resolve().parent.parent / "vectors"
    for name, permutation in (("poseidon1", Poseidon), ("poseidon2", Poseidon2)):
        path = folder / f"{name}.json"
        text = to_json(permutation)
        if not sys.argv[1:]:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} differs from what {Path(__file__).name} computes")


if __name__ == "__main__":
    main()
