// Command papers checks known answers of Poseidon (eprint 2019/458) and
// Poseidon2 (eprint 2023/323) against a plain reading of the two papers.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// number is a uint64 that JSON holds as a hexadecimal string.
type number uint64

// instance is one permutation with its answers, as a file holds it.
type instance struct {
	second                     bool // Poseidon2
	Permutation                string
	Order                      number
	Degree, Width              int
	FullRounds                 int `json:"full_rounds"`
	PartialRounds              int `json:"partial_rounds"`
	Matrix                     []number
	Constants, Inputs, Outputs [][]number
}

// UnmarshalJSON reads a number from a string such as "0x1f".
func (n *number) UnmarshalJSON(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), `"0x`)
	v, err := strconv.ParseUint(strings.TrimSuffix(digits, `"`), 16, 64)
	if *n = number(v); !ok || err != nil {
		return fmt.Errorf("%s is no hexadecimal number of 64 bits", text)
	}
	return nil
}

// calc returns a times b plus c modulo the order.
func (x *instance) calc(a, b, c number) number {
	high, low := bits.Mul64(uint64(a), uint64(b))
	low, carry := bits.Add64(low, uint64(c), 0)
	return number(bits.Rem64(high+carry, low, uint64(x.Order)))
}

// isFull tells whether a round is one of the first or the last full ones.
func (x *instance) isFull(round int) bool {
	return round < x.FullRounds/2 || round >= x.FullRounds/2+x.PartialRounds
}

// entry returns row i, column j of the matrix of the full or the partial rounds.
func (x *instance) entry(full bool, i, j int) number {
	m4 := []number{2, 3, 1, 1}
	switch {
	case !x.second:
		return x.Matrix[(j-i+x.Width)%x.Width]
	case full && i/4 == j/4:
		return 2 * m4[(j-i+x.Width)%4]
	case full:
		return m4[(j-i+x.Width)%4]
	case i == j:
		return x.calc(1, 1, x.Matrix[i])
	}
	return 1
}

// apply returns the product of the full or the partial matrix and the state.
func (x *instance) apply(full bool, state []number) []number {
	y := make([]number, x.Width)
	for i := range y {
		for j := range state {
			y[i] = x.calc(x.entry(full, i, j), state[j], y[i])
		}
	}
	return y
}

// grain returns the LFSR in self-shrinking mode, as a function that computes
// the next element. The first 160 bits are already discarded.
func (x *instance) grain() func() number {
	state := []byte(fmt.Sprintf("%02b%04b%012b%012b%010b%010b%030b", 1, 0,
		bits.Len64(uint64(x.Order)), x.Width, x.FullRounds, x.PartialRounds, 1<<30-1))
	step := func() number {
		b := state[62] ^ state[51] ^ state[38] ^ state[23] ^ state[13] ^ state[0] // 0 or 1: six '0' cancel
		state = append(state[1:], '0'+b)
		return number(b)
	}
	for range 160 {
		step()
	}
	return func() number {
		v := x.Order
		for v >= x.Order {
			v = 0
			for range bits.Len64(uint64(x.Order)) {
				for step() == 0 {
					step()
				}
				v = v<<1 | step()
			}
		}
		return v
	}
}

// generate returns the constants by round: one alone for a partial round of
// Poseidon2, one for each element otherwise.
func (x *instance) generate() [][]number {
	next := x.grain()
	constants := make([][]number, x.FullRounds+x.PartialRounds)
	for r := range constants {
		for i := range x.Width {
			if i == 0 || !x.second || x.isFull(r) {
				constants[r] = append(constants[r], next())
			}
		}
	}
	return constants
}

// permute returns the permutation of the input, which need not be canonical.
func (x *instance) permute(constants [][]number, input []number) []number {
	state := append([]number{}, input...)
	if x.second {
		state = x.apply(true, state)
	}
	for r, round := range constants {
		for i, c := range round {
			state[i] = x.calc(1, state[i], c)
			base := state[i]
			for k := 1; k < x.Degree && (i == 0 || x.isFull(r)); k++ {
				state[i] = x.calc(state[i], base, 0)
			}
		}
		state = x.apply(x.isFull(r), state)
	}
	return state
}

// fail prints the first difference or fault and exits with 1.
func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// compare fails where the elements in the file differ from the computed ones.
func compare(name string, file, computed []number) {
	if len(file) != len(computed) {
		fail("%s: the file has %d elements, not %d", name, len(file), len(computed))
	}
	for i := range file {
		if file[i] != computed[i] {
			fail("%s, element %d: the file has %#x, computed %#x", name, i, file[i], computed[i])
		}
	}
}

// check compares an instance with what it computes, all counted from 0.
func (x *instance) check(name string) {
	if x.Order < 2 || x.Degree < 2 || x.FullRounds < 2 || x.FullRounds%2 != 0 || x.PartialRounds < 1 ||
		x.Width < 1 || x.Width != len(x.Matrix) || x.second && (x.Width < 8 || x.Width%4 != 0) {
		fail("%s: parameters that are missing or make no sense", name)
	}
	constants := x.generate()
	if len(x.Constants) != len(constants) || len(x.Inputs) == 0 || len(x.Inputs) != len(x.Outputs) {
		fail("%s: %d rounds, %d inputs, %d outputs", name, len(x.Constants), len(x.Inputs), len(x.Outputs))
	}
	for r := range constants {
		compare(fmt.Sprintf("%s, constants of round %d", name, r), x.Constants[r], constants[r])
	}
	for n, input := range x.Inputs {
		if len(input) != x.Width {
			fail("%s, answer %d: %d inputs", name, n, len(input))
		}
		compare(fmt.Sprintf("%s, answer %d", name, n), x.Outputs[n], x.permute(constants, input))
	}
	fmt.Printf("%s, %d answers\n", name, len(x.Inputs))
}

// serve answers each line of the input, an instance, with a line for each
// of its inputs. Numbers of rounds and constants are taken as they are.
func serve() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var x instance
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			fail("%v", err)
		}
		x.second = x.Permutation == "poseidon2"
		for _, input := range x.Inputs {
			output := x.permute(x.Constants, input)
			fmt.Println(strings.Trim(fmt.Sprint(output), "[]"))
		}
	}
	if err := lines.Err(); err != nil {
		fail("%v", err)
	}
}

// main checks every instance of the six files in the folder that it is given,
// or serves where that is -serve.
func main() {
	if len(os.Args) != 2 {
		fail("usage: papers FOLDER")
	}
	if os.Args[1] == "-serve" {
		serve()
		return
	}
	for n := range 6 {
		name := []string{"goldilocks", "baby-bear", "koala-bear"}[n/2] + []string{"-poseidon1", "-poseidon2"}[n%2] + ".json"
		text, err := os.ReadFile(filepath.Join(os.Args[1], name))
		if err != nil {
			fail("%s: %v", name, err)
		}
		var instances []instance
		if err := json.Unmarshal(text, &instances); err != nil || len(instances) == 0 {
			fail("%s: %d instances, error: %v", name, len(instances), err)
		}
		for _, x := range instances {
			x.second = n%2 == 1
			x.check(fmt.Sprintf("%s, width %d", name, x.Width))
		}
	}
}
