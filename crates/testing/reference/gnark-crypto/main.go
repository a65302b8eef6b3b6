// Checks the known answers of Poseidon2 over BabyBear and KoalaBear with gnark-crypto, which has Plonky3's matrices, but round
// constants of its own, and for KoalaBear round numbers of its own.
//
// usage: go run . FOLDER
//
// The folder is ../../vectors. On AVX-512, gnark-crypto runs BabyBear in assembly.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/consensys/gnark-crypto/field/babybear"
	babybearp2 "github.com/consensys/gnark-crypto/field/babybear/poseidon2"
	"github.com/consensys/gnark-crypto/field/koalabear"
	koalabearp2 "github.com/consensys/gnark-crypto/field/koalabear/poseidon2"
)

// words is a list of hexadecimal numbers, each in a string.
type words []uint64

// UnmarshalJSON reads the list.
func (w *words) UnmarshalJSON(text []byte) error {
	var digits []string
	if err := json.Unmarshal(text, &digits); err != nil {
		return err
	}
	for _, word := range digits {
		value, err := strconv.ParseUint(word, 0, 64)
		if err != nil {
			return err
		}
		*w = append(*w, value)
	}
	return nil
}

// instance is a permutation with its answers, as a file has it.
type instance struct {
	FullRounds    int     `json:"full_rounds"`
	PartialRounds int     `json:"partial_rounds"`
	Width         int     `json:"width"`
	Constants     []words `json:"constants"`
	Inputs        []words `json:"inputs"`
	Outputs       []words `json:"outputs"`
}

// element has the methods that fields of gnark-crypto have in common.
type element[E any] interface {
	*E
	SetUint64(uint64) *E
	Uint64() uint64
}

// elements returns the elements with these values.
func elements[E any, P element[E]](from words) []E {
	to := make([]E, len(from))
	for i, word := range from {
		P(&to[i]).SetUint64(word)
	}
	return to
}

// rows returns the elements with these values, row by row.
func rows[E any, P element[E]](from []words) [][]E {
	to := make([][]E, len(from))
	for i, row := range from {
		to[i] = elements[E, P](row)
	}
	return to
}

// permute returns the permutation of an input by a function of gnark-crypto's.
func permute[E any, P element[E]](input words, permutation func([]E) error) words {
	state := elements[E, P](input)
	check(permutation(state))
	output := make(words, len(state))
	for i := range state {
		output[i] = P(&state[i]).Uint64()
	}
	return output
}

// babyBear returns the permutation of an instance. gnark-crypto takes round constants by its default parameters alone, which all
// permutations of a field share.
func babyBear(of instance) func(words) words {
	parameters := babybearp2.GetDefaultParameters()
	*parameters = *babybearp2.NewParameters(of.Width, of.FullRounds, of.PartialRounds)
	parameters.RoundKeys = rows[babybear.Element](of.Constants)
	permutation := babybearp2.NewDefaultPermutation()
	return func(input words) words {
		return permute[babybear.Element](input, permutation.Permutation)
	}
}

// koalaBear does what babyBear does.
func koalaBear(of instance) func(words) words {
	parameters := koalabearp2.GetDefaultParameters()
	*parameters = *koalabearp2.NewParameters(of.Width, of.FullRounds, of.PartialRounds)
	parameters.RoundKeys = rows[koalabear.Element](of.Constants)
	permutation := koalabearp2.NewDefaultPermutation()
	return func(input words) words {
		return permute[koalabear.Element](input, permutation.Permutation)
	}
}

// main checks the two files in the folder that is its argument.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . FOLDER")
		os.Exit(2)
	}
	for _, field := range []struct {
		name        string
		permutation func(instance) func(words) words
	}{
		{"baby-bear", babyBear},
		{"koala-bear", koalaBear},
	} {
		file := filepath.Join(os.Args[1], field.name+"-poseidon2.json")
		text, err := os.ReadFile(file)
		check(err)
		var instances []instance
		check(json.Unmarshal(text, &instances))
		assert(len(instances) > 0, "%s: empty", file)
		for _, of := range instances {
			permutation := field.permutation(of)
			assert(len(of.Inputs) > 0 && len(of.Inputs) == len(of.Outputs), "%s: no answers", file)
			for i, input := range of.Inputs {
				output := permutation(input)
				assert(slices.Equal(output, of.Outputs[i]), "%s: width %d: answer %d: %x", file, of.Width, i, output)
			}
			fmt.Printf("%s, width %d: %d answers are gnark-crypto's\n", field.name, of.Width, len(of.Inputs))
		}
	}
}

// assert ends the program where a condition does not hold.
func assert(holds bool, format string, args ...any) {
	if !holds {
		check(fmt.Errorf(format, args...))
	}
}

// check ends the program where there is an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
