// Extends one column of 2^20 elements of KoalaBear to twice its height on the coset that p3-fri commits to, as the row
// `lde/koala-bear/2^20x1` does, and prints the nanoseconds of each run.
//
// The inverse transform leaves the coefficients in bit-reversed order, and the two halves of the coset's transform take them so: no
// run reverses an order.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"

	"github.com/consensys/gnark-crypto/field/koalabear"
	"github.com/consensys/gnark-crypto/field/koalabear/fft"
)

const height = 1 << 20

func main() {
	runs, err := strconv.Atoi(os.Args[1])
	check(err)
	generator := koalabear.NewElement(3)
	root, err := fft.Generator(2 * height)
	check(err)
	shifts := []koalabear.Element{generator, generator}
	shifts[1].Mul(&generator, &root)
	inverse := fft.NewDomain(height)
	cosets := []*fft.Domain{
		fft.NewDomain(height, fft.WithShift(shifts[0])),
		fft.NewDomain(height, fft.WithShift(shifts[1])),
	}
	input := make([]koalabear.Element, height)
	rng := rand.New(rand.NewSource(1))
	for i := range input {
		input[i].SetUint64(rng.Uint64())
	}
	coefficients := make([]koalabear.Element, height)
	output := make([]koalabear.Element, 2*height)
	oneThread := fft.WithNbTasks(1)
	for range runs {
		copy(coefficients, input)
		start := time.Now()
		inverse.FFTInverse(coefficients, fft.DIF, oneThread)
		for k, coset := range cosets {
			block := output[k*height:][:height]
			copy(block, coefficients)
			coset.FFT(block, fft.DIT, fft.OnCoset(), oneThread)
		}
		fmt.Println(time.Since(start).Nanoseconds())
	}
	// Horner's rule gives the value at the first point of each half.
	fft.BitReverse(coefficients)
	for k := range shifts {
		var value koalabear.Element
		for i := height - 1; i >= 0; i-- {
			value.Mul(&value, &shifts[k]).Add(&value, &coefficients[i])
		}
		if !value.Equal(&output[k*height]) {
			check(fmt.Errorf("half %d does not begin with the polynomial's value", k))
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
