// Prints how long gnark-crypto takes, the shortest of some runs on one thread, in nanoseconds: a line for each subject.
//
// A permutation `single` is of one state at a time, each the result of the one before, and `x16` of sixteen states at a time; its time is
// that of a state. An extension `lde` is to twice the height, on the coset that p3-fri commits to, as the workers' rows of that name do.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"

	"github.com/consensys/gnark-crypto/field/babybear"
	babybearfft "github.com/consensys/gnark-crypto/field/babybear/fft"
	babybearp2 "github.com/consensys/gnark-crypto/field/babybear/poseidon2"
	"github.com/consensys/gnark-crypto/field/goldilocks"
	goldilocksfft "github.com/consensys/gnark-crypto/field/goldilocks/fft"
	goldilocksp2 "github.com/consensys/gnark-crypto/field/goldilocks/poseidon2"
	"github.com/consensys/gnark-crypto/field/koalabear"
	koalabearfft "github.com/consensys/gnark-crypto/field/koalabear/fft"
	koalabearp2 "github.com/consensys/gnark-crypto/field/koalabear/poseidon2"
)

const permutations = 1 << 12

// measure prints the shortest run of a subject for each of the parts that a run has.
func measure(subject string, runs int, parts int, run func()) {
	shortest := time.Duration(1 << 62)
	for range runs {
		start := time.Now()
		run()
		shortest = min(shortest, time.Since(start))
	}
	fmt.Printf("gnark-crypto %s\t%.1f\n", subject, float64(shortest.Nanoseconds())/float64(parts))
}

// single measures a permutation of one state.
func single[E any](subject string, runs int, width int, permutation func([]E) error) {
	state := make([]E, width)
	measure(subject+" single", runs, permutations, func() {
		for range permutations {
			check(permutation(state))
		}
	})
}

// element has the methods that the fields of gnark-crypto have in common.
type element[E any] interface {
	*E
	SetUint64(uint64) *E
	Mul(*E, *E) *E
	Add(*E, *E) *E
	Equal(*E) bool
}

// transforms of a height, which leave their result in place: the inverse one, and one for each half of the coset.
type transforms[E any] struct {
	inverse func([]E)
	halves  [2]func([]E)
	shifts  [2]E
	reverse func([]E)
}

// extend measures the extension of columns, one after the other. The inverse transform leaves the coefficients in bit-reversed order, and
// the two halves of the coset's transform take them so: no run reverses an order.
func extend[E any, P element[E]](subject string, runs int, height int, columns int, by transforms[E]) {
	input := make([]E, height*columns)
	rng := rand.New(rand.NewSource(1))
	for i := range input {
		P(&input[i]).SetUint64(rng.Uint64())
	}
	coefficients := make([]E, height)
	output := make([]E, 2*height*columns)
	measure(subject, runs, 1, func() {
		for column := range columns {
			copy(coefficients, input[column*height:])
			by.inverse(coefficients)
			for k, half := range by.halves {
				block := output[(2*column+k)*height:][:height]
				copy(block, coefficients)
				half(block)
			}
		}
	})
	// Horner's rule gives the value at the first point of each half of the last column.
	by.reverse(coefficients)
	for k := range by.shifts {
		var value E
		for i := height - 1; i >= 0; i-- {
			P(&value).Mul(&value, &by.shifts[k])
			P(&value).Add(&value, &coefficients[i])
		}
		if !P(&value).Equal(&output[(2*columns-2+k)*height]) {
			check(fmt.Errorf("%s: half %d does not begin with the polynomial's value", subject, k))
		}
	}
}

// shifts returns the two shifts of the coset that p3-fri commits to.
func shifts[E any, P element[E]](generator E, root E, err error) [2]E {
	check(err)
	shifts := [2]E{generator, generator}
	P(&shifts[1]).Mul(&generator, &root)
	return shifts
}

// babyBear returns the transforms of a height.
func babyBear(height uint64) transforms[babybear.Element] {
	one := babybearfft.WithNbTasks(1)
	root, err := babybearfft.Generator(2 * height)
	of := transforms[babybear.Element]{shifts: shifts[babybear.Element](babybear.NewElement(31), root, err), reverse: babybearfft.BitReverse[babybear.Element]}
	domain := babybearfft.NewDomain(height)
	of.inverse = func(a []babybear.Element) { domain.FFTInverse(a, babybearfft.DIF, one) }
	for k, shift := range of.shifts {
		coset := babybearfft.NewDomain(height, babybearfft.WithShift(shift))
		of.halves[k] = func(a []babybear.Element) { coset.FFT(a, babybearfft.DIT, babybearfft.OnCoset(), one) }
	}
	return of
}

// goldilocksOf does what babyBear does.
func goldilocksOf(height uint64) transforms[goldilocks.Element] {
	one := goldilocksfft.WithNbTasks(1)
	root, err := goldilocksfft.Generator(2 * height)
	of := transforms[goldilocks.Element]{shifts: shifts[goldilocks.Element](goldilocks.NewElement(7), root, err), reverse: goldilocksfft.BitReverse[goldilocks.Element]}
	domain := goldilocksfft.NewDomain(height)
	of.inverse = func(a []goldilocks.Element) { domain.FFTInverse(a, goldilocksfft.DIF, one) }
	for k, shift := range of.shifts {
		coset := goldilocksfft.NewDomain(height, goldilocksfft.WithShift(shift))
		of.halves[k] = func(a []goldilocks.Element) { coset.FFT(a, goldilocksfft.DIT, goldilocksfft.OnCoset(), one) }
	}
	return of
}

// koalaBear does what babyBear does.
func koalaBear(height uint64) transforms[koalabear.Element] {
	one := koalabearfft.WithNbTasks(1)
	root, err := koalabearfft.Generator(2 * height)
	of := transforms[koalabear.Element]{shifts: shifts[koalabear.Element](koalabear.NewElement(3), root, err), reverse: koalabearfft.BitReverse[koalabear.Element]}
	domain := koalabearfft.NewDomain(height)
	of.inverse = func(a []koalabear.Element) { domain.FFTInverse(a, koalabearfft.DIF, one) }
	for k, shift := range of.shifts {
		coset := koalabearfft.NewDomain(height, koalabearfft.WithShift(shift))
		of.halves[k] = func(a []koalabear.Element) { coset.FFT(a, koalabearfft.DIT, koalabearfft.OnCoset(), one) }
	}
	return of
}

func main() {
	runs, err := strconv.Atoi(os.Args[1])
	check(err)
	single[goldilocks.Element]("goldilocks poseidon2-8 (6 + 17 rounds)", runs, 8, goldilocksp2.NewPermutation(8, 6, 17).Permutation)
	single[goldilocks.Element]("goldilocks poseidon2-12 (6 + 17 rounds)", runs, 12, goldilocksp2.NewPermutation(12, 6, 17).Permutation)
	single[babybear.Element]("baby-bear poseidon2-16", runs, 16, babybearp2.NewPermutation(16, 8, 13).Permutation)
	single[babybear.Element]("baby-bear poseidon2-24", runs, 24, babybearp2.NewPermutation(24, 8, 21).Permutation)
	single[koalabear.Element]("koala-bear poseidon2-16 (6 + 21 rounds)", runs, 16, koalabearp2.NewPermutation(16, 6, 21).Permutation)
	single[koalabear.Element]("koala-bear poseidon2-24 (6 + 21 rounds)", runs, 24, koalabearp2.NewPermutation(24, 6, 21).Permutation)
	var states [24][16]koalabear.Element
	sixteen := koalabearp2.NewPermutation(24, 6, 21)
	measure("koala-bear poseidon2-24 (6 + 21 rounds) x16", runs, 16*permutations, func() {
		for range permutations {
			sixteen.Permutation16x24(&states)
		}
	})
	extend("lde/goldilocks/2^22x1", runs, 1<<22, 1, goldilocksOf(1<<22))
	extend("lde/baby-bear/2^16x256", runs, 1<<16, 256, babyBear(1<<16))
	extend("lde/koala-bear/2^20x1", runs, 1<<20, 1, koalaBear(1<<20))
	extend("lde/koala-bear/2^20x2", runs, 1<<20, 2, koalaBear(1<<20))
	extend("lde/koala-bear/2^20x4", runs, 1<<20, 4, koalaBear(1<<20))
}

// check ends the program where there is an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
