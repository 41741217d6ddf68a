// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// program is a random program; the semantics are in the crate, libraries/programs.rs. Inputs are the first values, and each step
// makes the next one.
type program struct {
	inputs, clears [][]int64
	steps          []step
}

type step struct {
	name string
	a, b int
}

// programs runs every program with keys of its own.
func programs(r request) answer {
	start := time.Now()
	e := open(r)
	batch := readPrograms(e.slots())
	values := map[string][]float64{}
	var out answer
	for index, p := range batch {
		var elements []uint64
		for _, s := range p.steps {
			if s.name == "rotate" {
				elements = append(elements, e.rotation(s.b))
			}
		}
		k := generate(e, r.encryption, elements)
		var ciphertexts []*rlwe.Ciphertext
		for _, input := range p.inputs {
			ciphertexts = append(ciphertexts, must(k.encryptor.EncryptNew(e.encode(input))))
		}
		out = describe(e, ciphertexts[0], k)
		for _, s := range p.steps {
			ciphertexts = append(ciphertexts, value(e, p, ciphertexts, s))
		}
		last := ciphertexts[len(ciphertexts)-1]
		values[strconv.Itoa(index)] = e.decode(k.decryptor.DecryptNew(last), e.slots())
	}
	l := laps{}
	l.push("programs", start)
	l.finish(&out)
	out.Values = values
	return out
}

func value(e engine, p program, values []*rlwe.Ciphertext, s step) *rlwe.Ciphertext {
	a := values[s.a]
	switch s.name {
	case "add":
		return e.add(a, values[s.b])
	case "sub":
		return e.sub(a, values[s.b])
	case "neg":
		return e.negate(a)
	case "mul":
		return e.multiplyDown(a, values[s.b])
	case "add_clear":
		return e.addClear(a, p.clears[s.b])
	case "mul_clear":
		return e.multiplyClear(a, p.clears[s.b])
	case "rotate":
		return e.rotate(a, s.b)
	}
	check(fmt.Errorf("no step %s", s.name))
	return nil
}

// readPrograms keeps the first slots values of each vector.
func readPrograms(slots int) []program {
	words := bufio.NewScanner(os.Stdin)
	words.Split(bufio.ScanWords)
	word := func() string {
		if !words.Scan() {
			check(fmt.Errorf("standard input ended before the programs did"))
		}
		return words.Text()
	}
	number := func() int { return must(strconv.Atoi(word())) }
	literal := func(expected string) {
		if found := word(); found != expected {
			check(fmt.Errorf("expected %q, found %q", expected, found))
		}
	}
	literal("programs")
	count, degree := number(), number()
	var out []program
	for range count {
		literal("program")
		// Seed and depth: the list of primes is deep enough.
		word()
		word()
		inputs, clears, steps := number(), number(), number()
		var p program
		for i := range inputs + clears {
			vector := make([]int64, degree)
			for j := range vector {
				vector[j] = int64(number())
			}
			if i < inputs {
				p.inputs = append(p.inputs, vector[:slots])
			} else {
				p.clears = append(p.clears, vector[:slots])
			}
		}
		for range steps {
			p.steps = append(p.steps, step{word(), number(), number()})
		}
		out = append(out, p)
	}
	return out
}

// Levels and scales of BGV meet within the evaluator; BFV has no need of levels.

func (e *exact) sub(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	return must(e.evaluator.SubNew(a, b))
}

func (e *exact) negate(a *rlwe.Ciphertext) *rlwe.Ciphertext {
	// In place: MulNew with an integer gives its result the scale of a fresh ciphertext (6.2.0).
	out := a.CopyNew()
	check(e.evaluator.Mul(out, -1, out))
	return out
}

func (e *exact) addClear(a *rlwe.Ciphertext, values []int64) *rlwe.Ciphertext {
	return must(e.evaluator.AddNew(a, values))
}

func (e *exact) multiplyClear(a *rlwe.Ciphertext, values []int64) *rlwe.Ciphertext {
	product := must(e.evaluator.MulNew(a, values))
	if !e.scaleInvariant {
		check(e.evaluator.Rescale(product, product))
	}
	return product
}

// meet brings both to the lower one's level and scale, by products with ones.
func (e *approximate) meet(a, b *rlwe.Ciphertext) (*rlwe.Ciphertext, *rlwe.Ciphertext) {
	for a.Level() > b.Level() {
		a = e.multiplyClear(a, e.ones())
	}
	for b.Level() > a.Level() {
		b = e.multiplyClear(b, e.ones())
	}
	return a, b
}

func (e *approximate) ones() []int64 {
	out := make([]int64, e.slots())
	for i := range out {
		out[i] = realUnit
	}
	return out
}

// encodeFor gives a plaintext of the ciphertext's level and scale.
func (e *approximate) encodeFor(a *rlwe.Ciphertext, values []int64) *rlwe.Plaintext {
	reals := make([]float64, len(values))
	for i, value := range values {
		reals[i] = float64(value) / realUnit
	}
	plaintext := ckks.NewPlaintext(e.params, a.Level())
	plaintext.Scale = a.Scale
	check(e.encoder.Encode(reals, plaintext))
	return plaintext
}

func (e *approximate) sub(a, b *rlwe.Ciphertext) *rlwe.Ciphertext {
	a, b = e.meet(a, b)
	return must(e.evaluator.SubNew(a, b))
}

func (e *approximate) negate(a *rlwe.Ciphertext) *rlwe.Ciphertext {
	return must(e.evaluator.MulNew(a, -1))
}

func (e *approximate) addClear(a *rlwe.Ciphertext, values []int64) *rlwe.Ciphertext {
	return must(e.evaluator.AddNew(a, e.encodeFor(a, values)))
}

func (e *approximate) multiplyClear(a *rlwe.Ciphertext, values []int64) *rlwe.Ciphertext {
	product := must(e.evaluator.MulNew(a, e.encodeFor(a, values)))
	check(e.evaluator.Rescale(product, product))
	return product
}
