#!/usr/bin/env python3
"""Known answers of Poseidon and Poseidon2, by an implementation of the papers that is slow and plain.

usage: poseidon.py           writes ../vectors/FIELD-PERMUTATION.json
       poseidon.py --check   fails unless they are what it would write

Poseidon: Grassi, Khovratovich, Rechberger, Roy, Schofnegger, USENIX Security 2021, https://eprint.iacr.org/2019/458.
Poseidon2: Grassi, Khovratovich, Schofnegger, https://eprint.iacr.org/2023/323.

The instances are the default ones of p3-goldilocks, p3-baby-bear and p3-koala-bear 0.8.0. Round constants are generated
here, as appendix E of the first paper says. What Plonky3 chose itself is in the rows, M4 and the diagonals;
../tests/known_answers.rs compares these and the round constants with its public items. Poseidon of width 16 over
Goldilocks has no default instance there: here it takes Plonky3's matrix of that width and the round numbers of the other
two.
"""

import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

FULL_ROUNDS = 8

# First row of the circulant 4 x 4 matrix in Poseidon2's external matrix. The paper proposes another M4.
M4 = [2, 3, 1, 1]


@dataclass
class Field:
    """A prime field, and what Plonky3 chose for the permutations over it, by width."""

    name: str
    order: int
    # The degree of the S-box.
    degree: int
    partial_rounds: dict
    # First rows of the circulant MDS matrices of Poseidon.
    rows: dict
    # The diagonals that are added to the all-one matrix, which gives Poseidon2's internal matrix.
    diagonals: dict
    # Representatives next to the carries of a reduction; four of Goldilocks' are not canonical.
    edges: list
    digits: int


def halved(*exponents):
    """The numbers 1 / 2^k, and -1 / 2^k for an exponent -k."""
    return [Fraction(1 if k > 0 else -1, 2 ** abs(k)) for k in exponents]


NINE = [-2, 1, 2, *halved(1), 3, 4, *halved(-1), -3, -4]

ROW_16 = [1, 1, 51, 1, 11, 17, 2, 1, 101, 63, 15, 2, 67, 22, 13, 3]

# The row of both fields of 31 bits.
ROW_24 = [0x2D0AAAAB, 0x64850517, 0x17F5551D, 0x04ECBEB5, 0x6D91A8D5, 0x60703026, 0x18D6F3CA, 0x729601A7]
ROW_24 += [0x77CDA9E2, 0x3C0F5038, 0x26D52A61, 0x0360405D, 0x68FC71C8, 0x2495A71D, 0x5D57AFC2, 0x1689DD98]
ROW_24 += [0x3C2C3DBE, 0x0C23DC41, 0x0524C7F2, 0x6BE4DF69, 0x0A6E572C, 0x5C7790FA, 0x17E118F6, 0x0878A07F]

P = 2**64 - 2**32 + 1
GOLDILOCKS = Field(
    name="goldilocks",
    order=P,
    degree=7,
    partial_rounds={8: 22, 12: 22, 16: 22},
    rows={8: [7, 1, 3, 8, 8, 3, 4, 9], 12: [1, 1, 2, 1, 8, 9, 10, 7, 5, 9, 4, 10], 16: ROW_16},
    diagonals={
        8: [-2, 1, 2, *halved(1), 3, *halved(-1), -3, -4],
        12: NINE + halved(2, -2, 3),
        16: NINE + halved(3, 4, 5, -3, -4, -5, 32),
    },
    edges=[0, 1, 2**32 - 2, 2**32 - 1, 2**32, 2**63 - 1, 2**63, (P + 1) // 2]
    + [P - 2**32, P - 1, P, P + 1, 2**64 - 2, 2**64 - 1],
    digits=16,
)


def field_of_31_bits(name, two_adicity, factor, degree, partial_rounds, diagonals):
    order = factor * 2**two_adicity + 1
    # The word 1 / 2^32 has the Montgomery form 1.
    unit = pow(2, -32, order)
    forms = [1, 2, 2**30, order // 2, order // 2 + 1, order - 2, order - 1]
    return Field(
        name=name,
        order=order,
        degree=degree,
        partial_rounds=partial_rounds,
        rows={16: ROW_16, 24: ROW_24},
        diagonals=diagonals,
        edges=[0, 1, 2**two_adicity, 2**30, (order + 1) // 2, order - 2, order - 1]
        + [form * unit % order for form in forms],
        digits=8,
    )


FIELDS = [
    GOLDILOCKS,
    field_of_31_bits(
        "baby-bear",
        two_adicity=27,
        factor=15,
        degree=7,
        partial_rounds={16: 13, 24: 21},
        diagonals={
            16: NINE + halved(8, 2, 3, 27, -8, -4, -27),
            24: NINE + halved(8, 2, 3, 4, 7, 9, 27, -8, -2, -3, -4, -5, -6, -7, -27),
        },
    ),
    field_of_31_bits(
        "koala-bear",
        two_adicity=24,
        factor=127,
        degree=3,
        partial_rounds={16: 20, 24: 23},
        diagonals={
            16: NINE + halved(8, 3, 24, -8, -3, -4, -24),
            24: NINE + halved(8, 2, 3, 4, 5, 6, 24, -8, -3, -4, -5, -6, -7, -9, -24),
        },
    ),
]


def grain(field, width):
    """Elements of the field from the Grain LFSR in its self-shrinking mode: appendix E, without end."""

    def bits_of(value, count):
        return [value >> i & 1 for i in reversed(range(count))]

    bits = field.order.bit_length()
    # A prime field, the S-box x^alpha, the bits of an element, the width, the rounds, thirty ones.
    state = bits_of(1, 2) + bits_of(0, 4) + bits_of(bits, 12) + bits_of(width, 12)
    state += bits_of(FULL_ROUNDS, 10) + bits_of(field.partial_rounds[width], 10) + [1] * 30
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
        for _ in range(bits):
            element = element << 1 | sampled()
        if element < field.order:
            yield element


def matrix_times(matrix, state, order):
    return [sum(entry * x for entry, x in zip(row, state)) % order for row in matrix]


def circulant(row):
    width = len(row)
    return [[row[(j - i) % width] for j in range(width)] for i in range(width)]


class Poseidon:
    """Section 2.3: constants, S-boxes and the MDS matrix in every round."""

    name = "poseidon1"

    def __init__(self, field, width):
        self.field = field
        self.width = width
        self.partial_rounds = field.partial_rounds[width]
        rounds = FULL_ROUNDS + self.partial_rounds
        stream = grain(field, width)
        self.constants = [[next(stream) for _ in range(width)] for _ in range(rounds)]
        self.matrix = field.rows[width]
        self.mds = circulant(self.matrix)

    def permute(self, state):
        order, degree = self.field.order, self.field.degree
        for number, constants in enumerate(self.constants):
            state = [(x + c) % order for x, c in zip(state, constants)]
            last_partial = FULL_ROUNDS // 2 + self.partial_rounds
            boxes = 1 if FULL_ROUNDS // 2 <= number < last_partial else self.width
            state = [pow(x, degree, order) for x in state[:boxes]] + state[boxes:]
            state = matrix_times(self.mds, state, order)
        return state


class Poseidon2:
    """Section 5: an external matrix before the first round and in each external one, an internal one in the others."""

    name = "poseidon2"

    def __init__(self, field, width):
        stream = grain(field, width)

        def rounds(count, constants):
            return [[next(stream) for _ in range(constants)] for _ in range(count)]

        def element(entry):
            return entry.numerator * pow(entry.denominator, -1, field.order) % field.order

        self.field = field
        self.width = width
        self.partial_rounds = field.partial_rounds[width]
        self.constants = rounds(FULL_ROUNDS // 2, width)
        self.constants += rounds(self.partial_rounds, 1)
        self.constants += rounds(FULL_ROUNDS // 2, width)
        self.matrix = [element(entry) for entry in field.diagonals[width]]
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
        order, degree = self.field.order, self.field.degree
        state = matrix_times(self.external, state, order)
        for constants in self.constants:
            boxes = len(constants)
            state = [pow(x + c, degree, order) for x, c in zip(state, constants)] + state[boxes:]
            state = matrix_times(self.external if boxes > 1 else self.internal, state, order)
        return state


def vectors(permutation):
    field, width = permutation.field, permutation.width
    edges, largest = field.edges, max(field.edges)
    inputs = [[x] * width for x in sorted({0, field.order - 1, min(field.order, largest), largest})]
    # Each edge in several positions.
    inputs += [[edges[(i + start) % len(edges)] for i in range(width)] for start in (0, 5, 10)]
    inputs += [[largest * (i % 2) for i in range(width)]]
    # Each result is the next input.
    chained = list(range(width))
    for _ in range(8):
        inputs.append(chained)
        chained = permutation.permute(chained)
    return [(state, permutation.permute(state)) for state in inputs]


def to_json(permutations):
    """An array of instances, with one state or row a line."""

    def instance(permutation):
        field = permutation.field

        def row(elements):
            return json.dumps([f"{x:#0{field.digits + 2}x}" for x in elements])

        def block(rows):
            return "[\n" + ",\n".join(f"      {row}" for row in rows) + "\n    ]"

        states = vectors(permutation)
        return f"""  {{
    "order": "{field.order:#x}",
    "degree": {field.degree},
    "full_rounds": {FULL_ROUNDS},
    "partial_rounds": {permutation.partial_rounds},
    "width": {permutation.width},
    "matrix": {row(permutation.matrix)},
    "constants": {block(map(row, permutation.constants))},
    "inputs": {block(row(before) for before, _ in states)},
    "outputs": {block(row(after) for _, after in states)}
  }}"""

    return "[\n" + ",\n".join(map(instance, permutations)) + "\n]\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    folder = Path(__file__).resolve().parent.parent / "vectors"
    for field in FIELDS:
        for permutation in (Poseidon, Poseidon2):
            path = folder / f"{field.name}-{permutation.name}.json"
            text = to_json([permutation(field, width) for width in field.partial_rounds])
            if not sys.argv[1:]:
                path.write_text(text)
            elif path.read_text() != text:
                sys.exit(f"{path}: differs from what this program computes")


if __name__ == "__main__":
    main()
