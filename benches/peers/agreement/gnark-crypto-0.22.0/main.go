// Prints what gnark-crypto 0.22.0 computes with its own round constants and numbers of rounds, which a caller gives: for widths that it has
// no default for, the rounds of the nearest one.
package main

import (
	"fmt"

	"github.com/consensys/gnark-crypto/field/babybear"
	babybearext "github.com/consensys/gnark-crypto/field/babybear/extensions"
	babybearfft "github.com/consensys/gnark-crypto/field/babybear/fft"
	babybearp2 "github.com/consensys/gnark-crypto/field/babybear/poseidon2"
	"github.com/consensys/gnark-crypto/field/goldilocks"
	goldilocksext "github.com/consensys/gnark-crypto/field/goldilocks/extensions"
	goldilocksfft "github.com/consensys/gnark-crypto/field/goldilocks/fft"
	goldilocksp2 "github.com/consensys/gnark-crypto/field/goldilocks/poseidon2"
	"github.com/consensys/gnark-crypto/field/koalabear"
	koalabearext "github.com/consensys/gnark-crypto/field/koalabear/extensions"
	koalabearfft "github.com/consensys/gnark-crypto/field/koalabear/fft"
	koalabearp2 "github.com/consensys/gnark-crypto/field/koalabear/poseidon2"
)

// element has the methods that the fields of gnark-crypto have in common.
type element[E any] interface {
	*E
	SetUint64(uint64) *E
	Uint64() uint64
}

// print prints a line of elements.
func print[E any, P element[E]](subject string, elements ...E) {
	fmt.Print(subject)
	separator := "\t"
	for i := range elements {
		fmt.Print(separator, P(&elements[i]).Uint64())
		separator = " "
	}
	fmt.Println()
}

// permute prints the permutation of 0, 1, .., width - 1.
func permute[E any, P element[E]](field string, width int, permutation func([]E) error) {
	state := make([]E, width)
	for i := range state {
		P(&state[i]).SetUint64(uint64(i))
	}
	check(permutation(state))
	print[E, P](fmt.Sprintf("%s poseidon2-%d", field, width), state...)
}

// roots prints the generator of a field and its root of the largest order that is a power of two.
func roots[E any, P element[E]](field string, generator E, bits int, root func(uint64) (E, error)) {
	print[E, P](field+" generator", generator)
	of, err := root(1 << bits)
	check(err)
	print[E, P](fmt.Sprintf("%s root of order 2^%d", field, bits), of)
}

func main() {
	permute("goldilocks", 8, goldilocksp2.NewPermutation(8, 6, 17).Permutation)
	permute("goldilocks", 12, goldilocksp2.NewPermutation(12, 6, 17).Permutation)
	permute("baby-bear", 16, babybearp2.NewPermutation(16, 8, 13).Permutation)
	permute("baby-bear", 24, babybearp2.NewPermutation(24, 8, 21).Permutation)
	permute("koala-bear", 16, koalabearp2.NewPermutation(16, 6, 21).Permutation)
	permute("koala-bear", 24, koalabearp2.NewPermutation(24, 6, 21).Permutation)
	var u goldilocksext.E2
	u.A1.SetOne()
	u.Square(&u)
	print("goldilocks x^2", u.A0)
	var x babybearext.E4
	x.B1.A0.SetOne()
	x.Square(&x)
	print("baby-bear coordinates of x^2", x.B0.A0, x.B0.A1, x.B1.A0, x.B1.A1)
	x.Square(&x)
	print("baby-bear x^4", x.B0.A0)
	var y koalabearext.E4
	y.B1.A0.SetOne()
	y.Square(&y)
	print("koala-bear coordinates of x^2", y.B0.A0, y.B0.A1, y.B1.A0, y.B1.A1)
	y.Square(&y)
	print("koala-bear x^4", y.B0.A0)
	roots[goldilocks.Element]("goldilocks", goldilocksfft.GeneratorFullMultiplicativeGroup(), 32, goldilocksfft.Generator)
	roots[babybear.Element]("baby-bear", babybearfft.GeneratorFullMultiplicativeGroup(), 27, babybearfft.Generator)
	roots[koalabear.Element]("koala-bear", koalabearfft.GeneratorFullMultiplicativeGroup(), 24, koalabearfft.Generator)
}

// check ends the program where there is an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
